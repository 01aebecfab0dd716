"""Cases of torch_program.py: steps that fail on one rank. All hear of it, and the next step works."""

from __future__ import annotations

import math
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import dsop
import dsop.torch
from dsop.torch._ranks import broadcast_bytes
from torch_support import COMM, case, has_gradients, mlp, on_rows, plain_sum, raises_everywhere, same_everywhere, whole

BAD = COMM.size - 1  # the rank that fails


class Breaks(torch.autograd.Function):
    """The identity, whose backward raises."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # type: ignore[override]
        raise KeyError("mine")


class Fragile(nn.Module):
    """An mlp that fails, if told so."""

    def __init__(self, has_hook: bool = False) -> None:
        super().__init__()
        self.layers, self.breaks = mlp(), ""
        if has_hook:
            self.register_forward_pre_hook(lambda _, inputs: (inputs[0].clone(),))

    def forward(self, x: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            if number == 2 and self.breaks == "forward":
                raise KeyError("mine")
            if number == 2 and self.breaks == "backward":
                x = Breaks.apply(x)
            x = layer(x) * (float("nan") if number == 2 and self.breaks == "nan" else 1)
        return x


class Flag:
    """A file by which ranks tell each other something without dsop."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp() if COMM.rank == 0 else ""
        self._folder = pathlib.Path(broadcast_bytes(folder.encode(), COMM).decode())

    def raise_it(self) -> None:
        (self._folder / str(COMM.rank)).touch()

    def wait_for(self, count: int) -> None:
        end = time.monotonic() + 60
        while len(list(self._folder.iterdir())) < count:
            assert time.monotonic() < end, "the others have heard nothing"
            time.sleep(0.01)

    def remove(self) -> None:
        same_everywhere([])
        if COMM.rank == 0:
            shutil.rmtree(self._folder)


def raised_by(call: Callable[[], Any]) -> str:
    try:
        call()
    except (KeyError, dsop.ArgumentError) as error:
        return str(error)
    return ""


def works(model: Any, expected: list[Any]) -> None:
    model.zero_grad(set_to_none=True)
    on_rows(lambda rank: 2)(model, COMM.rank).backward()
    has_gradients(model, expected)


@case
def told_at_once() -> None:
    """The others' step fails while the rank that has failed does nothing more; then the next step works."""
    model = Fragile(has_hook=True)
    expected = plain_sum(model, on_rows(lambda rank: 2))
    dsop.torch.attach(model, average="sum")
    loss = on_rows(lambda rank: 2)
    for way, where in (("backward", "backward() raised an exception"), ("forward", "forward() raised an exception"),
                       ("backward", "backward() raised an exception after it had the gradient of layers.")):
        flag = Flag()
        model.breaks = way if COMM.rank == BAD else ""
        said = raised_by(lambda: loss(model, COMM.rank).backward())
        if COMM.rank == BAD:
            assert said == "'mine'", said
            flag.wait_for(COMM.size - 1)
        else:
            assert f"rank {BAD}: {where}" in said, said
            flag.raise_it()
        assert all(p.grad is None for p in model.parameters())
        flag.remove()
        model.breaks = ""
        for _ in range(2):  # after these, gradients travel early
            works(model, expected)


@case
def hooks_of_forward_that_raise() -> None:
    """The program's own, those that the model had and those that came later."""
    model, raises = mlp(), {"before": False, "after": False}
    expected = plain_sum(mlp(), on_rows(lambda rank: 2))

    def hook(when: str) -> Callable[..., None]:
        def call(*_: Any) -> None:
            if raises[when]:
                raise KeyError("mine")
        return call
    model.register_forward_pre_hook(hook("before"))
    model.register_forward_pre_hook(lambda _, inputs: (inputs[0].clone(),))
    dsop.torch.attach(model, average="sum")
    model.register_forward_hook(hook("after"))
    for when in raises:
        raises[when] = COMM.rank == BAD
        said = raised_by(lambda: on_rows(lambda rank: 2)(model, COMM.rank).backward())
        assert said == "'mine'" if COMM.rank == BAD else f"rank {BAD}: forward() raised" in said, said
        raises[when] = False
        for _ in range(2):
            works(model, expected)


