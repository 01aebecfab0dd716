"""All that this package uses of PyTorch's private parts, as tried with torch 1.13.1 and 2.13.0."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any, Optional

import torch
from torch import Tensor, nn

import dsop
from dsop.torch._compat import call_opaquely, early_hooks

_engine: Any = torch.autograd.Variable._execution_engine
# (factor, s, grad_input=out): out = factor s (1 - s), and (factor, t, grad_input=out): out = factor (1 - t^2), in one pass.
_aten: Any = torch.ops.aten  # type: ignore[attr-defined]
of_sigmoid, of_tanh = _aten.sigmoid_backward.grad_input, _aten.tanh_backward.grad_input


def at_end_of_backward(call: Callable[[], None], dropped: Callable[[], None]) -> None:
    """Have `call` made when the backward pass that runs is over; what it raises comes out of backward().

    Where the pass ends in an exception, `dropped` is called instead, before the exception comes out.
    """
    def end() -> None:
        watch.detach()
        call()
    watch = weakref.finalize(end, dropped)  # the engine alone keeps `end`, and drops it with the pass
    watch.atexit = False
    _engine.queue_callback(partial(call_opaquely, end))


_number_of_pass: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: -1)  # 1.13 has none


class _Calls(list[Callable[[], object]]):
    """What is to be called at the end of the pass of that number, by the engine, which alone keeps it."""

    number = -1

    def make(self) -> None:
        for call in self:
            call()


_latest: Callable[[], Optional[_Calls]] = lambda: None


def at_end_of_pass(call: Callable[[], object]) -> None:
    """Have `call` made when the innermost backward pass that runs, or autograd.grad(), is over."""
    global _latest
    calls, number = _latest(), _number_of_pass()
    if calls is None or number < 0 or calls.number != number:
        calls = _Calls()
        calls.number, _latest = number, weakref.ref(calls)
        _engine.queue_callback(partial(call_opaquely, calls.make))
    calls.append(call)


_will_execute: Callable[[Any], bool] = getattr(torch._C, "_will_engine_execute_node", lambda _: False)


def accumulates(node: Any) -> bool:
    """Whether the pass that runs adds to .grad of the leaf whose node that is: no autograd.grad(), nor for other leaves."""
    try:
        return _will_execute(node)
    except RuntimeError:  # so it says that autograd.grad() is asked for this leaf
        return False


def node_of_input(node: Any, number: int) -> Any:
    """Of the tensors that were the inputs of a function, the node of one; `node` is the function's, or its ctx."""
    return node.next_functions[number][0]


def check_no_early_hook(name: str, parameter: Any) -> None:
    """Raise ArgumentError where the program has a hook, as an optimizer in backward, that sees .grad before it is the sum."""
    if early_hooks(parameter):
        raise dsop.ArgumentError(f"{name} has a hook of register_post_accumulate_grad_hook(), which would see this rank's "
                                 "gradient alone, expected none: remove it, and step when backward() has returned")


