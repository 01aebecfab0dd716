"""Cases of torch_program.py: averages, optimizers, copies, and the memory of models and gradients."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import logging
import warnings
import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import dsop.torch
from dsop.torch import _compat
from torch_support import (COMM, RANKS, case, check_near, has_near_gradients, loaded, mlp, on_rows, plain_sum, raises_everywhere,
                           same_everywhere, whole, whole_weights)


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


@case
def collected_and_discarded() -> None:
    """zero_grad() leaves what no_sync() has collected, discard() drops it, with its samples."""
    for average in ("sum", "samples"):
        model = mlp()
        attachment = dsop.torch.attach(model, average=average)

        def backward(times: float, samples: int = 1) -> None:
            if average == "samples":
                attachment.samples(samples)
            (on_rows(lambda rank: 2)(model, COMM.rank) * times).backward()
        backward(1)
        once = [copy.deepcopy(parameter.grad) for parameter in model.parameters()]
        for drops in (False, True):
            model.zero_grad(set_to_none=True)
            with attachment.no_sync():
                backward(float("nan") if drops else 3, samples=3)
            model.zero_grad()
            if drops:
                attachment.discard()
            backward(1)
            for parameter, expected in zip(model.parameters(), once):
                factor = 1 if drops else 4 if average == "sum" else 2.5
                assert parameter.grad is not None and torch.allclose(parameter.grad, factor * expected), average


@case
def parameters_without_dimensions() -> None:
    """As a learned temperature, also where passes are collected."""
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.factor = nn.Linear(5, 3), nn.Parameter(torch.tensor(1.0))

        def forward(self, x: Tensor) -> Any:
            return self.linear(x) * self.factor
    for average in ("sum", "samples"):
        model = whole_weights(Scaled().double())

        def loss(model: Any, rank: int) -> Any:
            return model(whole(rank, 2, 5, dtype=torch.float64)).pow(2).sum()
        once = plain_sum(model, loss)
        attachment = dsop.torch.attach(model, average=average)
        for collects in (True, False):
            with attachment.no_sync() if collects else contextlib.nullcontext():
                if average == "samples":
                    attachment.samples(1)
                loss(model, COMM.rank).backward()
        for parameter, expected in zip(model.parameters(), once):
            factor = 2 if average == "sum" else 1 / COMM.size
            assert parameter.grad is not None and torch.allclose(parameter.grad, factor * expected), average


@case
def what_is_collected_is_no_larger_than_gradients() -> None:
    """Of 5 x 7 elements two pairs of 12 are fewer, three are more."""
    model = mlp()
    attachment = dsop.torch.attach(model, average="sum")
    for samples, is_dense in ((2, False), (1, True), (1, True)):
        with attachment.no_sync():
            on_rows(lambda rank, samples=samples: samples)(model, COMM.rank).backward()  # type: ignore[misc]
        first = attachment._of_id[id(model[0].weight)]
        if COMM.size > 1:  # alone PyTorch makes so small a gradient
            assert (first.dense is not None) == is_dense and first.pairs <= (1 if is_dense else 2)
    on_rows(lambda rank: 2)(model, COMM.rank).backward()


class Keeps(torch.optim.SGD):
    """An optimizer whose state is the gradient itself."""

    def step(self, closure: Any = None) -> Any:
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["last"] = parameter.grad.detach()
        return super().step(closure)


@case
def memory_is_taken_again() -> None:
    """That of a .grad that the program has dropped, and of no other."""
    model: Any = nn.Linear(300, 220)  # alone, too, dsop makes so large a product
    weight = model.weight
    dsop.torch.attach(model, average="sum")
    optimizer = Keeps(model.parameters(), lr=0)

    def backward(seed: int) -> Any:
        optimizer.zero_grad(set_to_none=True)
        model(whole(COMM.rank, 3, 300, seed=seed)).sum().backward()
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
        has_near_gradients(model, expected, 1e-14)


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
def optimizers_over_lists_and_averaged_models() -> None:
    """As plain torch on the sums; after some steps these are no whole numbers, and each order of ranks rounds otherwise."""
    model, plain = mlp(torch.float64), mlp(torch.float64)
    dsop.torch.attach(model, average="sum")
    pairs = [(m, torch.optim.SGD(m.parameters(), lr=2**-12, momentum=0.5, foreach=True), torch.optim.swa_utils.AveragedModel(
        m, avg_fn=lambda mean, new, _: mean / 2 + new / 2)) for m in (model, plain)]

    def loss(m: Any, rank: int) -> Any:
        return m(whole(rank, 2, 5, dtype=torch.float64)).sum()
    for _ in range(4):
        for m, optimizer, averaged in pairs:
            optimizer.zero_grad()
            if m is model:
                loss(m, COMM.rank).backward()
            else:
                for p, total in zip(plain.parameters(), plain_sum(plain, loss)):
                    p.grad = total
            optimizer.step()
            averaged.update_parameters(m)
    for m in (model, pairs[0][2].module):
        other = plain if m is model else pairs[1][2].module
        for ours, theirs in zip(m.parameters(), other.parameters()):
            assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12), (ours - theirs).abs().max()
        same_everywhere(list(m.parameters()))
    assert type(pairs[0][2].module[0]) is nn.Linear  # the copy sends nothing
    loss(pairs[0][2].module, COMM.rank).backward()


@case
def autocast() -> None:
    torch.manual_seed(3)
    model: Any = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    def loss(m: Any, rank: int) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return m(whole(rank, 4, 5)).float().pow(2).sum()
    check_near(model, loss)


@case
def no_warnings() -> None:
    """Of steps, in no way in which gradients travel."""
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.net, self.layer = nn.Embedding(6, 5, sparse=True), dsop.torch.LSTM(5, 4), nn.Linear(4, 300)
            self.more = nn.Embedding(6, 5)

        def forward(self, indices: Tensor) -> Any:
            return self.layer(self.net(self.rows(indices) + self.more(indices))[0])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = Net()
        attachment = dsop.torch.attach(model)
        for enabled in (False, True):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
                for _ in range(2):
                    model(torch.tensor([[1], [COMM.rank % 6]])).float().sum().backward()
        attachment.describe()
    assert not warned, [str(one.message) for one in warned]


@case
def newer_than_tried() -> None:
    """torch says another version; that is told once, where somebody listens at DEBUG."""
    said: list[str] = []
    handler, logger, version = logging.Handler(), logging.getLogger("dsop.torch"), torch.__version__
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        for torch.__version__ in (version, "3.1.0a0+cpu", "3.1.0a0+cpu"):
            if not said:
                _compat.note_version.cache_clear()
            dsop.torch.attach(mlp()).detach()
    finally:
        torch.__version__ = version
        logger.removeHandler(handler)
        logger.setLevel(before)
    assert said == ["torch is 3.1.0a0+cpu, tried up to 2.13"], said


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
    for other in (copied, loaded(stream)):
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
