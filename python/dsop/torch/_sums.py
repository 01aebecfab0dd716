"""One step's exchange: what is ready travels while backward goes on, ranks agree on what is left, and sum it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

import dsop
from dsop._arrays import Array
from dsop._communicators import SaidToAll
from dsop.torch import _failures, _record
from dsop.torch._early import Early, Order
from dsop.torch._entries import Entries
from dsop.torch._joint import Joint, Sum, Unit
from dsop.torch._parameter import Parameter
from dsop.torch._ranks import broadcast_bytes, own_state
from dsop.torch._summand import Way


class Arrivals(NamedTuple):
    """How many seconds after the first each rank came to the end of backward()."""

    last: list[float]  # by rank; of the last step that all ranks know of, which is the one before the last
    mean: list[float]  # of all of them


def _as_here(unit: Unit, way: Way) -> Order:
    """What travels in place of a unit of a state: a weight with its bias may have been of attach() with another average."""
    if len(unit.parts) == 1 or all(part.gives_factors for part in unit.parts):
        return [(unit, way)]
    return [(part, way if part.gives_factors else Way.DENSE) for part in unit.parts]


class Sums:
    """Sums parameters' gradients over ranks, step by step."""

    def __init__(self, parameters: Sequence[Parameter], joints: Sequence[Joint], comm: dsop.Communicator,
                 average: str, find_nans: bool) -> None:
        self.comm, self._parameters, self._joints = comm, parameters, joints
        self._average, self._find_nans = average, find_nans
        self.entries = Entries(parameters, joints, comm, find_nans)
        self._early = Early(parameters, self.entries, average)
        self._place = {p.name: place for place, p in enumerate(parameters)}
        self._ready: list[int] = []  # places of those that are complete, in this order
        self._planned_by: Any = None  # what ranks said of the last step, where one that says the same changes nothing
        self._unsteady: set[str] = set()  # no rank had one when it was to travel early, or more came: it won't again
        self.has_failed = False  # fail() was called, of which not all ranks may have heard
        self._waited_seconds = 0.0
        self._steps_known = 0  # to all ranks, of which rank r came so late:
        self._late_seconds, self._all_late_seconds = np.zeros(comm.size), np.zeros(comm.size)

    def offer(self, parameters: Sequence[Parameter]) -> None:
        """Their gradients are complete in the backward pass that runs, in this order. Never waits."""
        self._ready += [self._place[p.name] for p in parameters]
        self._early.offer(parameters)

    def is_early(self, p: Parameter) -> bool:
        """Whether it travels while backward goes on, in the next step."""
        return any(part is p for unit, _ in self._early.order for part in unit.parts)

    @property
    def waits_for_end(self) -> bool:
        """Whether what travels early waits, on these ranks, until backward has ended."""
        return self._early.waits_for_end

    @property
    def last_ready(self) -> str:
        return self._parameters[self._ready[-1]].name if self._ready else ""

    def fail(self, error: str) -> None:
        """Give up this step, on all ranks: their run() raises `error`. Never waits; settle() does."""
        self.has_failed = True  # first: it is what settle() goes by
        self._early.fail(error.encode(errors="replace").decode())  # names of files may be no text

    def settle(self) -> None:
        """Return when all ranks have heard of what fail() has told."""
        if self.has_failed:
            with contextlib.suppress(dsop.ArgumentError), _failures.listening(self.comm):
                self._finish_early()

    def _finish_early(self) -> list[Sum]:
        self.has_failed = False
        try:
            return self._early.finish()
        except BaseException:
            self._ready = []
            raise

    def run(self, samples: float, has_changed: bool) -> bool:
        """Complete .grad of all parameters of which some rank has a gradient. Whether has_changed holds on any."""
        start = time.perf_counter()
        sums = self._finish_early()
        ready, self._ready = self._ready, []
        with SaidToAll(self.comm):
            agreed = _record.agree(self._parameters, self._joints, samples, has_changed, self._waited_seconds, self.comm)
        self._waited_seconds = time.perf_counter() - start
        self._note_arrivals(agreed.waited_seconds)
        of_samples = 1 / agreed.samples if agreed.samples > 0 else 0.0  # no rank had any
        early = [unit for unit, _ in sums]
        rest = self._sum_rest(agreed, early, {"ranks": 1 / self.comm.size, "sum": 1.0, "samples": of_samples}[self._average])
        parts = [part for unit, totals in sums for part in unit.split(totals)]
        if self._average == "samples":
            for _, total in parts:
                total *= of_samples
        parts += [part for unit, totals in rest for part in unit.split(totals)]
        has = agreed.has.tolist()
        for p, total in parts:
            if has[self._place[p.name]] or total.any():  # from a residual
                p.add_to_grad(total)
        for p in self._parameters:
            p.end_step()
        self._plan(agreed, early, ready)
        return agreed.has_changed

    def arrivals(self) -> Arrivals:
        return Arrivals(self._late_seconds.tolist(), (self._all_late_seconds / max(self._steps_known, 1)).tolist())

    def _note_arrivals(self, waited_seconds: Array) -> None:
        if waited_seconds.any():  # not in the first step
            self._steps_known += 1
            self._late_seconds = waited_seconds.max() - waited_seconds  # who came last has waited least
            self._all_late_seconds = self._all_late_seconds + self._late_seconds

    def _way(self, p: Parameter, agreed: _record.Agreed) -> Way:
        place = self._place[p.name]
        if agreed.dense[place] or not (p.gives_factors or p.has_sparse_grad):
            return Way.DENSE
        return Way.FACTORS if agreed.wide[place] or not p.may_be_in_16_bits else Way.FACTORS_IN_16_BITS

    def _places(self, unit: Unit) -> list[int]:
        return [self._place[part.name] for part in unit.parts]

    def _ways(self, agreed: _record.Agreed, which: Array, apart: Iterable[float]) -> Order:
        """What travels of the parameters for which `which` is not 0, last layers first, as backpropagation would give them.

        The two of a joint travel as one where ranks have only factors of them, unless `apart` is not 0 for it.
        """
        ways = {place: self._way(p, agreed) for place, p in enumerate(self._parameters) if which[place]}
        units: list[Unit] = [self._parameters[place] for place in ways]
        for joint, is_apart in zip(self._joints, apart):
            kinds = {ways.get(place, Way.DENSE) for place in self._places(joint)}
            if not is_apart and len(kinds) == 1 and Way.DENSE not in kinds:
                units = [unit for unit in units if unit not in joint.parts] + [joint]
        units.sort(key=lambda unit: -max(self._places(unit)))
        return [(unit, Way.DENSE if unit.is_bias else ways[self._places(unit)[0]]) for unit in units]

    def _sum_rest(self, agreed: _record.Agreed, early: Sequence[Unit], scale: float) -> list[Sum]:
        if not agreed.is_left.any():
            return []
        rest = self._ways(agreed, agreed.is_left, agreed.apart)
        self.entries.note_algorithms(early)
        with SaidToAll(self.comm):
            for unit, _ in rest:
                unit.collect()
        by_factors = [(unit, way) for unit, way in rest if way != Way.DENSE]
        if by_factors:
            pairs = _record.most_pairs([unit for unit, _ in by_factors], self.comm)
            for (unit, way), most in zip(by_factors, pairs):
                self.entries.make_room(unit, most, way)
        sums: list[Sum] = []
        for synchronizer in self.entries.synchronizers.values():
            ours = [(unit, way) for unit, way in rest if self.entries.synchronizer(unit) is synchronizer]
            by_rows = [unit for unit, way in ours if way != Way.DENSE and unit.has_sparse_grad]
            sums += [(unit, self.entries.sum_rows(unit, scale)) for unit in by_rows]
            ours = [(unit, way) for unit, way in ours if unit not in by_rows]
            sums += self._sum(synchronizer, ours, scale) if ours else []
        return sums

    def _sum(self, synchronizer: dsop.Synchronizer, given: Order, scale: float) -> list[Sum]:
        sums = []
        synchronizer.begin(scale=scale)
        try:
            sums = [(p, self.entries.give(p, way)) for p, way in given]
        except Exception as error:
            synchronizer.fail(str(error))
        synchronizer.finish()
        return sums

    def _plan(self, agreed: _record.Agreed, early: Sequence[Unit], ready: Sequence[int]) -> None:
        """What travels early in the next step: what travelled in this one, in rank 0's order."""
        said = self.entries.registrations, agreed.of_parameters
        if said == self._planned_by:
            return
        self._planned_by = None
        for p in self._parameters:
            if not p.stays:
                p.used_elsewhere = bool(p.gives_factors and agreed.dense[self._place[p.name]])
        for unit in early:
            places = self._places(unit)
            if not any(agreed.has[place] for place in places) or any(agreed.in_parts[place] for place in places):
                self._unsteady.add(unit.name)
        found = [(unit, way) for unit, way in self._ways(agreed, agreed.has, agreed.apart + agreed.single)
                 if self._early.may_have(unit) and unit.name not in self._unsteady]
        if dict(found) == dict(self._early.order):
            self._planned_by = said
            return
        for unit, way in found:
            self._make_early_room(unit, way)
        first = {place: turn for turn, place in reversed(list(enumerate(ready)))}
        last = len(ready) + len(self._parameters)
        turns = _record.of_rank_0([first.get(place, last - place) for place in range(len(self._parameters))],
                                  self.comm)
        self._early.order = sorted(found, key=lambda one: max(turns[place] for place in self._places(one[0])))

    def _make_early_room(self, unit: Unit, way: Way) -> None:
        """What has travelled in another way will need as much."""
        if way != Way.DENSE:
            joints = [joint for joint in self._joints if set(joint.parts) & set(unit.parts)]
            others: list[Unit] = [unit, *unit.parts, *joints]
            self.entries.make_room(unit, max(self.entries.most_pairs(other, Way.FACTORS) for other in others), way)

    def state_dict(self) -> dict[str, Any]:
        own = {"order": [(unit.name, int(way)) for unit, way in self._early.order],
               "unsteady": sorted(self._unsteady), **self.entries.state_dict()}
        return {f"dsop/rank{self.comm.rank}": own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """On all ranks. Raises ArgumentError on all where a rank's is of other parameters, or of another step."""
        with SaidToAll(self.comm):
            state = own_state(state, self.comm)
            try:
                order = [one for name, way in state["order"] for one in _as_here(self.entries.unit(name), Way(way))]
                unsteady, is_ours = set(state["unsteady"]), self.entries.are_in(state)
                alike = repr([[(unit.name, way) for unit, way in order], sorted(unsteady),
                              self.entries.most_pairs_in(state)]).encode()
            except (AttributeError, LookupError, TypeError, ValueError):
                is_ours = False
            if not is_ours:
                raise dsop.ArgumentError(f"state on rank {self.comm.rank} is of another model, expected one of this")
        first = broadcast_bytes(alike, self.comm)
        with SaidToAll(self.comm):
            if alike != first:
                raise dsop.ArgumentError(f"state on rank {self.comm.rank} is of another step than rank 0's, expected those "
                                         "of one step on all ranks")
        self._ready, self._planned_by = [], None
        entries = Entries(self._parameters, self._joints, self.comm, self._find_nans)  # with as many as the state has
        entries.load_state_dict(state)
        self.entries = entries
        self._early = Early(self._parameters, entries, self._average)
        self._unsteady, self._early.order = unsteady, order
