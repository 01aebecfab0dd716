"""Cases of torch_program.py: gradients of embeddings, whose rows travel."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import dsop
import dsop.torch
from torch_support import COMM, RANKS, case, check, plain_sum, same_everywhere, whole, whole_weights


class Words(nn.Module):
    def __init__(self, count: int = 60, **options: Any) -> None:
        super().__init__()
        self.rows, self.head = nn.Embedding(count, 4, **options), nn.Linear(4, 3)

    def forward(self, indices: Tensor) -> Any:
        return self.head(self.rows(indices)).sum()


def indices_of(rank: int, *shape: int) -> Tensor:
    return whole(rank, *shape).long() + 3 + rank  # duplicates within a rank and between ranks


@case
def embeddings() -> None:
    def loss(model: Any, rank: int) -> Any:
        return model(indices_of(rank, 2, 6))
    attachment = check(whole_weights(Words()), loss)
    text = attachment.describe()
    assert COMM.size > 1 or "rows.weight 60x4: dense, as PyTorch makes it" in text, text
    check(whole_weights(Words()), lambda model, rank: model(indices_of(rank, 5).int()))
    check(whole_weights(Words(padding_idx=4)), loss)
    check(whole_weights(Words()), lambda model, rank: model(indices_of(rank, rank, 2)))  # rank 0 looks nothing up
    options: tuple[tuple[str, Any], ...] = (("scale_grad_by_freq", True), ("max_norm", 1e9))
    for option, value in options:
        attachment = check(whole_weights(Words(**{option: value})), loss)
        assert f"rows.weight 60x4: dense, {option}" in attachment.describe(), attachment.describe()


@case
def many_lookups_are_still_rows() -> None:
    """More than pairs of two factors as wide would pay."""
    attachment = check(whole_weights(Words(20_000)), lambda model, rank: model(indices_of(rank, 2000)))
    text = attachment.describe()
    assert COMM.size == 1 or "rows.weight 20000x4: rows" in text, text


@case
def embedding_that_is_the_decoder() -> None:
    """Its rows travel as factors beside the decoder's, with a bias or without, unless that is more than the gradient."""
    class Tied(nn.Module):
        def __init__(self, words: int, bias: bool) -> None:
            super().__init__()
            self.rows, self.decoder = nn.Embedding(words, 40), nn.Linear(40, words, bias=bias)
            self.decoder.weight = self.rows.weight

        def forward(self, indices: Tensor, decodes: bool = True) -> Any:
            rows = self.rows(indices)
            return self.decoder(rows).pow(2).sum() if decodes else rows.sum()
    for bias in (False, True):
        for words, length, how in ((600, 3, "factors;"), (70, 40, "dense ")):
            attachment = check(whole_weights(Tied(words, bias)), lambda model, rank: model(indices_of(rank, length)))
            assert COMM.size == 1 or f"rows.weight {words}x40: {how}" in attachment.describe(), attachment.describe()
        check(whole_weights(Tied(600, bias)), lambda model, rank: model(indices_of(rank, 3), rank % 2 == 0))
    counting, sent = COMM.counting(), []

    def loss(model: Any, rank: int) -> Any:
        sent.append(counting.traffic()["payload_bytes"])
        return model(indices_of(rank, 3))
    check(whole_weights(Tied(600, False)), loss, counting)
    assert sent[-1] - sent[-2] < 1.2 * (COMM.size - 1) * 6 * 640 * 4 + 1, sent


@case
def sparse_gradients() -> None:
    def loss(model: Any, rank: int) -> Any:
        return model(indices_of(rank, 2, 6))
    model = whole_weights(Words(sparse=True))
    attachment = check(model, loss)
    assert model.rows.weight.grad.is_coalesced() and "rows, into a sparse .grad" in attachment.describe()
    once = model.rows.weight.grad.to_dense()
    loss(model, COMM.rank).backward()
    assert torch.equal(model.rows.weight.grad.to_dense(), 2 * once) and model.rows.weight.grad.is_coalesced()
    with attachment.no_sync():
        loss(model, COMM.rank).backward()
    model.zero_grad(set_to_none=True)
    loss(model, COMM.rank).backward()
    assert torch.equal(model.rows.weight.grad.to_dense(), 2 * once)
    torch.optim.SparseAdam([model.rows.weight], lr=0.1).step()
    same_everywhere([model.rows.weight])

    class Bag(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bag = nn.EmbeddingBag(60, 4, mode="sum", sparse=True)

        def forward(self, indices: Tensor) -> Any:
            return self.bag(indices).pow(2).sum()
    check(whole_weights(Bag()), loss)
    check(whole_weights(Words(sparse=True)), lambda m, rank: loss(m, rank) + m.rows.weight.sum() * (rank == 0))
    by_policy = whole_weights(Words(sparse=True))
    dsop.torch.attach(by_policy, policies={"rows.*": "dense"})
    try:
        loss(by_policy, COMM.rank).backward()
    except dsop.ArgumentError as error:
        assert "gradient of rows.weight is sparse" in str(error), error
    else:
        raise AssertionError("nothing was raised")


@case
def functional_sparse_gradient() -> None:
    weight = nn.Parameter(torch.ones(6, 2))
    model = nn.ParameterList([weight])
    dsop.torch.attach(model)
    try:
        made = functional.embedding(torch.tensor([1, 1]), weight, sparse=True)
        made.sum().backward()  # type: ignore[no-untyped-call]
    except dsop.ArgumentError as error:
        assert "gradient of 0 is sparse" in str(error), error
    else:
        raise AssertionError("nothing was raised")


@case
def sparse_gradients_by_samples() -> None:
    """Also of a rank that has none."""
    class Bag(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.EmbeddingBag(60, 4, mode="sum", sparse=True)

        def forward(self, indices: Tensor) -> Any:
            return self.rows(indices)

    def loss(model: Any, rank: int, count: int) -> Any:
        return model(indices_of(rank, count, 2)).pow(2).sum() / max(count, 1)
    for make in (lambda: nn.Embedding(60, 4, sparse=True), Bag):
        for counts in ([2] * COMM.size, [3] + [0] * (COMM.size - 1), [0] * COMM.size, list(RANKS)):
            model = whole_weights(make())
            expected = plain_sum(copy.deepcopy(model), lambda m, rank: loss(m, rank, counts[rank]) * counts[rank]
                                 / max(sum(counts), 1))
            attachment = dsop.torch.attach(model, average="samples")
            for _ in range(2):
                model.zero_grad(set_to_none=True)
                attachment.samples(counts[COMM.rank])
                loss(model, COMM.rank, counts[COMM.rank]).backward()
                for parameter, theirs in zip(model.parameters(), expected):
                    assert parameter.grad is not None
                    assert torch.allclose(parameter.grad.to_dense(), theirs.to_dense()), counts
                same_everywhere([parameter.grad.to_dense() for parameter in model.parameters()])
