"""All that this package uses of PyTorch's private parts, as tried with torch 1.13.1."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

_engine: Any = torch.autograd.Variable._execution_engine


def at_end_of_backward(call: Callable[[], None]) -> Callable[[], bool]:
    """Have `call` made when the backward pass that runs is over; what it raises comes out of backward().

    Returns whether that is still to come, as a function: no more so where the pass ended in an exception.
    """
    def end() -> None:
        call()
    alive = weakref.ref(end)  # the engine alone keeps it, and drops it with the pass
    _engine.queue_callback(end)
    return lambda: alive() is not None


class Watch:
    """Calls `before` when a gradient is about to be added to a parameter's .grad, `after` when it is complete.

    With None as gradient, `after` alone is called. autograd.grad() never calls `after`.
    """

    def __init__(self, parameter: torch.nn.Parameter, before: Callable[[], None], after: Callable[[], None]) -> None:
        # The engine's node for this leaf. It lives as long as somebody holds it.
        self._node: Any = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        self._handles: list[Any] = [parameter.register_hook(lambda _: before()),  # type: ignore[no-untyped-call]
                                    self._node.register_hook(lambda *_: after())]

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
