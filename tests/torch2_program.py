"""What torch_test.py runs on each rank where torch is 2.1 or newer: torch.compile(), optimizers in backward, DTensors.

Arguments name cases; default: all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import dsop
import dsop.torch
from torch_failing_steps_cases import BAD, works
from torch_support import (CASES, COMM, Loss, case, check, mlp, on_rows, plain_sum, raises_everywhere, run, step, whole,
                           whole_weights)

CASES.clear()  # those of what is imported run in torch_program.py
IS_LAST = COMM.rank == BAD
TWO_ROWS = on_rows(lambda rank: 2)


@case
def optimizer_in_backward() -> None:
    """It would step with this rank's gradient."""
    words = "0.weight has a hook of register_post_accumulate_grad_hook()"
    called = []

    def hook(model: Any) -> contextlib.ExitStack:
        stack = contextlib.ExitStack()
        if IS_LAST:
            stack.callback(model[0].weight.register_post_accumulate_grad_hook(called.append).remove)
        return stack
    model = mlp()
    with hook(model):
        raises_everywhere(words, lambda: dsop.torch.attach(model))
    attachment = dsop.torch.attach(model, average="sum")
    expected = plain_sum(mlp(), TWO_ROWS)
    with hook(model):
        raises_everywhere(words, lambda: TWO_ROWS(model, COMM.rank).backward())
    works(model, expected)
    for each in (model[0].weight, model[0].bias):  # after the forward pass, of a weight of factors and of a gradient
        loss = TWO_ROWS(model, COMM.rank)
        handle = each.register_post_accumulate_grad_hook(called.append)
        raises_everywhere("register_post_accumulate_grad_hook()", loss.backward)
        handle.remove()
        works(model, expected)
    assert not called
    attachment.detach()
    model[0].weight.register_post_accumulate_grad_hook(called.append)
    TWO_ROWS(model, COMM.rank).backward()  # nobody's business
    assert len(called) == 1


def _compiled(what: Any) -> Any:
    return torch.compile(what, backend="aot_eager")


def _in_place(model: Any, part: Any) -> Loss:
    part.compile(backend="aot_eager")
    return TWO_ROWS


def _replaced(model: Any, number: int) -> Loss:
    model[number] = _compiled(model[number])
    return TWO_ROWS


def _function(model: Any) -> Loss:
    call = _compiled(lambda x: model(x).pow(2).sum())
    return lambda _, rank: call(whole(rank, 2, 5))


def _around(model: Any) -> Loss:
    around = _compiled(model)
    return lambda _, rank: TWO_ROWS(around, rank)


FORMS: list[Callable[[Any], Loss]] = [_around, lambda model: _in_place(model, model), lambda model: _in_place(model, model[2]),
                                      lambda model: _in_place(model, model[4]), lambda model: _replaced(model, 2),
                                      lambda model: _replaced(model, 4), _function]


def _nested_mlp() -> Any:
    """The third is a block, the fifth a layer by itself."""
    return whole_weights(nn.Sequential(nn.Linear(5, 70), nn.ReLU(), nn.Sequential(nn.Linear(70, 300), nn.ReLU()),
                                       nn.LayerNorm(300), nn.Linear(300, 70)))


@case
def compiled_after_attach() -> None:
    """In any form: gradients are those of plain torch, and layers give factors as before."""
    for form in FORMS:
        torch._dynamo.reset()
        torch.manual_seed(1)
        model, plain = _nested_mlp(), _nested_mlp()
        expected = plain_sum(plain, TWO_ROWS)
        attachment = dsop.torch.attach(model, average="sum")
        loss = form(model)
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            loss(model, COMM.rank).backward()
            for parameter, theirs in zip(model.parameters(), expected):
                assert parameter.grad is not None
                assert torch.allclose(parameter.grad, theirs, rtol=1e-4, atol=1e-4 * theirs.abs().max().item())
        said = attachment.describe()
        assert COMM.size == 1 or "2.0.weight 300x70: factors" in said or "is cheaper" in said, said


