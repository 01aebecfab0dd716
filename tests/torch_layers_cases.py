"""Cases of torch_program.py: what a layer does in a step that plain torch does too."""

from __future__ import annotations

import copy
import doctest
import importlib
import io
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import dsop.torch
from torch_support import (COMM, case, check, has_gradients, mlp, on_rows, plain_sum, raises_everywhere, step, whole,
                           whole_weights)


@case
def linear_layers() -> None:
    check(mlp(), on_rows(lambda rank: 4))
    check(mlp(), on_rows(lambda rank: rank))  # rank 0 has an empty batch
    for dtype in (torch.float32, torch.float64):
        check(mlp(dtype), lambda model, rank: model(whole(rank, 3, 5, dtype=dtype)).pow(2).sum())
        check(mlp(dtype), lambda model, rank: model(whole(rank, 2, 3, 5, dtype=dtype)).sum())  # an expanded gradient
    check(whole_weights(nn.Linear(5, 3, bias=False)), lambda model, rank: model(whole(rank, 5)).sum())
    check(whole_weights(nn.Linear(5, 3)), lambda model, rank: model(input=whole(rank, 2, 5)).sum())
    lstm, x, states = dsop.torch.LSTM(5, 3), whole(COMM.rank, 1, 2, 5), (torch.zeros(1, 2, 3), torch.ones(1, 2, 3))
    assert torch.equal(lstm(input=x, hx=states)[0], lstm(x, states)[0])


@case
def used_twice_tied_unused() -> None:
    check(mlp(), lambda model, rank: (model(whole(rank, 4, 5)) * model(whole(rank, 4, 5, seed=1))).sum())
    tied: Any = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 5))
    tied[2].weight = tied[0].weight
    check(whole_weights(tied), on_rows(lambda rank: 3))

    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right, self.never = nn.Linear(5, 3), nn.Linear(5, 3), nn.Linear(5, 3)

        def forward(self, x: Tensor, left: bool) -> Tensor:
            return self.left(x) if left else self.right(x)  # type: ignore[no-any-return]
    for first in (0, 1):
        check(whole_weights(Branches()),
              lambda model, rank: model(whole(rank, 2, 5), left=rank > first).sum())
    model = whole_weights(Branches())
    check(model, lambda model, rank: model(whole(rank, 2, 5), left=True).sum())
    assert model.never.weight.grad is None


@case
def thawed_and_used_for_inference() -> None:
    model = mlp()
    model[0].weight.requires_grad_(False)
    attachment = dsop.torch.attach(model, average="sum")
    model[0].weight.requires_grad_(True)
    with torch.inference_mode():
        model(whole(COMM.rank, 3, 5))
    expected = plain_sum(mlp(), lambda model, rank: model(whole(rank, 3, 5)).sum())
    for _ in range(3):
        step(model, attachment, lambda model, rank: model(whole(rank, 3, 5)).sum(), expected)
    assert "used outside its module" not in attachment.describe(), attachment.describe()


@case
def thawed_and_used_without_the_model_s_forward() -> None:
    """Also where no other parameter's gradient comes before it in the first backward pass that reaches it."""
    for thawed in ("0.weight", "4.bias"):
        model, plain = mlp(), mlp()

        def loss(m: Any, rank: int) -> Any:
            return (dict(m.named_parameters())[thawed] * whole(rank, 1)).sum()
        model.requires_grad_(False)
        attachment = dsop.torch.attach(model, average="sum")
        for m in (model, plain):
            m.requires_grad_(False)
            dict(m.named_parameters())[thawed].requires_grad_(True)
        for _ in range(2):
            step(model, attachment, loss, plain_sum(plain, loss))


@case
def attached_within_inference_mode() -> None:
    model, expected = mlp(), plain_sum(mlp(), on_rows(lambda rank: 2))
    model[0].weight.requires_grad_(False)
    with torch.inference_mode():
        attachment = dsop.torch.attach(model, average="sum")
    assert [parameter.requires_grad for parameter in model.parameters()] == [False] + 5 * [True]
    model[0].weight.requires_grad_(True)
    step(model, attachment, on_rows(lambda rank: 2), expected)


@case
def rank_without_data() -> None:
    check(mlp(), lambda model, rank: model(whole(rank, 2, 5)).sum() if rank == COMM.size - 1 else torch.zeros(()))


@case
def used_outside_its_layer() -> None:
    def loss(model: Any, rank: int) -> Any:
        made = model(whole(rank, 2, 5)).sum()
        return made + (model[0].weight.sum() if rank == 0 else 0)
    attachment = check(mlp(), loss)
    why = "used outside its module" if COMM.size > 1 else "as PyTorch makes it"
    assert f"0.weight 7x5: dense, {why}" in attachment.describe(), attachment.describe()


