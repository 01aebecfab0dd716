"""What travels while backward goes on."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from dsop._synchronizer import policy_selects
from dsop.torch._entries import Entries
from dsop.torch._joint import Sum, Unit
from dsop.torch._parameter import Parameter
from dsop.torch._summand import Way

Order = list[tuple[Unit, Way]]


class Early:
    """Hands gradients over in an order that all ranks have agreed on, each as soon as it is complete.

    A rank that is ahead of the order holds back; what it does not have until the end counts as 0. What does not fit
    into what was agreed is left to those who sum the rest.
    """

    def __init__(self, parameters: Iterable[Parameter], entries: Entries, average: str) -> None:
        self._entries, self._average = entries, average
        self._synchronizer = next(iter(entries.synchronizers.values()))  # that of most elements
        # One that selects must know the scale before; of samples, ranks know the sum at the end alone.
        self._may = {p.name for p in parameters
                     if entries.synchronizer(p) is self._synchronizer and not p.has_sparse_grad
                     and not (average == "samples" and policy_selects(p.policy))}
        self.order: Order = []  # the same on all ranks
        self._clear()

    def _clear(self) -> None:
        self._has_begun = self._has_failed = False
        self._ready: set[Parameter] = set()
        self._sums: list[Sum] = []

    @property
    def waits_for_end(self) -> bool:
        """Whether what was handed over in the last step travelled at its end, as no thread may send beside the program."""
        return "everything runs in finish()" in self._synchronizer.describe()

    def may_have(self, p: Unit) -> bool:
        """Whether it may stand in `order`."""
        return all(part.name in self._may for part in p.parts)

    def _begin(self) -> None:
        if not self._has_begun:
            self._entries.begin_step()
            self._synchronizer.begin(scale=1 / self._entries.comm.size if self._average == "ranks" else 1.0)
            self._has_begun = True

    def offer(self, parameters: Iterable[Parameter]) -> None:
        """Their gradients are complete. Never waits."""
        self._ready.update(parameters)
        while (len(self._sums) < len(self.order) and not self._has_failed
               and self._ready.issuperset(self.order[len(self._sums)][0].parts)):
            self._give_next()

    def _give_next(self) -> None:
        p, way = self.order[len(self._sums)]
        self._begin()
        left = None
        try:
            if len(p.parts) > 1:
                p.collect(self._entries.most_pairs(p, way))
            if not self._entries.takes(p, way):
                left = p.factors, p.dense
                p.forget()
            p.note_given()
            self._sums.append((p, self._entries.give(p, way)))
        except Exception as error:
            self.fail(str(error))
        if left:
            p.factors, p.dense = left

    def fail(self, error: str) -> None:
        """Give up this step, on all ranks. Never waits."""
        if not self._has_failed:
            self._has_failed = True
            self._begin()
            self._synchronizer.fail(error)

    def finish(self) -> list[Sum]:
        """Return the sums when they are complete.

        Raises ArgumentError on all ranks where one of them has called fail().
        """
        try:
            self._begin()
            while len(self._sums) < len(self.order) and not self._has_failed:
                self._give_next()
            self._synchronizer.finish()
            return self._sums
        finally:
            self._clear()
