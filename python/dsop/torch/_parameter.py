"""What one parameter's gradient is on this rank, from backward passes to the sum over ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

import torch
from torch import Tensor

from dsop.torch._autograd import Watch


class Parameter:
    """A parameter, and this rank's gradient that is still to be summed: dense part + sum of outer products.

    While a backward pass runs, .grad is put aside, so that autograd makes a new one of what this pass alone adds.
    """

    def __init__(self, name: str, parameter: torch.nn.Parameter, policy: str) -> None:
        self.name, self.parameter, self.policy = name, parameter, policy
        self.gives_factors = False  # it is a weight of nn.Linear
        self.why_dense = "no weight of an nn.Linear"
        self.used_elsewhere = False  # some rank's last step had a dense part beside the factors
        self._watch: Optional[Watch] = None
        self._clear()

    def _clear(self) -> None:
        self._fresh: list[tuple[Tensor, Tensor]] = []  # of the backward pass that runs
        self._complete = self._is_aside = False
        self._aside: Optional[Tensor] = None
        self.factors: list[tuple[Tensor, Tensor]] = []  # (k x rows, k x columns) each
        self.dense: Optional[Tensor] = None

    def watch(self, start: Callable[[], None]) -> None:
        """Have `start` called by each backward pass that reaches the parameter."""
        if self._watch is not None or not self.parameter.requires_grad:
            return

        def before() -> None:
            start()
            if not self._is_aside:
                self._aside, self.parameter.grad, self._is_aside = self.parameter.grad, None, True

        def after() -> None:
            start()
            self._complete = True
        self._watch = Watch(self.parameter, before, after)

    def unwatch(self) -> None:
        if self._watch is not None:
            self._watch.remove()

    def keep(self, a: Tensor, b: Tensor) -> None:
        self._fresh.append((a, b))

    def end_backward(self, weight: float) -> bool:
        """Add `weight` times what this backward pass has made to what is to be summed. Whether it made anything."""
        fresh = self._fresh if self._complete else []  # autograd.grad() completes nothing
        made = None
        if self._is_aside:
            made, self.parameter.grad = self.parameter.grad, self._aside
        self._fresh, self._complete, self._is_aside, self._aside = [], False, False, None
        kind = self.parameter.dtype
        self.factors += [((a.to(kind) * weight if weight != 1 else a.to(kind)).contiguous(), b.to(kind).contiguous())
                         for a, b in fresh]
        if made is not None:
            made = made.detach() * weight if weight != 1 else made.detach()
            self.dense = made if self.dense is None else self.dense + made
        return made is not None or bool(fresh)

    @property
    def pairs(self) -> int:
        return sum(a.shape[0] for a, _ in self.factors)

    @property
    def has_gradient(self) -> bool:
        return self.dense is not None or bool(self.factors)

    def keep_over_steps(self) -> None:
        """Copy what the program may change before the next backward pass; too many factors become dense."""
        if self.gives_factors and self.pairs * sum(self.parameter.shape) > self.parameter.numel():
            self.dense, self.factors = self.as_dense(), []
        self.factors = [(a.clone(), b.clone()) for a, b in self.factors]

    def as_factors(self) -> tuple[Tensor, Tensor]:
        if len(self.factors) == 1:
            return self.factors[0]
        a, b = (torch.zeros(0, size, dtype=self.parameter.dtype) for size in self.parameter.shape)
        return torch.cat([a, *(f[0] for f in self.factors)]), torch.cat([b, *(f[1] for f in self.factors)])

    def as_dense(self) -> Tensor:
        """A contiguous tensor that is nobody else's; a dense part alone is that, autograd having made it for .grad."""
        if self.dense is not None and not self.factors:
            return self.dense.contiguous()
        total = torch.zeros(self.parameter.shape, dtype=self.parameter.dtype)
        if self.dense is not None:
            total += self.dense
        for a, b in self.factors:
            total.addmm_(a.t(), b)
        return total

    def add_to_grad(self, total: Tensor) -> None:
        """The sum over ranks goes where .grad was, or becomes .grad. Nothing is left to be summed."""
        self._clear()
        if self.parameter.grad is None:
            self.parameter.grad = total.view_as(self.parameter)
        else:
            with torch.no_grad():
                self.parameter.grad.add_(total.view_as(self.parameter))

    def drop(self) -> None:
        """After a step that failed."""
        self._clear()
        self.parameter.grad = None