@case
def steps_that_are_compiled() -> None:
    """With backward() in them, and layers of all kinds that give factors. Whole numbers: the same bits."""
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.layer = nn.Embedding(6, 5), nn.Linear(5, 4)

        def forward(self, indices: Tensor) -> Any:
            return self.layer(self.rows(indices))
    torch._dynamo.reset()
    model = whole_weights(Net())
    expected = plain_sum(whole_weights(Net()), lambda m, rank: m(torch.tensor([rank % 6, 2])).pow(2).sum())
    dsop.torch.attach(model, average="sum")

    @_compiled
    def backward(indices: Tensor) -> None:
        model(indices).pow(2).sum().backward()
    for _ in range(3):
        model.zero_grad(set_to_none=True)
        backward(torch.tensor([COMM.rank % 6, 2]))
        assert all(torch.equal(p.grad, theirs) for p, theirs in zip(model.parameters(), expected))
    net: Any = nn.Sequential(dsop.torch.LSTM(3, 4))
    dsop.torch.attach(net)
    net.compile(backend="aot_eager")
    for _ in range(2):
        net(whole(COMM.rank, 5, 2, 3))[0].sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


@case
def forward_that_raises_in_compiled_code() -> None:
    torch._dynamo.reset()
    model = mlp()
    expected = plain_sum(mlp(), TWO_ROWS)
    attachment = dsop.torch.attach(model, average="sum")
    model.compile(backend="aot_eager")
    step(model, attachment, TWO_ROWS, expected)
    for _ in range(2):
        try:
            model(whole(COMM.rank, 2, 6 if IS_LAST else 5)).sum().backward()
        except (RuntimeError, dsop.ArgumentError) as error:
            assert IS_LAST or f"rank {BAD}: forward() raised an exception" in str(error), error
        else:
            raise AssertionError("nothing was raised")
        works(model, expected)


@case
def compiled_before_attach() -> None:
    def block() -> Any:
        model = mlp()
        model[2].compile(backend="aot_eager")
        return model

    def whole_model() -> Any:
        model = mlp()
        model.compile(backend="aot_eager")
        return model
    for make in (block, whole_model, lambda: _compiled(mlp()), lambda: nn.Sequential(_compiled(nn.Linear(5, 3)))):
        raises_everywhere("is compiled already", lambda make=make: dsop.torch.attach(make() if IS_LAST else mlp()))


@case
def function_that_was_compiled_before_attach() -> None:
    """What torch has made of it, for a model that was not attached, is made anew, or right as it is."""
    torch._dynamo.reset()
    for model in (mlp(), whole_weights(nn.Sequential(nn.Conv1d(2, 3, 2, bias=False)))):
        shape = (2, 5) if isinstance(model[0], nn.Linear) else (2, 2, 4)
        call = _compiled(lambda x, model=model: model(x).pow(2).sum())  # type: ignore[misc]
        call(whole(0, *shape)).backward()
        model.zero_grad(set_to_none=True)
        expected = plain_sum(model, lambda model, rank, shape=shape: model(whole(rank, *shape)).pow(2).sum())
        attachment = dsop.torch.attach(model, average="sum")
        for _ in range(3):
            step(model, attachment, lambda _, rank, call=call, shape=shape: call(whole(rank, *shape)), expected)


@case
def compiled_backward() -> None:
    model = mlp()
    dsop.torch.attach(model, average="sum")
    torch._dynamo.config.compiled_autograd = IS_LAST
    try:
        raises_everywhere("compiled_autograd is True", lambda: TWO_ROWS(model, COMM.rank).backward())
    finally:
        torch._dynamo.config.compiled_autograd = False
    works(model, plain_sum(mlp(), TWO_ROWS))


@case
def parameters_in_parts() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import distribute_module
    mesh = init_device_mesh("cpu", (COMM.size,))
    raises_everywhere("weight is a DTensor, expected a plain tensor, whole on each rank",
                      lambda: dsop.torch.attach(distribute_module(nn.Linear(4, 3), mesh)))
    model = nn.Linear(4, 3)
    dsop.torch.attach(model)
    distribute_module(model, mesh)
    raises_everywhere("other parameters than when it was attached", lambda: model(torch.ones(2, 4)))


@case
def nested_inputs() -> None:
    for layout in (torch.strided, torch.jagged):
        def loss(model: Any, rank: int, layout: Any = layout) -> Any:
            rows = torch.nested.nested_tensor([whole(rank, 2, 5), whole(rank, 1, 5)], layout=layout)
            return torch.cat(list(model(rows).unbind())).pow(2).sum()
        check(whole_weights(nn.Sequential(nn.Linear(5, 3))), loss)


run()