@case
def fail_by_hand() -> None:
    model = mlp()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    attachment = dsop.torch.attach(model, average="sum")
    errors: list[tuple[object, str]] = [("no such file", "no such file"), (OSError("no such file"), "no such file"),
                                        (StopIteration(), "StopIteration"), ("file \udcff", "file ?")]
    for error, words in errors:
        works(model, expected)
        if COMM.rank == BAD:
            attachment.fail(error)
        else:
            said = raised_by(lambda: model(whole(COMM.rank, 2, 5)).sum().backward())
            assert f"rank {BAD}: {words}" in said, said
        assert all(p.grad is None for p in model.parameters())


@case
def while_gradients_accumulate() -> None:
    """What fails within no_sync() fails the step that sums; so does an exception that leaves it."""
    model = Fragile()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    attachment = dsop.torch.attach(model, average="sum")
    loss = on_rows(lambda rank: 2)

    def accumulate(catches: bool) -> None:
        with attachment.no_sync():
            for micro_step in range(3):
                model.breaks = "backward" if COMM.rank == BAD and micro_step == 1 else ""
                try:
                    loss(model, COMM.rank).backward()
                except KeyError:
                    if not catches:
                        raise
                finally:
                    model.breaks = ""
        loss(model, COMM.rank).backward()
    for catches in (True, False, True):
        said = raised_by(lambda: accumulate(catches))
        assert "rank" in said and "backward() raised" in said or said == "'mine'" and COMM.rank == BAD, said
        works(model, expected)


@case
def fails_where_it_is_caught() -> None:
    """fail(), or idle(), in the handler of what forward() has raised: said once."""
    model = Fragile()
    loss = on_rows(lambda rank: 2)
    expected = plain_sum(model, loss)
    without = plain_sum(model, on_rows(lambda rank: 2 if rank != BAD else 0))
    attachment = dsop.torch.attach(model, average="sum")

    def step(instead: Callable[[], None]) -> None:
        model.breaks = "forward" if COMM.rank == BAD else ""
        model.zero_grad(set_to_none=True)
        try:
            loss(model, COMM.rank).backward()
        except KeyError:
            instead()
        finally:
            model.breaks = ""
    for _ in range(3):
        said = raised_by(lambda: step(lambda: attachment.fail("caught")))
        assert COMM.rank == BAD or f"rank {BAD}: " in said, said
        works(model, expected)
        if COMM.size > 1:
            step(attachment.idle)
            has_gradients(model, without)
        works(model, expected)


@case
def state_after_a_failure() -> None:
    model = Fragile()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    attachment = dsop.torch.attach(model, average="sum")
    for _ in range(2):
        works(model, expected)
    state, = attachment.state_dict().values()
    for loads in (False, True):
        model.breaks = "backward" if COMM.rank == BAD else ""
        assert raised_by(lambda: on_rows(lambda rank: 2)(model, COMM.rank).backward())
        model.breaks = ""
        if loads:
            attachment.load_state_dict(state)
        else:
            assert attachment.describe() and attachment.state_dict().keys()
        for _ in range(2):
            works(model, expected)
    for missing in ("unsteady", "synchronizers"):
        raises_everywhere("of another model", lambda: attachment.load_state_dict({**state, missing: {}})
                          if missing == "synchronizers" else
                          attachment.load_state_dict({key: state[key] for key in state if key != missing}))
    works(model, expected)
    if COMM.size > 1:
        first = dsop.torch.attach(Fragile(), average="sum").state_dict()
        raises_everywhere(f"state on rank {BAD} is of another step than rank 0's, expected those of one step on all ranks",
                          lambda: attachment.load_state_dict(first if COMM.rank == BAD else state))
        works(model, expected)
    alike = {**state, "order": [list(one) for one in state["order"]], "unsteady": set(state["unsteady"]), COMM.rank: "other"}
    attachment.load_state_dict(alike if COMM.rank == BAD else state)
    works(model, expected)


