"""Cases of torch_program.py: dsop.torch.TopKHook in DistributedDataParallel over Gloo."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import dsop
import dsop.torch
from torch_support import COMM, case, mlp, plain_sum, raises_everywhere, same_everywhere, whole


def ddp(model: Any, **form: bool) -> Any:
    """With a bucket for each few parameters, made anew after the first step."""
    return DistributedDataParallel(model, bucket_cap_mb=1e-4, **form)


def hooked(policy: str, model: Any = None, **form: bool) -> tuple[Any, dsop.torch.TopKHook]:
    made, hook = ddp(mlp() if model is None else model, **form), dsop.torch.TopKHook(policy)
    hook.register(made)
    return made, hook


def train(model: Any, steps: range, dtype: Any = torch.float32) -> list[Tensor]:
    """The gradients of all steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    gradients = []
    for step in steps:
        optimizer.zero_grad()
        model(whole(COMM.rank, 3, 5, seed=step, dtype=dtype)).pow(2).mean().backward()
        gradients += [parameter.grad.clone() for parameter in model.parameters()]
        optimizer.step()
    return gradients


def equal(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return len(ours) == len(theirs) and all(map(torch.equal, ours, theirs))


@case
def all_elements_are_the_mean() -> None:
    def loss(model: Any, rank: int) -> Any:
        return model(whole(rank, 4, 5)).pow(2).sum() * COMM.size  # so that the mean is whole
    expected = plain_sum(mlp(), loss)
    model, _ = hooked("topk:1")
    for _ in range(3):
        model.zero_grad()
        loss(model, COMM.rank).backward()
        for parameter, total in zip(model.parameters(), expected):
            assert torch.allclose(parameter.grad, total / COMM.size, rtol=1e-6)
            assert COMM.size == 3 or torch.equal(parameter.grad, total / COMM.size)
        same_everywhere([parameter.grad for parameter in model.parameters()])


@case
def like_attach() -> None:
    """Bit by bit over steps, so what stays behind is each parameter's own, whatever bucket it is in."""
    for policy in ("topk:0.2", "ok-topk:0.2"):
        for dtype in (torch.float32, torch.float64):
            attached = mlp(dtype)
            dsop.torch.attach(attached, policies={"*": policy})
            model, _ = hooked(policy, mlp(dtype))
            gradients = train(model, range(6), dtype)
            assert equal(gradients, train(attached, range(6), dtype))
            assert any((gradient == 0).any() for gradient in gradients)


@case
def forms_of_ddp() -> None:
    attached = mlp()
    dsop.torch.attach(attached, policies={"*": "topk:0.2"})
    expected = train(attached, range(4))
    for form in ("gradient_as_bucket_view", "find_unused_parameters", "static_graph"):
        model, _ = hooked("topk:0.2", **{form: True})
        assert equal(train(model, range(4)), expected), form


@case
def nothing_is_left_behind_after_a_reset() -> None:
    model, hook = hooked("topk:0.2")
    train(model, range(3))
    hook.reset_residuals()
    like_it = mlp()
    like_it.load_state_dict(model.module.state_dict())
    fresh, _ = hooked("topk:0.2", like_it)
    assert equal(train(model, range(3, 5)), train(fresh, range(3, 5)))


@case
def sends_less() -> None:
    counting = COMM.counting()
    model: Any = ddp(nn.Linear(200, 100))
    dsop.torch.TopKHook("topk:0.01", counting).register(model)
    model(whole(COMM.rank, 8, 200)).sum().backward()
    assert counting.traffic()["payload_bytes"] < 4 * 200 * 100 // 4


@case
def resumed_run_of_hooks() -> None:
    whole_run, _ = hooked("ok-topk:0.2")
    gradients = train(whole_run, range(8))
    first, hook = hooked("ok-topk:0.2")
    train(first, range(4))
    second, resumed = hooked("ok-topk:0.2")
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(hook.state_dict())
    assert equal(train(second, range(4, 8)), gradients[len(gradients) // 2:])


def by_pair(policy: str, state: Any = None) -> tuple[Any, dsop.torch.TopKHook]:
    """As Lightning registers it: the hook is never told the model."""
    made, hook = ddp(mlp()), dsop.torch.TopKHook(policy)
    if state is not None:
        hook.load_state_dict(state)
    made.register_comm_hook(hook, dsop.torch.topk_hook)
    return made, hook


@case
def state_and_hook_as_a_pair() -> None:
    """The same bits, also resumed, and with parameters in buckets of another size."""
    model, _ = hooked("ok-topk:0.2")
    expected = train(model, range(8))
    first, hook = by_pair("ok-topk:0.2")
    assert equal(train(first, range(4)), expected[:len(expected) // 2])
    assert "torch.float32 0 " in hook.describe(), hook.describe()
    state = hook.state_dict()
    second, _ = by_pair("ok-topk:0.2", state)
    second.load_state_dict(first.state_dict())
    assert equal(train(second, range(4, 8)), expected[len(expected) // 2:])
    one_bucket: Any = DistributedDataParallel(mlp())
    other = dsop.torch.TopKHook("ok-topk:0.2")
    other.load_state_dict(state)
    one_bucket.register_comm_hook(other, dsop.torch.topk_hook)
    one_bucket.load_state_dict(first.state_dict())
    assert equal(train(one_bucket, range(4, 8)), expected[len(expected) // 2:])


@case
def accumulation_and_frozen() -> None:
    model = mlp()
    model[2].requires_grad_(False)
    attached = mlp()
    attached[2].requires_grad_(False)
    made, hook = hooked("topk:0.5", model)
    attachment = dsop.torch.attach(attached, policies={"*": "topk:0.5"})
    for either, own in ((made, made), (attached, attachment)):
        with own.no_sync():
            either(whole(COMM.rank, 3, 5)).sum().backward()
        either(whole(COMM.rank, 2, 5)).sum().backward()
    for ours, theirs in zip(model.parameters(), attached.parameters()):
        assert ours.grad is theirs.grad is None or torch.equal(ours.grad, theirs.grad)
    assert "2.weight" not in hook.describe() and "4.weight" in hook.describe()


@case
def parameters_that_ddp_ignores() -> None:
    model, attached = mlp(), mlp()
    attached[2].requires_grad_(False)
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, ["2.weight", "2.bias"])
    dsop.torch.attach(attached, policies={"*": "topk:0.5"})
    made, hook = hooked("topk:0.5", model)
    for either in (made, attached):
        either(whole(COMM.rank, 3, 5)).sum().backward()
    for (name, ours), theirs in zip(model.named_parameters(), attached.parameters()):
        assert name.startswith("2.") or torch.equal(ours.grad, theirs.grad), name
    assert "2.weight" not in hook.describe() and "4.weight" in hook.describe()


@case
def bad_input_of_hooks() -> None:
    last = COMM.rank == COMM.size - 1
    raises_everywhere("model is Sequential, expected a DistributedDataParallel",
                      lambda: dsop.torch.TopKHook("topk:0.1").register(mlp()))
    raises_everywhere("nonsense", lambda: hooked("nonsense"))
    raises_everywhere("topk:2", lambda: hooked("topk:2"))
    model, hook = hooked("topk:0.1")
    raises_everywhere("has a model already", lambda: hook.register(model))
    raises_everywhere("is of nothing, expected torch.float32", lambda: hook.load_state_dict({}))
    early = dsop.torch.TopKHook("topk:0.1")
    early.load_state_dict({"torch.float64": b""})
    raises_everywhere("is of torch.float64, expected torch.float32", lambda: early.register(ddp(mlp())))
    if COMM.size > 1:
        raises_everywhere(f"model on rank {COMM.size - 1} has policy topk:0.2, expected rank 0's policy topk:0.1",
                          lambda: hooked("topk:0.2" if last else "topk:0.1"))
    half = ddp(mlp(torch.float16))
    raises_everywhere("weight is torch.float16", lambda: dsop.torch.TopKHook("topk:0.1").register(half))
