"""What torch_test.py runs on each rank: models attached by dsop.torch beside plain torch on all ranks' data."""

from __future__ import annotations

import copy
import gc
import io
import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import dsop
import dsop.torch
import torch_autocast_cases  # noqa: F401, these enter their cases
import torch_ddp_cases  # noqa: F401
import torch_dense_cases  # noqa: F401
import torch_graph_cases  # noqa: F401
from torch_support import (COMM, RANKS, case, check, check_near, mlp, on_rows, plain_sum, raises_everywhere, run_over_gloo,
                           same_everywhere, step, whole, whole_weights)

@case
def linear_layers() -> None:
    check(mlp(), on_rows(lambda rank: 4))
    check(mlp(), on_rows(lambda rank: rank))  # rank 0 has an empty batch
    for dtype in (torch.float32, torch.float64):
        check(mlp(dtype), lambda model, rank: model(whole(rank, 3, 5, dtype=dtype)).pow(2).sum())
        check(mlp(dtype), lambda model, rank: model(whole(rank, 2, 3, 5, dtype=dtype)).sum())  # an expanded gradient
    check(whole_weights(nn.Linear(5, 3, bias=False)), lambda model, rank: model(whole(rank, 5)).sum())


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
def models_that_are_dropped_are_freed() -> None:
    class Other(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.norm, self.gain = nn.Linear(5, 3), nn.LayerNorm(3), nn.Parameter(torch.ones(3))

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(self.layer(x)) * self.gain  # type: ignore[no-any-return]
    for make in (mlp, Other):
        model = make()
        attached = weakref.ref(dsop.torch.attach(model))
        for _ in range(2):
            model(whole(COMM.rank, 3, 5)).sum().backward()
        left = weakref.ref(model)
        del model
        gc.collect()
        assert left() is None and attached() is None


@case
def attached_through_a_container_that_nobody_keeps() -> None:
    norm = nn.LayerNorm(5)
    expected = plain_sum(norm, lambda model, rank: model(whole(rank, 3, 5)).sum())
    dsop.torch.attach(nn.Sequential(norm), average="sum")
    gc.collect()
    norm(whole(COMM.rank, 3, 5)).sum().backward()
    assert norm.weight.grad is not None and torch.allclose(norm.weight.grad, expected[0])
    same_everywhere([norm.weight.grad])


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
def rank_without_data() -> None:
    check(mlp(), lambda model, rank: model(whole(rank, 2, 5)).sum() if rank == COMM.size - 1 else torch.zeros(()))


@case
def used_outside_its_layer() -> None:
    def loss(model: Any, rank: int) -> Any:
        made = model(whole(rank, 2, 5)).sum()
        return made + (model[0].weight.sum() if rank == 0 else 0)
    attachment = check(mlp(), loss)
    assert "0.weight 7x5: dense, used outside its module" in attachment.describe(), attachment.describe()


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
    assert raised and counting.traffic() == before
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
def storage_and_accumulation() -> None:
    model = mlp()
    once = plain_sum(model, on_rows(lambda rank: 2))
    attachment = dsop.torch.attach(model, average="sum")
    loss = on_rows(lambda rank: 2)(model, COMM.rank)
    loss.backward(retain_graph=True)
    kept = [parameter.grad for parameter in model.parameters()]
    loss.backward()
    for parameter, grad, expected in zip(model.parameters(), kept, once):
        assert parameter.grad is grad and torch.equal(grad, 2 * expected)
    model.zero_grad(set_to_none=False)
    data = whole(COMM.rank, 2, 5)
    with attachment.no_sync():
        for _ in range(3):
            model(data).pow(2).sum().backward()
            assert all((parameter.grad == 0).all() for parameter in model.parameters())
    model(data).pow(2).sum().backward()
    for parameter, grad, expected in zip(model.parameters(), kept, once):
        assert parameter.grad is grad and torch.equal(grad, 4 * expected)


class Keeps(torch.optim.SGD):
    """An optimizer whose state is the gradient itself."""

    def step(self, closure: Any = None) -> Any:
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["last"] = parameter.grad.detach()
        return super().step(closure)


@case
def memory_is_taken_again() -> None:
    """That of a .grad that the program has dropped, and of no other."""
    model = mlp()
    weight = model[0].weight
    dsop.torch.attach(model, average="sum")
    optimizer = Keeps(model.parameters(), lr=0)

    def backward(seed: int) -> Any:
        optimizer.zero_grad(set_to_none=True)
        model(whole(COMM.rank, 3, 5, seed=seed)).sum().backward()
        return weight.grad
    where = backward(0).data_ptr()
    assert all(backward(seed).data_ptr() == where for seed in range(3))
    holders: list[Any] = [lambda grad: grad, lambda grad: grad[1:], lambda grad: grad.detach().numpy(),
                          lambda grad: optimizer.step() or optimizer.state[weight]["last"]]
    for seed, hold in enumerate(holders):
        held = hold(backward(seed))
        before = copy.deepcopy(held)
        where = weight.grad.data_ptr()
        for later in range(1, 4):
            assert backward(seed + later).data_ptr() != where
            assert (held == before).all()
        optimizer.state.clear()


@case
def averages() -> None:
    counts = [rank + 1 for rank in RANKS]
    for average in ("ranks", "samples"):
        model = mlp(torch.float64)
        weights = [1 / COMM.size if average == "ranks" else count / sum(counts) for count in counts]
        expected = plain_sum(model, lambda m, rank: weights[rank] * m(whole(rank, counts[rank], 5,
                                                                            dtype=torch.float64)).pow(2).mean())
        attachment = dsop.torch.attach(model, average=average)
        if average == "samples":
            attachment.samples(counts[COMM.rank])
        model(whole(COMM.rank, counts[COMM.rank], 5, dtype=torch.float64)).pow(2).mean().backward()
        for parameter, theirs in zip(model.parameters(), expected):
            assert parameter.grad is not None
            assert (parameter.grad - theirs).abs().max() <= 1e-14 * theirs.abs().max(), average
        same_everywhere([parameter.grad for parameter in model.parameters()])


@case
def optimizers() -> None:
    """Twenty steps, clipping and a scheduler among them, as plain torch on all ranks' data."""
    for kind in (torch.optim.SGD, torch.optim.Adam):
        torch.manual_seed(1)
        model: Any = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 3)).double()
        plain = copy.deepcopy(model)
        dsop.torch.attach(model)
        steps = [(m, o, torch.optim.lr_scheduler.StepLR(o, 7))
                 for m in (model, plain) for o in [kind(m.parameters(), lr=0.05)]]
        for step in range(20):
            data = [whole(rank, 4, 5, seed=step, dtype=torch.float64) for rank in RANKS]
            for m, optimizer, scheduler in steps:
                optimizer.zero_grad()
                x = data[COMM.rank] if m is model else torch.cat(data)
                functional.mse_loss(m(x), x[:, :3]).backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(m.parameters(), 0.5)  # type: ignore[attr-defined]
                optimizer.step()
                scheduler.step()
        for ours, theirs in zip(model.parameters(), plain.parameters()):
            assert torch.allclose(ours, theirs, rtol=0, atol=1e-9), (kind, (ours - theirs).abs().max())
        same_everywhere(list(model.parameters()))


