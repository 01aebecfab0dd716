"""Cases of torch_program.py: what travels while backward goes on."""

from __future__ import annotations

import contextlib
import copy
import logging
import time
from typing import Any

import torch
from torch import Tensor, nn

import dsop
import dsop.torch
from torch_support import (COMM, RANKS, Attached, case, check, has_gradients, has_near_gradients, mlp, on_rows, plain_sum,
                           resumed_model, step, whole, whole_weights)


def attached_and_plain(plain: Any, **options: Any) -> tuple[Any, dsop.torch.Attachment, Any]:
    model = copy.deepcopy(plain)
    return model, dsop.torch.attach(model, average="sum", **options), plain


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.head = nn.Linear(5, 4), nn.Linear(5, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor, order: str) -> Any:
        parts = [self.left(x) if way == "l" else self.right(x) for way in order]
        return sum(self.head(part).pow(2).sum() for part in parts)


@case
def travels_while_backward_goes_on() -> None:
    """Messages leave before backward() has reached the first layer. A stall of the machine only makes this slow."""
    counting = COMM.counting()
    model: Any = whole_weights(nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 300), nn.ReLU(), nn.Linear(300, 300)))
    dsop.torch.attach(model, counting, "sum")
    loss = on_rows(lambda rank: 2)
    loss(model, COMM.rank).backward()
    seen: list[bool] = []

    def look(grad: Tensor) -> None:
        end = time.monotonic() + 60
        while COMM.size > 1 and not seen and time.monotonic() < end:
            if counting.traffic() != before:
                seen.append(True)
            time.sleep(0.01)
    x = whole(COMM.rank, 2, 5)
    middle = model[1](model[0](x))
    middle.register_hook(look)
    before = counting.traffic()  # small factors travel with what ranks agree on
    model[4](model[3](model[2](middle))).pow(2).sum().backward()
    assert seen or COMM.size == 1


@case
def ranks_in_other_orders() -> None:
    """Branches that some ranks compute the other way round, or not at all; these change from step to step."""
    model, attachment, plain = attached_and_plain(whole_weights(Branches()))
    for orders in (["lr", "rl"], ["lr", "rl"], ["l", "r"], ["l", "l"], ["r", "r"], ["lr", "l"], ["", "lr"]):
        def loss(m: Any, rank: int) -> Any:
            order = orders[rank % 2]
            return m(whole(rank, 3, 5), order) if order else torch.zeros(())
        step(model, attachment, loss, plain_sum(plain, loss))


@case
def batches_that_grow() -> None:
    model, attachment, plain = attached_and_plain(mlp())
    for rows in (2, 2, 5, 1, 20, 0, 3):
        loss = on_rows(lambda rank: rows + rank)
        step(model, attachment, loss, plain_sum(plain, loss))
        assert COMM.size == 1 or "not in the last step" not in attachment.describe(), attachment.describe()


@case
def used_outside_from_some_step_on() -> None:
    model, attachment, plain = attached_and_plain(mlp(), policies={"*.weight": "dsop"})
    for outside in (False, False, True, True, False):
        def loss(m: Any, rank: int) -> Any:
            return m(whole(rank, 2, 5)).sum() + (m[0].weight.sum() if outside and rank == COMM.size - 1 else 0)
        step(model, attachment, loss, plain_sum(plain, loss))
        assert (outside and COMM.size > 1) == ("0.weight 7x5: dense, used outside its module" in attachment.describe())


@case
def frozen_between_steps() -> None:
    model, attachment, plain = attached_and_plain(mlp())
    for frozen in (False, False, True, True, False):
        for m in (model, plain):
            m[2].requires_grad_(not frozen)
        step(model, attachment, on_rows(lambda rank: 2), plain_sum(plain, on_rows(lambda rank: 2)))


@case
def residual_of_an_unused_parameter() -> None:
    """What top-k has left behind travels with a step in which nobody has a gradient, or stays; it is never lost."""
    plain = whole_weights(Branches())
    model, attachment, _ = attached_and_plain(plain, policies={"left.weight": "topk:0.1"})

    def loss(m: Any, rank: int) -> Any:
        return m(whole(rank, 3, 5), "lr")
    expected = plain_sum(plain, loss)[0]
    total = torch.zeros_like(expected)
    for order in ("lr", "r", "r"):
        model.zero_grad(set_to_none=True)
        model(whole(COMM.rank, 3, 5), order).backward()
        if model.left.weight.grad is not None:
            total += model.left.weight.grad
    entries = attachment._sums.entries
    residual = entries.synchronizers[torch.float32].residual("left.weight#0")
    dsop.allreduce(residual)
    assert total.any() and torch.equal(total + torch.from_numpy(residual).view_as(total), expected)


