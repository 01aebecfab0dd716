"""Cases of torch_program.py: exceptions of forward() that the program keeps, as retrying and testing libraries do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import dsop.torch
from torch_failing_steps_cases import BAD, Fragile, raised_by
from torch_support import COMM, case, has_gradients, on_rows, plain_sum, whole


def fail_and_keep(model: Any, kept: list[BaseException]) -> None:
    """A step that fails on one rank in forward(), of which nobody hears yet."""
    model.zero_grad(set_to_none=True)
    if COMM.rank == BAD:
        model.breaks = "forward"
        try:
            model(whole(COMM.rank, 2, 5))
        except KeyError as error:
            kept.append(error)
        model.breaks = ""
    else:
        said = raised_by(lambda: on_rows(lambda rank: 2)(model, COMM.rank).backward())
        assert f"rank {BAD}: forward() raised an exception" in said, said


@case
def exceptions_that_are_kept() -> None:
    """The failure is told when the next step begins, whatever it begins with."""
    model, kept = Fragile(), []  # type: tuple[Any, list[BaseException]]
    loss = on_rows(lambda rank: 2)

    def in_parts(m: Any, rank: int) -> Any:
        x = whole(rank, 2, 5)
        for layer in m.layers:
            x = layer(x)
        return x.pow(2).sum()

    def of_others(m: Any, rank: int) -> Any:
        return loss(m, rank) if rank != BAD else torch.zeros(())
    attachment = dsop.torch.attach(model, average="sum")
    ways: list[tuple[Callable[[Any, int], Any], Callable[[], None]]] = [
        (loss, lambda: loss(model, COMM.rank).backward()), (in_parts, lambda: in_parts(model, COMM.rank).backward())]
    if COMM.size > 1:
        ways.append((of_others, lambda: attachment.idle() if COMM.rank == BAD else loss(model, COMM.rank).backward()))
    for expected_loss, way in ways:
        expected = plain_sum(Fragile(), expected_loss)
        for _ in range(2):
            fail_and_keep(model, kept)
            model.zero_grad(set_to_none=True)
            way()
            has_gradients(model, expected)
    assert COMM.rank != BAD or len(kept) == 2 * len(ways)


@case
def kept_exception_and_samples() -> None:
    model, kept = Fragile(), []  # type: tuple[Any, list[BaseException]]
    attachment = dsop.torch.attach(model, average="samples")
    for _ in range(3):
        attachment.samples(2)
        fail_and_keep(model, kept)
        attachment.samples(2)
        on_rows(lambda rank: 2)(model, COMM.rank).backward()


@case
def another_try_in_the_handler() -> None:
    """It takes the place of what has failed, of which nobody hears."""
    model = Fragile()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    dsop.torch.attach(model, average="sum")
    for _ in range(3):
        model.zero_grad(set_to_none=True)
        model.breaks = "forward" if COMM.rank == BAD else ""
        try:
            made = on_rows(lambda rank: 2)(model, COMM.rank)
        except KeyError:
            model.breaks = ""
            made = on_rows(lambda rank: 2)(model, COMM.rank)
        made.backward()
        has_gradients(model, expected)