@case
def failure_within_no_sync_and_by_hand() -> None:
    """The step that sums fails once, whoever says so."""
    model = Fragile()
    loss = on_rows(lambda rank: 2)
    expected = plain_sum(model, loss)
    attachment = dsop.torch.attach(model, average="sum")
    for _ in range(2):
        with attachment.no_sync():
            model.breaks = "backward" if COMM.rank == BAD else ""
            raised_by(lambda: loss(model, COMM.rank).backward())
            model.breaks = ""
        if COMM.rank == BAD:
            attachment.fail("once more")
        else:
            assert f"rank {BAD}: backward() raised" in raised_by(lambda: loss(model, COMM.rank).backward())
        works(model, expected)


@case
def idle_within_no_sync() -> None:
    model = mlp()
    loss = on_rows(lambda rank: 2)
    expected = plain_sum(model, lambda m, rank: loss(m, rank) * (1 if rank == BAD else 2))
    attachment = dsop.torch.attach(model, average="sum")
    with attachment.no_sync():
        if COMM.rank == BAD:
            attachment.idle()
        else:
            loss(model, COMM.rank).backward()
    loss(model, COMM.rank).backward()
    has_gradients(model, expected)


@case
def other_types_after_attach() -> None:
    model = mlp()
    dsop.torch.attach(model)
    model.double()
    raises_everywhere("or of other types", lambda: model(whole(COMM.rank, 2, 5).double()))


@case
def thawed_and_used_in_parts() -> None:
    """Without the attached model's own forward()."""
    def loss(m: Any, rank: int) -> Any:
        x = whole(rank, 2, 5)
        for layer in m:
            x = layer(x)
        return x.sum()
    model = mlp()
    expected = plain_sum(model, loss)
    model[0].requires_grad_(False)
    dsop.torch.attach(model, average="sum")
    model[0].requires_grad_(True)
    for _ in range(2):
        model.zero_grad(set_to_none=True)
        loss(model, COMM.rank).backward()
        has_gradients(model, expected)


@case
def not_a_number() -> None:
    model = Fragile()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    dsop.torch.attach(model, average="sum", find_nans=True)
    for _ in range(3):
        model.breaks = "nan" if COMM.rank == BAD else ""
        said = raised_by(lambda: on_rows(lambda rank: 2)(model, COMM.rank).backward())
        assert f"rank {BAD}: " in said and "has NaN" in said and "gradient of layers." in said, said
        assert all(p.grad is None for p in model.parameters())
        model.breaks = ""
        works(model, expected)


@case
def infinity_alone() -> None:
    model = nn.Linear(3, 2)
    dsop.torch.attach(model, find_nans=True)

    def backward(factor: float) -> None:
        (model(torch.ones(2, 3)).sum() * (factor if COMM.rank == BAD else 1)).backward()
    for _ in range(2):
        said = raised_by(lambda: backward(math.inf))
        assert f"rank {BAD}: gradient of " in said and "has NaN or infinity, expected finite numbers" in said, said
        assert all(p.grad is None for p in model.parameters())
        backward(1)
        model.zero_grad(set_to_none=True)


@case
def evaluation_that_fails() -> None:
    """Without gradients it is no part of a step."""
    model = Fragile()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    dsop.torch.attach(model, average="sum")
    if COMM.rank == BAD:
        model.breaks = "forward"
        with torch.no_grad():
            assert raised_by(lambda: model(whole(0, 2, 5))) == "'mine'"
        model.breaks = ""
    works(model, expected)
