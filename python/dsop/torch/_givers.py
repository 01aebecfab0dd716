"""Modules that hand over factors of their weights' gradients, so that autograd makes no gradient of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor, nn

from dsop.torch._autograd import is_traced

Keep = Callable[[Tensor, Tensor, Any], None]
"""keep(a, b, node): the gradient, which the engine's `node` completes, grows by a^T b.

a is pairs x rows, or a vector of as many row numbers (int64), which stand for rows of a unit matrix; b is pairs x
columns. Nobody changes them afterwards.
"""

Keeper = Callable[[Tensor], Optional[Keep]]
"""keeper(weight) is where the weight's factors go, None where autograd shall make its gradient."""


def gives_none() -> bool:
    """Whether nobody wants gradients, or the program is recorded: what is saved can't call Python's functions."""
    return not torch.is_grad_enabled() or is_traced()


def is_plain(input: Any) -> bool:
    """Whether it is a matrix, or several: no list, nor sparse or nested."""
    return isinstance(input, Tensor) and input.layout == torch.strided and not input.is_nested


class Giver(NamedTuple):
    """What attach() does with modules of one type."""

    attached_type: type[nn.Module]  # theirs while they are attached; it finds the keeper in self._dsop_keeper
    weights: Callable[[Any], Sequence[Sequence[Tensor]]]  # together those of which it hands over the same a
    why_dense: Callable[[Any], str] = lambda module: ""  # not empty: this module is left alone
    unit_rows: bool = False  # a is always a vector of row numbers
    bias: Callable[[Any], Optional[Tensor]] = lambda module: None  # whose gradient are the column sums of its only a


def _new(kind: type[nn.Module]) -> nn.Module:
    return kind.__new__(kind)


class Attached:
    """What attached types begin with: a copy of an attached module, pickled or deep, is an ordinary one."""

    _dsop_keeper: Keeper
    _dsop_type: type[nn.Module]

    def __reduce_ex__(self, _: Any) -> Any:
        return _new, (self._dsop_type,), {name: value for name, value in self.__dict__.items()
                                          if name != "_dsop_keeper"}


GIVERS: dict[type[nn.Module], Giver] = {}


def take_over(module: nn.Module, keeper: Keeper) -> None:
    """Have the module, of a type in GIVERS, hand its factors to `keeper`."""
    object.__setattr__(module, "_dsop_keeper", keeper)
    module.__class__ = GIVERS[type(module)].attached_type


def give_back(module: nn.Module, kind: type[nn.Module]) -> None:
    """Make it the ordinary module of type `kind` that it was."""
    module.__class__ = kind
    del module.__dict__["_dsop_keeper"]


def weights_of(module: nn.Module) -> Sequence[Tensor]:
    """Those of which the module, of exactly a type in GIVERS, can hand over factors."""
    return [weight for together in groups_of(module) for weight in together]


def groups_of(module: nn.Module) -> Sequence[Sequence[Tensor]]:
    """The same, together those of which it hands over the same a."""
    giver = GIVERS.get(type(module))
    return giver.weights(module) if giver and not giver.why_dense(module) else []


def bias_of(module: nn.Module) -> Optional[Tensor]:
    """Whose gradient are the column sums of the a that the module, of a type in GIVERS, hands over; None: there is none."""
    giver = GIVERS.get(type(module))
    return giver.bias(module) if giver else None
