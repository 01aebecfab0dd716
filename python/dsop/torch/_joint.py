"""Two parameters that travel as one, because their gradients have a factor in common: the errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Union

import torch
from torch import Tensor

from dsop.torch._parameter import Parameter
from dsop.torch._room import Room
from dsop.torch._summand import Summand

_MOVED_ROWS = 64  # at once

Factors = list[tuple[Tensor, Tensor]]


class Joint(Summand):
    """Two gradients side by side: a^T [b, c], of which a^T b is the first weight's and a^T c the second's.

    Those of an LSTM's layer: a is the errors of its gates, b its inputs and c its hidden states. The errors then travel
    once. A step in which a rank has anything else sums the two each by itself.
    """

    def __init__(self, first: Parameter, second: Parameter, columns: int) -> None:
        super().__init__(f"{first.name}+{second.name}", torch.Size((first.shape[0], columns)), first.dtype, first.policy)
        self.parts = first, second
        self.gives_factors = True
        for part in self.parts:
            part.most_kept_in_joint, part.most_unmultiplied_in_joint = self.most_kept_pairs, self.most_unmultiplied

    @property
    def is_apart(self) -> bool:
        """Whether the two have nothing but factors, and not of the same a."""
        first, second = self.parts
        if first.is_dense or second.is_dense:
            return False
        return [a.data_ptr() for a, _ in first.factors] != [a.data_ptr() for a, _ in second.factors]

    def collect(self, most_pairs: float = math.inf) -> None:
        """Take what the two have, unless that is more pairs, or can't be said so."""
        first, second = self.parts
        self.factors = []
        if first.is_dense or second.is_dense or self.is_apart or first.pairs > most_pairs:
            return
        self.factors = self._joined(first.factors, second.factors)
        for part in self.parts:
            part.forget()

    def _joined(self, first: Factors, second: Factors) -> Factors:
        return [(a, torch.cat((b, c), 1)) for (a, b), (_, c) in zip(first, second)]

    def note_given(self) -> None:
        """What it has now is handed over, and more may come in this step."""
        for part in self.parts:
            part.is_given = part.is_given or self.has_gradient
            part.was_wide = part.was_wide or self.is_wide

    def split(self, totals: Sequence[Tensor]) -> Iterable[tuple[Parameter, Tensor]]:
        """What the sum over ranks is of each of the two; where both become .grad, one behind the other in its memory."""
        total, = totals
        sums = list(zip(self.parts, torch.split(total, [part.shape[1] for part in self.parts], 1)))
        if any(part.parameter.grad is not None or part.parameter.dtype != total.dtype for part in self.parts):
            return sums
        (wide, of_wide), (narrow, of_narrow) = sorted(sums, key=lambda one: -one[0].shape[1])
        kept = of_narrow.clone()
        front, back = torch.split(total.view(-1), [of_wide.numel(), of_narrow.numel()])
        places = torch.split(front.view(wide.shape), _MOVED_ROWS)
        for place, rows in zip(places, torch.split(of_wide, _MOVED_ROWS)):
            place.copy_(rows.clone())  # rows move towards the front, and may overlap with where they were
        return [(wide, front.view(wide.shape)), (narrow, back.view(narrow.shape).copy_(kept))]


class WithBias(Joint):
    """A weight's gradient a^T b, and its bias's, the column sums of a, for which no byte travels.

    The bias has factors too, of the same a and ones.
    """

    def __init__(self, weight: Parameter, bias: Parameter) -> None:
        super().__init__(weight, bias, weight.shape[1])
        self.weight, self.bias = weight, bias
        self.entry_name, self.room = weight.name, weight.room
        self._room_of_bias = Room(bias.parameter.shape, bias.dtype)
        bias.offered_bytes = weight.offered_bytes

    @property
    def is_finite(self) -> bool:
        return super().is_finite and bool(self.column_sums().isfinite().all())

    def column_sums(self) -> Tensor:
        """Of this rank's errors, in new memory."""
        self.factors = [self.as_pair()]
        return torch.sum(self.factors[0][0], 0, out=self._room_of_bias.take())

    def _joined(self, first: Factors, second: Factors) -> Factors:
        return first

    def split(self, totals: Sequence[Tensor]) -> Iterable[tuple[Parameter, Tensor]]:
        return zip(self.parts, totals)


Unit = Union[Parameter, Joint]
"""What travels as one: it has `parts`, of which collect() takes what they have and split() gives each its sum."""

Sum = tuple[Unit, tuple[Tensor, ...]]


def joints_of(groups: Iterable[tuple[Parameter, ...]], biases: Sequence[tuple[Parameter, Parameter]]) -> list[Joint]:
    """What may travel as one, of parameters whose factors are handed over by modules.

    That is of `groups` those that have a in common, and of `biases` a weight with its bias.
    """
    found = list(dict.fromkeys(groups))
    times = Counter(p for group in found for p in group)  # more than once: tied
    joints = [Joint(group[0], group[1], group[0].shape[1] + group[1].shape[1]) for group in found
              if len(group) == 2 and all(p.gives_factors and times[p] == 1 for p in group)
              and len({p.policy for p in group}) == 1]
    times = Counter(p for pair in biases for p in pair)
    for weight, bias in biases:
        if (weight.gives_factors and weight.policy == "dsop" and bias.is_by_default and times[weight] == times[bias] == 1
                and weight.parameter.dtype == weight.dtype == bias.parameter.dtype):
            bias.become_bias()
            joints.append(WithBias(weight, bias))
    return joints