@case
def many_elements() -> None:
    """Of which a rank makes the product by dsop's own kernel though it is alone."""
    def make() -> Any:
        return whole_weights(nn.Sequential(nn.Linear(300, 220), nn.ReLU(), nn.Linear(220, 300, bias=False)))
    attachment = check(make(), lambda model, rank: model(whole(rank, 3, 300)).sum())
    assert COMM.size > 1 or "2.weight 300x220: dense, multiplied at once" in attachment.describe(), attachment.describe()
    check(make(), lambda model, rank: model(model(whole(rank, 3, 300))).sum())
    attachment = check(make(), lambda model, rank: model(whole(rank, 3, 300)).sum() + model[0].weight.sum())
    assert "0.weight 220x300: dense, used outside its module" in attachment.describe(), attachment.describe()


@case
def checkpointing() -> None:
    class Segments(nn.Module):
        def __init__(self, reentrant: bool) -> None:
            super().__init__()
            self.parts, self.reentrant = nn.ModuleList([nn.Linear(5, 5) for _ in range(3)]), reentrant

        def forward(self, x: Tensor) -> Tensor:
            x = x.requires_grad_()
            for part in [*self.parts, self.parts[0]]:
                x = checkpoint(part, x, use_reentrant=self.reentrant)
            return x
    sent = []
    for reentrant in (False, True):
        counting = COMM.counting()
        model = whole_weights(Segments(reentrant))
        check(model, lambda model, rank: model(whole(rank, 3, 5)).sum(), counting)
        before = counting.traffic()["agreement_messages"]
        model(whole(COMM.rank, 3, 5)).sum().backward()
        sent.append(counting.traffic()["agreement_messages"] - before)
        check(mlp(), lambda model, rank: checkpoint(model, whole(rank, 3, 5).requires_grad_(),
                                                    use_reentrant=reentrant).sum())
    # What two segments share is complete at the end alone: two exchanges, not one for each of four segments.
    assert sent[1] <= 2 * sent[0], sent


@case
def gradients_of_gradients() -> None:
    def loss(model: Any, rank: int) -> Any:
        x = whole(rank, 3, 5).requires_grad_()
        slope, = torch.autograd.grad(model(x).pow(2).sum(), x, create_graph=True)
        return slope.sum()
    check(mlp(), loss)


@case
def nothing_is_sent_without_need() -> None:
    model, counting = mlp(), COMM.counting()
    dsop.torch.attach(model, counting, "sum")
    before = counting.traffic()
    x = whole(COMM.rank, 3, 5).requires_grad_()
    torch.autograd.grad(model(x).sum(), x)
    with torch.no_grad():
        model(x)
    (x * 2).sum().backward()  # type: ignore[no-untyped-call]
    assert counting.traffic() == before and all(p.grad is None for p in model.parameters())
    raised = False
    try:
        torch.autograd.grad(model(x).sum(), model[0].weight)
    except RuntimeError:
        raised = True
    assert raised == (COMM.size > 1) and counting.traffic() == before  # alone, the gradient is PyTorch's own
    model(x).sum().backward()
    assert COMM.size == 1 or counting.traffic() != before


@case
def factors_send_less() -> None:
    """A wide layer of two samples a rank: fewer bytes leave each rank than the gradient has."""
    counting = COMM.counting()
    model: Any = nn.Linear(300, 200, bias=False)
    dsop.torch.attach(model, counting)
    before = counting.traffic()["payload_bytes"]
    model(whole(COMM.rank, 2, 300)).sum().backward()
    sent = counting.traffic()["payload_bytes"] - before
    assert sent < 4 * 300 * 200 // 4, sent


@case
def one_input_of_three_layers() -> None:
    """Travels once, from the second step on, in which all share a bucket: 3 x 40 errors and 70 inputs a sample."""
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(70, 40, bias=False) for _ in range(3))

        def forward(self, x: Tensor) -> Tensor:
            return self.q(x) * self.k(x) + self.v(x)
    counting, sent = COMM.counting(), []

    def loss(model: Any, rank: int) -> Any:
        sent.append(counting.traffic()["payload_bytes"])
        return model(whole(rank, 1, 3, 70)).sum()
    check(whole_weights(Attention()), loss, counting, policies={"*weight": "dsop:allgather-ring"})
    assert COMM.size == 1 or sent[-1] - sent[-2] < (COMM.size - 1) * 3 * (3 * 40 + 2 * 70) * 4, sent


@case
def another_parameter() -> None:
    model = mlp()
    attachment = dsop.torch.attach(model, average="sum")
    first, last = model[0].weight, COMM.rank == COMM.size - 1
    if last:
        model[0].weight = nn.Parameter(first.detach().clone())
    for _ in range(2):
        raises_everywhere("the model has other parameters than when it was attached",
                          lambda: model(whole(COMM.rank, 2, 5)).sum().backward())
    if last:
        model[0].weight = first
    step(model, attachment, on_rows(lambda rank: 2), plain_sum(mlp(), on_rows(lambda rank: 2)))


