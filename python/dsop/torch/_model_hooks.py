"""What an attached model calls before and after its forward pass, and what else leads to its attachment."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from dsop.torch import _givers
from dsop.torch._autograd import run_first, run_last
from dsop.torch._compat import opaque

_HOLDS = "_dsop_attachment"  # a module's attribute


class Hook:
    """A hook of the model's that copies of the model, deep or pickled, have without effect."""

    def __init__(self, call: Any = None) -> None:
        self._call = call

    @opaque
    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments) if self._call is not None else None

    def __reduce__(self) -> Any:
        return Hook, ()


def tensors_in(output: Any) -> Iterator[Tensor]:
    """Those in what a model returns."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from tensors_in(value)
    elif isinstance(output, (list, tuple)):
        for value in output:
            yield from tensors_in(value)


class Ties:
    """What leads from a model to its attachment, which lives as long."""

    def __init__(self, model: nn.Module, ids: Container[int], enter: Callable[[tuple[Any, ...]], Any],
                 before: Callable[[tuple[Any, ...]], Any], after: Callable[..., None], keeper: _givers.Keeper) -> None:
        """Forward passes call enter(inputs) and before(inputs), before and after the program's hooks that go before them, and
        after() at the end; layers whose weights are among `ids` ask the `keeper`."""
        def first(module: nn.Module, inputs: tuple[Any, ...]) -> Any:
            run_last(module, *self._hooks[1:])
            return enter(inputs)
        self._hooks = [model.register_forward_pre_hook(Hook(first)),
                       model.register_forward_pre_hook(Hook(lambda _, inputs: before(inputs))),
                       model.register_forward_hook(Hook(after))]
        run_first(model, self._hooks[0])
        self._layers = [(m, type(m)) for m in model.modules()
                        if any(id(weight) in ids for weight in _givers.weights_of(m))]
        for layer, _ in self._layers:
            _givers.take_over(layer, keeper)
        # Others of its modules hold it too: the model itself may be a container that nobody keeps.
        self._others = [m for m in model.modules() if m._parameters and not hasattr(m, "_dsop_keeper")]
        for other in self._others:
            object.__setattr__(other, _HOLDS, Hook(keeper))

    def cut(self) -> None:
        for hook in self._hooks:
            hook.remove()
        for layer, kind in self._layers:
            _givers.give_back(layer, kind)
        for other in self._others:
            other.__dict__.pop(_HOLDS, None)
        self._layers, self._others, self._hooks = [], [], []
