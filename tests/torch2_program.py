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


@case
def parts_by_fully_shard() -> None:
    from torch.distributed.fsdp import fully_shard
    model = mlp()
    fully_shard(model)
    raises_everywhere("0.weight is a DTensor, expected a plain tensor, whole on each rank: attach the model without FSDP",
                      lambda: dsop.torch.attach(model))


@case
def tensors_elsewhere() -> None:
    """There is no GPU here; a tensor without elements is not on the CPU either."""
    raises_everywhere("weight is torch.float32 on meta, expected", lambda: dsop.torch.attach(
        nn.Linear(5, 3, device="meta" if IS_LAST else "cpu")))


@case
def meshes() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    model = mlp()
    expected = plain_sum(model, TWO_ROWS)
    attachment = dsop.torch.attach(model, init_device_mesh("cpu", (COMM.size,)), "sum")
    for _ in range(2):
        step(model, attachment, TWO_ROWS, expected)
    mesh = init_device_mesh("cpu", (1, COMM.size), mesh_dim_names=("shard", "replicate"))
    raises_everywhere("comm is a DeviceMesh of 2 dimensions, expected one, as mesh[NAME] has",
                      lambda: dsop.torch.attach(mlp(), mesh))
    assert dsop.communicator(mesh["replicate"]).size == COMM.size and dsop.communicator(mesh["shard"]).size == 1


@case
def ddp_without_buckets() -> None:
    words = "optimize_ddp='python_reducer'"
    torch._dynamo.config.optimize_ddp = "python_reducer"
    try:
        models = [nn.parallel.DistributedDataParallel(mlp()) for _ in range(2)]
    finally:
        torch._dynamo.config.optimize_ddp = True
    raises_everywhere(words, lambda: dsop.torch.TopKHook("topk:0.1").register(models[0]))
    models[1].register_comm_hook(dsop.torch.TopKHook("topk:0.1"), dsop.torch.topk_hook)
    raises_everywhere(words, lambda: dsop.torch.topk_hook(*models[1]._comm_hooks[0][1:], (whole(0, 3), None)))


@case
def scaled_and_fused_optimizers() -> None:
    """A scaler's powers of 2, clipping and one call for all parameters, beside plain torch on the sums; a step of overflow."""
    for kind, options in ((torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adam, {}), (torch.optim.AdamW, {})):
        model, plain = mlp(), mlp()
        attachment = dsop.torch.attach(model, average="sum")
        sides: list[Any] = [(m, kind(m.parameters(), lr=0.01, fused=True, **options),  # type: ignore[arg-type]
                             torch.amp.GradScaler("cpu", init_scale=2**10, growth_interval=2)) for m in (model, plain)]
        for number in range(5):
            factor = float("inf") if number == 3 and IS_LAST else 1.0
            for m, optimizer, scaler in sides:
                optimizer.zero_grad()
                if m is model:
                    scaler.scale(TWO_ROWS(m, COMM.rank) * factor).backward()
                else:
                    for p, total in zip(plain.parameters(), plain_sum(plain, TWO_ROWS)):
                        p.grad = scaler.scale(total) * (float("inf") if number == 3 else 1)
                    scaler.scale(torch.zeros(()))
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(m.parameters(), 100.0)
                scaler.step(optimizer)
                scaler.update()
            if number == 0:
                assert all(map(torch.equal, model.parameters(), plain.parameters())), kind
        assert sides[0][2].get_scale() == sides[1][2].get_scale()
        for ours, theirs in zip(model.parameters(), plain.parameters()):
            assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4), kind
        attachment.detach()


def _trained(policy: str) -> dsop.torch.Attachment:
    torch.manual_seed(1)
    model = nn.Linear(50, 40)
    attachment = dsop.torch.attach(model, policies={"weight": policy})
    attachment.model = model  # type: ignore[attr-defined]
    return attachment


def _gradients(attachment: Any, steps: range) -> list[Tensor]:
    made = []
    for number in steps:
        attachment.model.zero_grad()
        attachment.model(whole(COMM.rank, 3, 50, seed=number)).pow(2).sum().backward()
        made += [p.grad.clone() for p in attachment.model.parameters()]
    return made


@case
def states_in_checkpoints() -> None:
    """What top-k leaves behind is each rank's own. Distributed checkpoints, and files loaded as plain data."""
    import torch.distributed.checkpoint as dcp
    from torch_support import common_folder
    expected = _gradients(_trained("topk:0.1"), range(8))
    for form in ("distributed", "plain"):
        first, second = _trained("topk:0.1"), _trained("topk:0.1")
        _gradients(first, range(4))
        folder = common_folder()
        if form == "distributed":
            dcp.save({"model": first.model.state_dict(), "dsop": first}, checkpoint_id=folder)  # type: ignore[attr-defined]
            dcp.load({"model": second.model.state_dict(), "dsop": second}, checkpoint_id=folder)  # type: ignore[attr-defined]
        else:
            torch.save(first.state_dict(), f"{folder}/{COMM.rank}")
            second.load_state_dict(torch.load(f"{folder}/{COMM.rank}", weights_only=True))
        resumed = _gradients(second, range(4, 8))
        assert all(map(torch.equal, resumed, expected[8:])), form


@case
def hooks_in_checkpoints() -> None:
    import torch.distributed.checkpoint as dcp
    from torch_support import common_folder

    def made() -> tuple[Any, dsop.torch.TopKHook]:
        model: Any = nn.parallel.DistributedDataParallel(mlp())
        hook = dsop.torch.TopKHook("topk:0.2")
        model.register_comm_hook(hook, dsop.torch.topk_hook)
        return model, hook

    def gradients(model: Any, steps: range) -> list[Tensor]:
        found = []
        for number in steps:
            model.zero_grad()
            on_rows(lambda rank: 2 + number)(model, COMM.rank).backward()
            found += [p.grad.clone() for p in model.parameters()]
        return found
    expected = gradients(made()[0], range(4))
    model, hook = made()
    gradients(model, range(2))
    folder = common_folder()
    dcp.save({"dsop": hook}, checkpoint_id=folder)
    resumed, other = made()
    gradients(resumed, range(1))  # it then has parameters, and so names for what is loaded
    dcp.load({"dsop": other}, checkpoint_id=folder)
    assert all(map(torch.equal, gradients(resumed, range(2, 4)), expected[len(expected) // 2:]))


run()
