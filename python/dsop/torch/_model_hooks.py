"""What an attached model calls before and after its forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor


class Hook:
    """A hook of the model's that copies of the model, deep or pickled, have without effect."""

    def __init__(self, call: Any = None) -> None:
        self._call = call

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