class Watch:
    """Calls `before` when a gradient is about to be added to a parameter's .grad, `after`, if any, when it is complete.

    With None as gradient, `after` alone is called. autograd.grad() never calls `after`. Where the program has a hook that
    autograd would call between the two, with this rank's gradient in .grad, backward() raises ArgumentError.
    """

    def __init__(self, name: str, parameter: nn.Parameter, before: Callable[[], None],
                 after: Optional[Callable[[], None]]) -> None:
        found = weakref.ref(parameter)  # which holds its hooks

        def on_gradient(grad: Optional[Tensor]) -> None:
            check_no_early_hook(name, found())
            if grad is not None:  # torch 2 calls hooks with None, 1.13 does not
                before()
        # A copy has no hooks, and needs no warning.
        hook: Any = torch.utils.hooks.unserializable_hook(partial(call_opaquely, on_gradient))  # type: ignore[no-untyped-call]
        self._after, self._node = after, None
        needs_grad = parameter.requires_grad
        try:
            parameter.requires_grad_(True)  # for now: one that is frozen may be thawed
            self._handles: list[Any] = [parameter.register_hook(hook)]  # type: ignore[no-untyped-call]
            if after is not None:
                with torch.inference_mode(False), torch.enable_grad():  # type: ignore[no-untyped-call]
                    self.follow(node_of_input(parameter.expand_as(parameter).grad_fn, 0))
        finally:
            parameter.requires_grad_(needs_grad)

    def follow(self, node: Any) -> None:
        """The engine's node for this leaf, which lives as long as it is held; double() and the like make another."""
        if self._after is not None and node is not self._node:
            call, self._node = self._after, node
            self._handles.append(node.register_hook(partial(call_opaquely, lambda *_: call())))

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def is_alone(self, parameter: Tensor) -> bool:
        """Whether the program has no hook of its own on the parameter's gradient."""
        hooks: Any = parameter._backward_hooks
        return hooks is None or len(hooks) == (self._handles[0].id in hooks)


def run_first(model: Any, pre_hook: Any) -> None:
    """Before the program's hooks of forward(), so that what they raise comes out of a pass that has begun."""
    model._forward_pre_hooks.move_to_end(pre_hook.id, last=False)


def run_last(model: Any, pre_hook: Any, hook: Any) -> None:
    """After them: after those that change what forward() is given, and for the same reason. To be called by the first hook of
    each pass, since hooks may have come."""
    for hooks, handle in ((model._forward_pre_hooks, pre_hook), (model._forward_hooks, hook)):
        if handle.id in hooks:
            hooks.move_to_end(handle.id)


def modules_of(model: nn.Module) -> Iterator[nn.Module]:
    """Those of model.modules(), in a third of the time: it makes no names."""
    seen: set[nn.Module] = set()
    left = [model]
    while left:
        module = left.pop()
        if module not in seen:
            seen.add(module)
            left += (child for child in module._modules.values() if child is not None)
            yield module


def parameters_of(model: nn.Module) -> Iterator[nn.Parameter]:
    """Those of model.parameters(), some of them again."""
    for module in modules_of(model):
        yield from (parameter for parameter in module._parameters.values() if parameter is not None)


is_traced: Callable[[], bool] = torch._C._is_tracing  # whether torch.jit.trace() records what is done now


def is_compiled(model: nn.Module) -> bool:
    """Whether torch.compile() made it or a part of it, or its or a part's compile() was called."""
    return any(type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None
               for module in model.modules())


def check_backward_is_not_compiled() -> None:
    """Raise ArgumentError where torch.compile() would compile backward passes too, at whose end nothing can be called."""
    config: Any = sys.modules.get("torch._dynamo.config")
    if getattr(config, "compiled_autograd", False):
        raise dsop.ArgumentError("torch._dynamo.config.compiled_autograd is True, expected False with an attached model")


def _frames(thread: int) -> Iterator[FrameType]:
    """What runs there, and what has called it."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_within_ddp() -> bool:
    """Whether a DistributedDataParallel's forward() runs on this thread."""
    code = nn.parallel.DistributedDataParallel.forward.__code__
    return any(frame.f_code is code for frame in _frames(threading.get_ident()))


def _is_call_of(model: nn.Module, frame: FrameType) -> bool:
    return frame.f_code is nn.Module._call_impl.__code__ and frame.f_locals["self"] is model


def calls_of(model: nn.Module, thread: int) -> int:
    """How often `model` is being called there: once, or within itself."""
    return sum(_is_call_of(model, frame) for frame in _frames(thread))


def is_handled(model: nn.Module) -> bool:
    """Whether this is done in a handler of an exception that a call of `model` has raised."""
    trace = sys.exc_info()[2]
    while trace is not None:
        if _is_call_of(model, trace.tb_frame):
            return True
        trace = trace.tb_next
    return False