@case
def two_models_in_one_pass() -> None:
    """As a generator and a discriminator: both travel, one of them while backward goes on."""
    first, second = whole_weights(nn.Linear(5, 4)), whole_weights(nn.Linear(4, 3))

    def loss(both: Any, rank: int) -> Any:
        return both[1](both[0](whole(rank, 2, 5))).pow(2).sum()
    expected = plain_sum(nn.ModuleList([copy.deepcopy(first), copy.deepcopy(second)]), loss)
    both = nn.ModuleList([first, second])
    for m in both:
        dsop.torch.attach(m, average="sum")
    for _ in range(4):
        both.zero_grad(set_to_none=True)
        loss(both, COMM.rank).backward()
        has_gradients(both, expected)


@case
def gradients_that_lie_in_one_place() -> None:
    """Autograd hands one tensor to two parameters, of a model that is not the one whose gradients travel early."""
    class Added(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Parameter(torch.zeros(1, 5)), nn.Parameter(torch.zeros(5))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.first + self.second.unsqueeze(0)

    def loss(both: Any, rank: int) -> Any:
        return both[1](both[0](whole(rank, 1, 5))).sum()
    both = nn.ModuleList([whole_weights(Added()), whole_weights(nn.Linear(5, 3))])
    expected = plain_sum(copy.deepcopy(both), loss)
    attachments = [dsop.torch.attach(m, average="sum") for m in both]
    for _ in range(3):
        both.zero_grad(set_to_none=True)
        loss(both, COMM.rank).backward()
        has_gradients(both, expected)
    both.zero_grad(set_to_none=True)
    with contextlib.ExitStack() as stack:
        for attachment in attachments:
            stack.enter_context(attachment.no_sync())
        loss(both, COMM.rank).backward()
    for attachment in attachments:
        attachment.idle()
    has_gradients(both, expected)


@case
def nothing_travels_early_without_need() -> None:
    """Also when gradients would travel early."""
    model, counting = mlp(), COMM.counting()
    dsop.torch.attach(model, counting, "sum")
    x = whole(COMM.rank, 2, 5).requires_grad_()
    for _ in range(2):
        model(x).sum().backward()
    before = counting.traffic()
    torch.autograd.grad(model(x).sum(), x)
    (x * 2).sum().backward()  # type: ignore[no-untyped-call]
    assert counting.traffic() == before


@case
def two_types_samples_and_policies() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(5, 4), nn.Linear(4, 3).double()

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.first(x).double())  # type: ignore[no-any-return]
    check(whole_weights(Mixed()), lambda model, rank: model(whole(rank, 3, 5)).pow(2).sum())
    model: Any = mlp(torch.float64)
    counts = [rank + 1 for rank in RANKS]
    expected = plain_sum(copy.deepcopy(model), lambda m, rank: counts[rank] / sum(counts) * m(
        whole(rank, counts[rank], 5, dtype=torch.float64)).pow(2).mean())
    attachment = dsop.torch.attach(model, average="samples", policies={"2.weight": "topk:1"})
    for _ in range(3):
        model.zero_grad(set_to_none=True)
        attachment.samples(counts[COMM.rank])
        model(whole(COMM.rank, counts[COMM.rank], 5, dtype=torch.float64)).pow(2).mean().backward()
        has_near_gradients(model, expected, 1e-13)


@case
def resumed_run() -> None:
    """One that is interrupted and resumed has the bits of one that is not, whatever travels early and as what."""
    def start() -> Attached:
        torch.manual_seed(5)
        model: Any = nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 3))
        return model, dsop.torch.attach(model, policies={"2.weight": "topk:0.2"})

    def train(model: Any, steps: range) -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for number in steps:
            optimizer.zero_grad()
            model(whole(COMM.rank, 3 + number, 5, seed=number)).pow(2).mean().backward()
            optimizer.step()
    uninterrupted, _ = start()
    train(uninterrupted, range(8))
    for ours, theirs in zip(resumed_model(train, start(), start()).parameters(), uninterrupted.parameters()):
        assert torch.equal(ours, theirs)