@case
def autocast() -> None:
    torch.manual_seed(3)
    model: Any = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    def loss(m: Any, rank: int) -> Any:
        with torch.cpu.amp.autocast(dtype=torch.bfloat16):  # type: ignore[attr-defined]
            return m(whole(rank, 4, 5)).float().pow(2).sum()
    check_near(model, loss)


@case
def rank_0_s_values() -> None:
    model: Any = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4))
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            tensor.fill_(COMM.rank + 1)
    dsop.torch.attach(model)
    assert all((tensor == 1).all() for tensor in [*model.parameters(), *model.buffers()])
    model(whole(COMM.rank, 4, 5)).sum().backward()
    same_everywhere(list(model.buffers()))
    assert model[1].num_batches_tracked == 2


@case
def copies_and_states() -> None:
    model = mlp()
    keys = list(model.state_dict())
    attachment = dsop.torch.attach(model)
    assert list(model.state_dict()) == keys
    copied = copy.deepcopy(model)
    stream = io.BytesIO()
    torch.save(model, stream)
    stream.seek(0)
    for other in (copied, torch.load(stream)):
        assert type(other[0]) is nn.Linear
        expected = plain_sum(mlp(), on_rows(lambda rank: 2)) if COMM.size == 1 else None
        other(whole(0, 2, 5)).pow(2).sum().backward()  # alone: sends nothing
        assert expected is None or torch.equal(other[0].weight.grad, expected[0])  # type: ignore[arg-type]
    raises_everywhere("is attached already", lambda: dsop.torch.attach(model))
    attachment.detach()
    assert type(model[0]) is nn.Linear
    model(whole(COMM.rank, 2 + COMM.rank, 5)).sum().backward()  # sends nothing
    dsop.torch.attach(model).detach()


@case
def another_parameter() -> None:
    model = mlp()
    attachment = dsop.torch.attach(model, average="sum")
    first, last = model[0].weight, COMM.rank == COMM.size - 1
    if last:
        model[0].weight = nn.Parameter(first.detach().clone())
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
    for parameter, theirs in zip(model.parameters(), expected):
        assert parameter.grad is not None and torch.equal(parameter.grad, theirs)


run_over_gloo()
