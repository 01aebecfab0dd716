"""Cases of torch_program.py: layers under bf16 autocast, whose factors travel in 16 bits where all ranks' are bf16.

Data are whole numbers that bf16 does not hold, so that what is rounded on its way shows; sums are exact in float32.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable
from typing import Any, Optional

import torch
from torch import Tensor, nn

import dsop
import dsop.torch
from torch_support import COMM, RANKS, case, raises_everywhere, same_everywhere, whole, whole_weights

FULL = {"*.weight": "dsop"}
Under = Callable[[int], bool]  # whether a rank is under autocast


def everywhere(_: int) -> bool:
    return True


def nowhere(_: int) -> bool:
    return False


def but_the_last(rank: int) -> bool:
    return rank != COMM.size - 1


def wide(dtype: Any = torch.float32) -> Any:
    return whole_weights(nn.Sequential(nn.Linear(60, 40), nn.ReLU(), nn.Linear(40, 30)).to(dtype))


def autocast(enabled: bool) -> Any:
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled)  # type: ignore[attr-defined]


def loss(model: Any, rank: int, under: bool, seed: int = 0, rows: int = 3) -> Any:
    with autocast(under):
        made = model(1001 * whole(rank, rows, 60, seed=seed, dtype=model[0].weight.dtype))
    return (made.float() * whole(rank, rows, 30, seed=seed + 1000)).sum()


def sums_of_products(model: Any, backward: Callable[[Any, int], None]) -> list[Tensor]:
    """The gradients of both weights, of all ranks: products, in full, of what plain torch's layers see."""
    plain = copy.deepcopy(model)
    layers = [plain[0], plain[2]]
    sums = [torch.zeros_like(layer.weight) for layer in layers]

    def watch(total: Tensor, layer: nn.Module, inputs: Any, output: Tensor) -> None:
        x = inputs[0].detach().to(output.dtype).to(total.dtype)

        def add(grad: Tensor) -> None:
            total.addmm_(grad.to(total.dtype).t(), x)
        output.register_hook(add)  # type: ignore[no-untyped-call]
    for layer, total in zip(layers, sums):
        layer.register_forward_hook(functools.partial(watch, total))
    for rank in RANKS:
        backward(plain, rank)
    return sums


class Beside:
    """An attached model, one whose weights' policy is named and so keeps to the full wire, and their sums by hand."""

    def __init__(self) -> None:
        self.model, self.full = wide(), wide()
        self.counting = [COMM.counting() for _ in range(2)]
        self.attachment = dsop.torch.attach(self.model, self.counting[0], "sum")
        self.of_full = dsop.torch.attach(self.full, self.counting[1], "sum", FULL)

    def step(self, backward: Callable[[Any, int], None]) -> tuple[int, int]:
        """All three have the same bits. How many bytes both have sent."""
        before = [each.traffic()["payload_bytes"] for each in self.counting]
        for model in (self.model, self.full):
            model.zero_grad(set_to_none=True)
            backward(model, COMM.rank)
        for weight, expected in zip((self.model[0].weight, self.model[2].weight),
                                    sums_of_products(self.model, backward)):
            assert torch.equal(weight.grad, expected), (weight.grad - expected).abs().max()
        for ours, theirs in zip(self.model.parameters(), self.full.parameters()):
            assert torch.equal(ours.grad, theirs.grad)
        same_everywhere([parameter.grad for parameter in self.model.parameters()])
        assert "dsop-bf16" not in self.of_full.describe()
        sent = [each.traffic()["payload_bytes"] - had for each, had in zip(self.counting, before)]
        return sent[0], sent[1]

    def check_16_bits(self, expected: bool) -> None:
        """In both layers, or in none. A rank alone sends nothing."""
        found = {"factors in 16 bits; policy dsop-bf16" in line for line in self.attachment.describe().split("\n")
                 if ".weight " in line and ": " in line}
        assert COMM.size == 1 or found == {expected}, self.attachment.describe()


def passes(under: Under, seed: int = 0, rows: Callable[[int], int] = lambda rank: 3) -> Callable[[Any, int], None]:
    def backward(model: Any, rank: int) -> None:
        loss(model, rank, under(rank), seed, rows(rank)).backward()
    return backward


@case
def factors_of_16_bits() -> None:
    for rows in (lambda rank: 3, lambda rank: rank):  # rank 0 has an empty batch
        beside = Beside()
        for seed in range(3):
            sent, full = beside.step(passes(everywhere, seed, rows))
            beside.check_16_bits(True)
            assert COMM.size == 1 or rows(0) == 0 or sent < full, (sent, full)  # type: ignore[no-untyped-call]


@case
def bits_of_any_numbers() -> None:
    """Those of the full wire, where both take the same algorithm: only what travels is narrower."""
    beside = Beside()
    torch.manual_seed(5)
    for ours, theirs in zip(beside.model.parameters(), beside.full.parameters()):
        ours.data.copy_(torch.randn(ours.shape))
        theirs.data.copy_(ours)
    for step in range(3):
        x = torch.randn(3, 60, generator=torch.Generator().manual_seed(10 * step + COMM.rank))
        for model in (beside.model, beside.full):
            model.zero_grad(set_to_none=True)
            with autocast(True):
                made = model(x)
            made.float().pow(2).sum().backward()
        for ours, theirs in zip(beside.model.parameters(), beside.full.parameters()):
            assert torch.equal(ours.grad, theirs.grad)
    algorithms = [re.findall("(?m)weight .*last summed by (.*)$", each.describe())
                  for each in (beside.attachment, beside.of_full)]
    assert COMM.size == 1 or (algorithms[0] == algorithms[1] and len(algorithms[0]) == 2), algorithms
    beside.check_16_bits(True)