@case
def resumed_in_another_way() -> None:
    """By an attachment that looks for NaN, or counts samples, also where one rank had no need to send anything."""
    for average, find_nans in (("ranks", True), ("samples", False)):
        model = mlp()
        attachment = dsop.torch.attach(model)
        model(whole(COMM.rank, 3, 5)).sum().backward()
        resumed = mlp()
        resumed.load_state_dict(model.state_dict())
        other = dsop.torch.attach(resumed, average=average, find_nans=find_nans)
        other.load_state_dict(attachment.state_dict())
        if average == "samples":
            other.samples(3)
        for net in (model, resumed):
            net.zero_grad()
            net(whole(COMM.rank, 3, 5)).sum().backward()
        for ours, theirs in zip(resumed.parameters(), model.parameters()):
            assert ours.grad is not None and theirs.grad is not None and torch.allclose(ours.grad, theirs.grad)


@case
def small_weights_without_gain_share_the_bucket() -> None:
    """Two rows never pay for 20 pairs of a rank: all make its gradient, whatever comes later."""
    def built() -> Any:
        return whole_weights(nn.Sequential(nn.Linear(30, 600), nn.Linear(600, 2)))

    def loss(model: Any, rank: int, pairs: int = 20) -> Any:
        return model(whole(rank, pairs, 30)).sum()
    model = built()
    attachment = check(model, loss)
    if COMM.size > 1:
        text = attachment.describe()
        assert "1.weight 2x600: dense is cheaper here; policy dsop" in text, text
        assert "1.weight " in text.split("bucket 1", 1)[1], text
    many = check(built(), lambda model, rank: loss(model, rank, 100))
    assert COMM.size == 1 or "1.weight 2x600: dense, " in many.describe(), many.describe()  # multiplied as they come
    few = plain_sum(built(), lambda model, rank: loss(model, rank, 1))
    collected = [2 * (total if total is not None else 0) for total in few]
    resumed = built()
    other = dsop.torch.attach(resumed, average="sum")
    other.load_state_dict(attachment.state_dict())
    for net, own in ((model, attachment), (resumed, other)):
        step(net, own, lambda model, rank: loss(model, rank, 1), few)
        net.zero_grad(set_to_none=True)
        with own.no_sync():
            loss(net, COMM.rank, 1).backward()
        loss(net, COMM.rank, 1).backward()
        has_gradients(net, collected)


@case
def small_weights_without_gain_after_a_penalty() -> None:
    """What travelled as a gradient, and then for the first time as factors."""
    model: Any = nn.Sequential(nn.Linear(30, 600), nn.Linear(600, 2))
    attachment = dsop.torch.attach(model)
    for has_penalty in (True, False, False, False):
        (model(whole(COMM.rank, 20, 30)).sum() + (model[1].weight.sum() if has_penalty else 0)).backward()
    assert COMM.size == 1 or "1.weight 2x600: dense is cheaper here" in attachment.describe(), attachment.describe()


@case
def many_pairs_are_multiplied_as_they_come() -> None:
    """When the first layer's errors come nothing is left of the second's factors."""
    model = whole_weights(nn.Sequential(nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 300)).double())

    def loss(net: Any, rank: int) -> Any:
        return net(whole(rank, 400, 300, dtype=torch.float64)).sum()
    expected = plain_sum(model, loss)
    attachment = dsop.torch.attach(model, average="sum")
    second = attachment._of_id[id(model[2].weight)]
    left: list[int] = []

    def look(_: Tensor) -> None:
        left.append(len(second._kept) + len(second._fresh) + len(second.factors))

    def watch(_: nn.Module, __: Any, output: Tensor) -> None:
        output.register_hook(look)  # type: ignore[no-untyped-call]
    model[0].register_forward_hook(watch)
    for _ in range(3):
        step(model, attachment, loss, expected)
    assert left == [0, 0, 0], left
    assert COMM.size == 1 or "2.weight 300x300: dense" in attachment.describe(), attachment.describe()


@case
def log_and_arrivals() -> None:
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())
    handler = Handler()
    logger = logging.getLogger("dsop.torch")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    model: Any = nn.Sequential(nn.Linear(300, 200), nn.Linear(200, 2, bias=False))
    attachment = dsop.torch.attach(model)
    for step in range(3):
        if step == 1 and COMM.rank == 1:
            time.sleep(0.5)
        model(whole(COMM.rank, 20 if COMM.size > 1 else 2, 300)).sum().backward()
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)
    assert bool(lines) == (COMM.rank == 0)
    if COMM.rank == 0 and COMM.size > 1:
        assert any(line.startswith("1.weight 2x200: dense is cheaper here") for line in lines), lines
    late = attachment.arrivals()  # of the step before the last
    assert len(late.last) == len(late.mean) == COMM.size and min(late.last) == 0 and min(late.mean) >= 0, late
    assert COMM.size == 1 or late.last[1] > 0.1, late
