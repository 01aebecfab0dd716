"""Cases of torch_program.py: several attached models, as a generator and a discriminator, in one backward pass."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from torch import Tensor, nn

import dsop.torch
from torch_failing_steps_cases import BAD, Breaks, raised_by
from torch_support import COMM, case, has_gradients, plain_sum, whole, whole_weights


class Layer(nn.Linear):
    breaks = ""

    def forward(self, input: Tensor) -> Tensor:
        if self.breaks == "forward":
            raise KeyError("mine")
        made = super().forward(input) * (float("nan") if self.breaks == "nan" else 1)
        return Breaks.apply(made) if self.breaks == "backward" else made  # type: ignore[no-any-return]


def two_models() -> Any:
    return nn.ModuleList([nn.Sequential(whole_weights(Layer(5, 4))), nn.Sequential(whole_weights(Layer(4, 3)))])


def loss_of(both: Any, rank: int) -> Any:
    return both[1](both[0](whole(rank, 2, 5))).pow(2).sum()


def step(both: Any) -> None:
    both.zero_grad(set_to_none=True)
    loss_of(both, COMM.rank).backward()


@case
def step_of_two_models_that_fails() -> None:
    """The step fails once, and of both models; the next one works, also after two that fail."""
    both = two_models()
    expected = plain_sum(copy.deepcopy(both), loss_of)
    for model in both:
        dsop.torch.attach(model, average="sum", find_nans=True)
    for way, place in (("forward", 0), ("forward", 1), ("backward", 0), ("nan", 0), ("nan", 1)):
        for _ in range(2):
            both[place][0].breaks = way if COMM.rank == BAD else ""
            said = raised_by(lambda: step(both))
            both[place][0].breaks = ""
            own = COMM.rank == BAD and way != "nan"
            assert said == "'mine'" if own else f"rank {BAD}: " in said, (way, place, said)
            assert all(p.grad is None for p in both.parameters()), (way, place)
        for _ in range(2):
            step(both)
            has_gradients(both, expected)


@case
def step_of_two_models_that_fails_by_hand() -> None:
    """Said of one model, or of each of them."""
    both = two_models()
    expected = plain_sum(copy.deepcopy(both), loss_of)
    attachments = [dsop.torch.attach(model, average="sum") for model in both]
    for sayers in ([0], [0], [0, 1], [1, 0], [1], [1]):
        if COMM.rank == BAD:
            for place in sayers:
                attachments[place].fail("no such file")
        else:
            assert f"rank {BAD}: no such file" in raised_by(lambda: step(both))
        assert all(p.grad is None for p in both.parameters())
        if len(sayers) > 1:
            step(both)
            has_gradients(both, expected)


@case
def step_of_two_models_that_fails_within_no_sync() -> None:
    both = two_models()
    expected = plain_sum(copy.deepcopy(both), loss_of)
    attachments = [dsop.torch.attach(model, average="sum") for model in both]

    def accumulate(catches: bool) -> None:
        both.zero_grad(set_to_none=True)
        both[0][0].breaks = "backward" if COMM.rank == BAD else ""
        with contextlib.ExitStack() as stack:
            for attachment in attachments:
                stack.enter_context(attachment.no_sync())
            with contextlib.suppress(KeyError) if catches else contextlib.nullcontext():
                loss_of(both, COMM.rank).backward()
            both[0][0].breaks = ""
        loss_of(both, COMM.rank).backward()
    for catches in (True, False):
        said = raised_by(lambda: accumulate(catches))
        both[0][0].breaks = ""
        assert "backward() raised" in said or said == "'mine'" and COMM.rank == BAD, said
        assert all(p.grad is None for p in both.parameters())
        for _ in range(2):
            step(both)
            has_gradients(both, expected)


@case
def one_of_two_models_without_data() -> None:
    """A rank that has no data for the first fails with the others, and of both."""
    both = two_models()

    def loss(models: Any, rank: int) -> Any:
        return loss_of(models, rank) if rank != BAD else models[1](whole(rank, 2, 4)).pow(2).sum()
    expected = plain_sum(copy.deepcopy(both), loss)
    attachments = [dsop.torch.attach(model, average="sum", find_nans=True) for model in both]
    if COMM.size == 1:
        return
    for breaks in (False, True, False, True, False):
        both.zero_grad(set_to_none=True)
        both[0][0].breaks = "nan" if breaks and COMM.rank == 0 else ""

        def one_step() -> None:
            loss(both, COMM.rank).backward()
            if COMM.rank == BAD:
                attachments[0].idle()
        said = raised_by(one_step)
        both[0][0].breaks = ""
        if breaks:
            assert "rank 0: " in said and all(p.grad is None for p in both.parameters()), said
        else:
            assert not said
            has_gradients(both, expected)