@case
def frozen_and_thawed() -> None:
    model = mlp()
    model[0].requires_grad_(False)
    check(model, on_rows(lambda rank: 2))
    model.zero_grad(set_to_none=True)
    model[0].requires_grad_(True)
    plain = mlp()
    expected = plain_sum(plain, on_rows(lambda rank: 2))
    on_rows(lambda rank: 2)(model, COMM.rank).backward()
    has_gradients(model, expected)


@case
def inputs_that_are_torch_s_own() -> None:
    """Sparse ones, and errors, are as those of plain torch."""
    check(mlp(), lambda model, rank: model(whole(rank, 3, 5).to_sparse()).pow(2).sum())
    model, plain = mlp(), mlp()
    attachment = dsop.torch.attach(model)
    for wrong in (torch.zeros(2, 10), torch.zeros(2, 3), torch.zeros(()), torch.zeros(2, 5).double(), [1, 2]):
        said = []
        for m in (model, plain):
            try:
                with attachment.no_sync():  # which remembers, and tells in the step that sums
                    m(wrong)
            except (RuntimeError, TypeError) as error:
                said.append(f"{type(error)} {error}")
        assert len(said) == 2 and said[0] == said[1], said


@case
def recorded() -> None:
    """torch.jit.trace() finds torch's own functions, and what it makes can be saved; steps go on."""
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.layer, self.net = nn.Embedding(6, 5), nn.Linear(5, 4), dsop.torch.GRU(4, 3)

        def forward(self, indices: Tensor) -> Any:
            return self.net(self.layer(self.rows(indices)))[0]

    def loss(m: Any, rank: int) -> Any:
        return m(torch.tensor([[rank % 6], [2]])).sum()
    model = whole_weights(Net())
    expected = plain_sum(copy.deepcopy(model), loss)
    dsop.torch.attach(model, average="sum")
    indices = torch.tensor([[1], [4], [2]])
    for records in (torch.no_grad, torch.enable_grad):
        with warnings.catch_warnings(record=True) as warned, records():
            traced = torch.jit.trace(model, indices)
        assert not [warning for warning in warned if "dsop" in warning.filename]
        torch.jit.save(traced, io.BytesIO())
        assert torch.allclose(traced(indices), model(indices), atol=1e-5)
        model.zero_grad(set_to_none=True)
        loss(model, COMM.rank).backward()
        for parameter, theirs in zip(model.parameters(), expected):
            assert parameter.grad is not None and torch.allclose(parameter.grad, theirs, atol=1e-5)


@case
def advised() -> None:
    if COMM.rank > 0:
        return
    assert doctest.testmod(importlib.import_module("dsop.torch._advise"), extraglobs={"dsop": dsop, "torch": torch}).failed == 0
    slow = dsop.Machine(gap_per_byte_seconds=8e-9)
    told = dsop.torch.advise(nn.Sequential(nn.Linear(700, 2000), nn.Conv1d(2, 3, 4)), 4, 8, slow, step_ms=20).splitlines()
    assert told[0].startswith("it helps: a step takes "), told
    assert [line.split(":")[0] for line in told[1:]] == ["0.weight 2000x700", f"all else, {2000 + 27} elements"], told
    assert [line.split(":")[0] for line in dsop.torch.advise(nn.LSTM(900, 800), 1, 4, slow, time_steps=9).splitlines()[1:]] == [
        "weight_ih_l0 3200x900", "weight_hh_l0 3200x800", "all else, 6400 elements"]
    told = dsop.torch.advise(nn.Sequential(*[nn.Linear(64, 64) for _ in range(100)], nn.Linear(10, 9)), 2, 8, slow).splitlines()
    assert told[0].startswith("it helps: sums take "), told
    assert [line.split(":")[0] for line in told[1:]] == ["100 weights, 409600 elements", f"all else, {6400 + 99} elements"], told
    shared = nn.Sequential(nn.Linear(50, 50), nn.Linear(50, 50))
    shared[1].weight = shared[0].weight
    assert len(dsop.torch.advise(shared, 2, 8, slow).splitlines()) == 3
    assert dsop.torch.advise(nn.Conv2d(3, 64, 3), 2, 8, slow).startswith("no gain: sums take ")
    assert dsop.torch.advise(nn.ReLU(), 2, 8, slow) == "no gain: the model has nothing to sum"
    for wrong, text in (({"batch": 0}, "batch is 0"), ({"ranks": 1}, "ranks is 1, expected at least 2"), ({"time_steps": -1}, "time_steps is -1"),
                        ({"step_ms": float("nan")}, "step_ms is nan"),
                        ({"machine": "m.json"}, "machine is 'm.json', expected a dsop.Machine")):
        try:
            dsop.torch.advise(nn.Linear(2, 3), **{"batch": 1, "ranks": 2, "machine": slow} | wrong)
        except dsop.ArgumentError as error:
            assert text in str(error), error
        else:
            raise AssertionError(wrong)
