"""Cases of torch_program.py: modules whose gradients are summed whole, beside plain torch on all ranks' data."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import prune

import dsop.torch
from torch_support import COMM, case, check, on_rows, plain_sum, step, whole, whole_weights


class Mixed(nn.Module):
    """Embeddings, convolutions, weight norm, a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(6, 4)
        self.convolution = nn.Conv1d(4, 2, 3, padding=1)
        self.normed = nn.utils.weight_norm(nn.Linear(3, 3))  # type: ignore[attr-defined]
        self.scale = nn.Parameter(torch.ones(1))
        self.head = nn.Linear(2, 3)

    def forward(self, indices: Tensor) -> Tensor:
        made = self.convolution(self.rows(indices).transpose(1, 2)).transpose(1, 2)
        return self.normed(self.head(made)) * self.scale  # type: ignore[no-any-return]


@case
def dense_gradients() -> None:
    model = whole_weights(Mixed())
    with torch.no_grad():
        model.normed.weight_v.copy_(2 * torch.eye(3))
    attachment = check(model, lambda model, rank: model(whole(rank, 3, 4).long() + 2).pow(2).sum())
    text = attachment.describe()
    ways = ("rows", "dense is cheaper here", "dense, as PyTorch makes it")
    assert any(f"rows.weight 6x4: {way}" in text for way in ways), text
    assert "normed.weight_v 3x3: dense" in text, text


@case
def convolution_by_topk() -> None:
    """All elements are chosen, so it is the sum."""
    model, plain = (whole_weights(nn.Conv1d(4, 2, 3)) for _ in range(2))

    def loss(model: Any, rank: int) -> Any:
        return model(whole(rank, 3, 4, 5)).pow(2).sum()
    expected = plain_sum(plain, loss)
    attachment = dsop.torch.attach(model, average="sum", policies={"*": "topk:1"})
    for _ in range(3):
        step(model, attachment, loss, expected)
    assert "weight 2x4x3: " in attachment.describe() and "policy topk:1" in attachment.describe()


@case
def overflow_by_topk() -> None:
    """What was left behind of it comes back in the next step, unless it is dropped."""
    for resets in (False, True):
        model = whole_weights(nn.Conv1d(4, 2, 3))
        attachment = dsop.torch.attach(model, policies={"*": "topk:0.1"})

        def is_finite_after(factor: float) -> bool:
            model.zero_grad(set_to_none=True)
            (model(whole(COMM.rank, 3, 4, 5)).sum() * factor).backward()
            return all(bool(p.grad.isfinite().all()) for p in model.parameters())
        assert not is_finite_after(math.inf)
        if resets:
            attachment.reset_residuals()
        assert is_finite_after(1) == resets


@case
def pruned() -> None:
    model: Any = whole_weights(nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3)))
    prune.l1_unstructured(model[0], "weight", 8)  # type: ignore[no-untyped-call]
    text = check(model, on_rows(lambda rank: 3)).describe()
    assert "0.weight_orig 4x5: dense, it has no factors" in text and "2.weight 3x4: " in text, text
    assert (model[0].weight_orig.grad[model[0].weight_mask == 0] == 0).all()


@case
def spectral_norms() -> None:
    """Of twice the unit matrix, which both make the unit matrix without rounding."""
    first = torch.eye(1, 4)[0]
    for norm in (nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm):  # type: ignore[attr-defined]
        layer: Any = nn.Linear(4, 4)
        with torch.no_grad():
            layer.weight.copy_(2 * torch.eye(4))
            layer.bias.fill_(1)
        model: Any = nn.Sequential(nn.Linear(5, 4), norm(layer))
        whole_weights(model[0])
        for vector in (tensor for name, tensor in layer.named_buffers() if name[-1] in "uv"):
            vector.copy_(first)
        text = check(model, on_rows(lambda rank: 3)).describe()
        assert "4x4: dense, it has no factors" in text and "4x4: factors" not in text, text


@case
def attention() -> None:
    """Without queries all keys count alike, so that all is exact."""
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention, self.head = nn.MultiheadAttention(4, 1, batch_first=True), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.attention(x, x, x)[0])  # type: ignore[no-any-return]
    model = whole_weights(Attention())
    with torch.no_grad():
        model.attention.in_proj_weight[:4] = model.attention.in_proj_bias[:4] = 0
    text = check(model, lambda model, rank: model(whole(rank, 2, 4, 4)).sum()).describe()
    for name in ("in_proj_weight 12x4", "out_proj.weight 4x4"):
        assert f"attention.{name}: dense, it has no factors" in text, text


@case
def parameters_that_the_model_does_not_name() -> None:
    class Partly(nn.Sequential):
        def named_parameters(self, *arguments: Any, **options: Any) -> Any:
            return ((name, q) for name, q in super().named_parameters(*arguments, **options) if name != "1.bias")
    model: Any = whole_weights(Partly(nn.Linear(5, 4), nn.Linear(4, 3)))
    with torch.no_grad():
        model[1].bias.zero_()
    check(model, lambda model, rank: model(whole(rank, 2, 5)).sum())


@case
def sparse_gradients_of_a_weight_with_factors() -> None:
    """Are added to its dense .grad."""
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.Embedding(9, 6)

        def forward(self, indices: Tensor) -> Any:
            return functional.embedding(indices, self.rows.weight, sparse=True)
    check(whole_weights(Words()), lambda model, rank: model(whole(rank, 4).long() + 2).sum())