@case
def one_rank_without_autocast() -> None:
    beside = Beside()
    for seed in range(3):
        beside.step(passes(but_the_last, seed))
        beside.check_16_bits(False)
    for seed in range(2):
        beside.step(passes(everywhere, seed))
    beside.check_16_bits(True)  # agreed on after the first, in which they travelled in full
    for seed in range(2):  # now they are to travel in 16 bits, and one rank's can't
        beside.step(passes(but_the_last, seed))
        beside.check_16_bits(False)


@case
def autocast_on_and_off() -> None:
    beside = Beside()
    alone: list[Under] = [lambda rank, only=only: rank == only for only in RANKS]  # type: ignore[misc]
    for seed, under in enumerate([nowhere, everywhere, everywhere, nowhere, everywhere, nowhere, everywhere, everywhere,
                                  *alone, everywhere, everywhere, but_the_last, everywhere, everywhere]):
        beside.step(passes(under, seed, lambda rank: 3 + seed % 2))
    beside.check_16_bits(True)


@case
def one_use_in_full() -> None:
    """Of two in one backward pass, or of two passes."""
    def twice(model: Any, rank: int) -> None:
        (loss(model, rank, True) + loss(model, rank, rank > 0, seed=1)).backward()
    beside = Beside()
    for _ in range(3):
        beside.step(twice)
        beside.check_16_bits(False)

    for second, in_16_bits in ((nowhere, False), (everywhere, True)):
        accumulating = Beside()
        attachments = {id(accumulating.model): accumulating.attachment, id(accumulating.full): accumulating.of_full}

        def accumulate(model: Any, rank: int) -> None:
            attachment = attachments.get(id(model))  # none: the one by hand
            if attachment is None:
                loss(model, rank, True).backward()
            else:
                with attachment.no_sync():
                    loss(model, rank, True).backward()
            loss(model, rank, second(rank), seed=1).backward()
        for _ in range(3):
            accumulating.step(accumulate)
            accumulating.check_16_bits(in_16_bits)


@case
def samples_of_16_bits() -> None:
    """A count that is no power of 2 takes factors out of bf16."""
    for last, in_16_bits in ((8, True), (3, False)):
        weights = [4.0] * (COMM.size - 1) + [float(last)]
        model, full = wide(), wide()
        attachments = [dsop.torch.attach(model, None, "samples"), dsop.torch.attach(full, None, "samples", FULL)]
        for seed in range(3):
            for m, attachment in zip((model, full), attachments):
                m.zero_grad(set_to_none=True)
                attachment.samples(int(weights[COMM.rank]))
                loss(m, COMM.rank, True, seed).backward()
            for ours, theirs in zip(model.parameters(), full.parameters()):
                assert torch.equal(ours.grad, theirs.grad)
            assert ("policy dsop-bf16" in attachments[0].describe()) == in_16_bits


@case
def resumed_in_16_bits() -> None:
    beside, resumed = Beside(), Beside()
    for seed in range(2):
        beside.step(passes(everywhere, seed))
    resumed.attachment.load_state_dict(beside.attachment.state_dict())
    for seed in range(2):
        resumed.step(passes(everywhere, seed))
        resumed.check_16_bits(True)
        assert COMM.size == 1 or "while backward goes on" in resumed.attachment.describe()
    resumed.step(passes(but_the_last))
    resumed.check_16_bits(False)


@case
def resumed_after_a_step_in_full() -> None:
    """What has registered more than the state holds takes it too."""
    beside = Beside()
    beside.step(passes(everywhere, 0))
    state = beside.attachment.state_dict()
    beside.step(passes(but_the_last))
    beside.attachment.load_state_dict(state)
    for seed in range(1, 3):
        beside.step(passes(everywhere, seed))
        beside.check_16_bits(True)


@case
def autocast_of_float64() -> None:
    """It leaves such layers alone."""
    plain = wide(torch.float64)
    model = copy.deepcopy(plain)
    dsop.torch.attach(model, average="sum")
    with autocast(True):
        x = 1001 * whole(COMM.rank, 3, 60, dtype=torch.float64)
        assert model(x).dtype == plain(x).dtype == torch.float64
    loss(model, COMM.rank, True).backward()
    for weight, expected in zip((model[0].weight, model[2].weight), sums_of_products(plain, passes(everywhere))):
        assert torch.equal(weight.grad, expected)


@case
def policy_is_named_on_one_rank() -> None:
    named: Optional[dict[str, str]] = FULL if COMM.rank == COMM.size - 1 else None
    if COMM.size > 1:
        raises_everywhere("under policy dsop", lambda: dsop.torch.attach(wide(), policies=named))
