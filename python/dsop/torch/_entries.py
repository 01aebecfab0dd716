"""Parameters as dsop knows them: entries of synchronizers, and products of which rows alone are wanted."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor

import dsop
from dsop._communicators import SaidToAll
from dsop._table import Factor, Matrix
from dsop.torch._compat import UNCHECKED
from dsop.torch._joint import Joint, Unit, WithBias
from dsop.torch._parameter import Parameter
from dsop.torch._summand import Summand, Way

_KEYS = {Way.FACTORS: "most_pairs", Way.FACTORS_IN_16_BITS: "most_pairs_in_16_bits"}  # of a state


def _name(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")


def _matrix(tensor: Tensor) -> Matrix:
    rows, columns = tensor.shape
    return Matrix(tensor.data_ptr(), rows, columns, columns)


def _row(tensor: Tensor) -> Matrix:
    columns = tensor.numel()
    return Matrix(tensor.data_ptr(), 1, columns, columns)


def _factor(tensor: Tensor) -> Factor:
    rows, columns = tensor.shape
    return Factor(tensor.data_ptr(), rows, columns, columns)


def _entry(p: Summand, most: int, way: Way) -> str:
    return f"{p.entry_name}#{most}" + "#16" * (way == Way.FACTORS_IN_16_BITS)


def _policy(p: Summand, way: Way) -> str:
    return "dsop-bf16" if way == Way.FACTORS_IN_16_BITS else p.policy


def _of_last_step(table: str) -> str:
    """A synchronizer's table with parameters in place of their entries: those alone that the last step gave."""
    lines = [line for line in table.splitlines(keepends=True) if "not given in the last step" not in line]
    return "".join(re.sub(r"#\d+(#16)?(?=[ ,])", lambda found: " " * len(found[0]), line) for line in lines)


class _Last(NamedTuple):
    """How a step sums a parameter."""

    unit: str = ""  # the parameter's name, or that of two together
    entry: str = ""  # of a synchronizer; empty: rows alone
    way: Way = Way.DENSE
    entry_of_bias: str = ""  # of the two together


def travels_dense(algorithm: str) -> bool:
    """Whether it multiplies a rank's factors and sums gradients."""
    return algorithm.startswith(("allreduce", "pairwise"))


class Entries:
    """Registers parameters, and hands over what they have.

    A synchronizer is promised a most of pairs: where a step has more, the parameter is registered once more. Most 0
    stands for gradients. Factors in 16 bits are entries of their own: steps may change between both.
    """

    def __init__(self, parameters: Sequence[Parameter], joints: Sequence[Joint], comm: dsop.Communicator,
                 find_nans: bool) -> None:
        self.comm, self._find_nans = comm, find_nans
        elements: Counter[torch.dtype] = Counter()
        for p in parameters:
            elements[p.dtype] += p.shape.numel()
        self.synchronizers = {kind: dsop.Synchronizer(_name(kind), comm) for kind, _ in elements.most_common()}
        units: list[Unit] = [*parameters, *joints]
        self._units = {unit.name: unit for unit in units}
        self._most_pairs: dict[Way, dict[str, list[int]]] = {way: {name: [] for name in self._units} for way in _KEYS}
        self.registrations = 0  # so far
        self._rows: dict[str, dsop.OuterProduct] = {}
        self._last: dict[str, _Last] = {}
        self._known: dict[tuple[str, int], _Last] = {}  # by unit and way, of the pairs that it is registered for now
        self._earlier: dict[str, str] = {}  # algorithms of parameters that travelled in this step before the last begin()
        for p in parameters:
            self._register(p, 0, Way.FACTORS)

    @property
    def types(self) -> set[str]:
        """Of parameters, as in a state."""
        return {_name(kind) for kind in self.synchronizers}

    def unit(self, name: str) -> Unit:
        """Raises LookupError."""
        return self._units[name]

    def synchronizer(self, p: Summand) -> dsop.Synchronizer:
        return self.synchronizers[p.dtype]

    def _register(self, p: Summand, most: int, way: Way) -> None:
        self._most_pairs[way][p.name].append(most)
        self._known.pop((p.name, way), None)
        self.registrations += 1
        if isinstance(p, WithBias):
            self._register_bias(p, most, way)
            return
        density = {"density_a": 1 / p.shape[0]} if p.unit_rows else {}
        if most and p.has_sparse_grad:
            rows, columns = p.shape
            self._rows[p.name] = dsop.OuterProduct(rows, columns, most, _name(p.dtype), self.comm, **density)
            return
        shape: Any = tuple(p.shape) if p.is_matrix else p.shape.numel()
        policy = _policy(p, Way.DENSE if way == Way.FACTORS and not most else way)
        self.synchronizer(p).add(_entry(p, most, way), shape, policy, max_pairs=most, **(density if most else {}))

    def _register_bias(self, p: WithBias, most: int, way: Way) -> None:
        if most not in self._most_pairs[way][p.weight.name]:
            self._register(p.weight, most, way)
        self.synchronizer(p).add(_entry(p.bias, most, way), p.bias.shape.numel(), p.policy, errors="a",
                                 bias_of=_entry(p, most, way))

    def most_pairs(self, p: Summand, way: Way) -> int:
        """That a rank may give as factors in one step."""
        known = self._most_pairs[way][p.name] if way != Way.DENSE else []
        return max(known, default=0)

    def takes(self, p: Summand, way: Way) -> bool:
        """Whether what the parameter has can travel so now, whole and exactly."""
        if way == Way.DENSE:
            return True
        is_rounded = way == Way.FACTORS_IN_16_BITS and p.is_wide
        return not p.is_dense and p.pairs <= self.most_pairs(p, way) and not is_rounded

    def make_room(self, p: Summand, pairs: int, way: Way) -> None:
        """For so many on some rank. On all ranks."""
        most = self.most_pairs(p, way)
        pairs = max(pairs, 1) if p.has_sparse_grad or isinstance(p, WithBias) else pairs  # 0 of them have no entry
        if pairs > most or not self._most_pairs[way][p.name]:
            self._register(p, 1 << (pairs - 1).bit_length() if most else pairs, way)

    def give(self, p: Unit, way: Way) -> tuple[Tensor, ...]:
        """Hand over what the parameter has, perhaps nothing; what is returned then becomes its sums over ranks.

        Raises ArgumentError where it has NaN or infinity, if asked to look.
        """
        self._check(p)
        last = self._known.get((p.name, way))
        if last is None:
            most = self.most_pairs(p, way)
            of_bias = _entry(p.bias, most, way) if isinstance(p, WithBias) else ""
            last = self._known[p.name, way] = _Last(p.name, _entry(p, most, way), way, of_bias)
        synchronizer = self.synchronizer(p)
        totals: tuple[Tensor, ...] = ()
        if isinstance(p, WithBias):
            totals = p.column_sums(),
            synchronizer._give_place(last.entry_of_bias, _row(totals[0]), totals)
        if way == Way.DENSE:
            total = p.as_dense()
            synchronizer._give_place(last.entry, _matrix(total) if p.is_matrix else _row(total), total)
        elif p.is_rows:
            total = p.room.take()
            synchronizer.give_factors(last.entry, *p.as_factors(), total.numpy())
        else:
            total = p.room.take()
            a, b = p.as_pair()
            synchronizer._give_places(last.entry, _factor(a), _factor(b), _matrix(total), (a, b, total))
        p.forget()
        for part in p.parts:
            self._last[part.name] = last
            if self._earlier:
                self._earlier.pop(part.name, None)
        return total, *totals

    def _check(self, p: Unit) -> None:
        if self._find_nans and not p.is_finite:
            names = " and ".join(part.name for part in p.parts)
            raise dsop.ArgumentError(f"gradient of {names} has NaN or infinity, expected finite numbers")

    def sum_rows(self, p: Unit, scale: float) -> tuple[Tensor, ...]:
        """scale times the sum over ranks of what the parameter has, as a coalesced sparse tensor."""
        with SaidToAll(self.comm):
            self._check(p)
        numbers, rows = self._rows[p.name].run_rows(*p.as_factors())
        p.forget()
        self._last[p.name] = _Last(p.name, "", Way.FACTORS)
        indices = torch.from_numpy(numbers.astype(np.int64))[None]
        return torch.sparse_coo_tensor(indices, torch.from_numpy(rows) * scale, p.shape, **UNCHECKED).coalesce(),

    def begin_step(self) -> None:
        self._earlier = {}

    def note_algorithms(self, units: Iterable[Unit]) -> None:
        """Of what has travelled, before more does in the same step: a synchronizer knows of its last begin() alone."""
        self._earlier = {part.name: self.algorithm(part) for unit in units for part in unit.parts}

    def algorithm(self, p: Parameter) -> str:
        """Which algorithm the last step summed it by; empty: none."""
        if p.name in self._earlier:
            return self._earlier[p.name]
        if p.name not in self._last:
            return ""
        last = self._last[p.name]
        entry = last.entry_of_bias if p.is_bias and last.entry_of_bias else last.entry
        return self.synchronizer(p)._last_algorithm(entry) if entry else "allgather of rows"

    def joined_with(self, p: Parameter) -> Optional[Parameter]:
        """The parameter that the last step summed with it by one call; None: there is none."""
        unit = self._units.get(self._last[p.name].unit) if p.name in self._last else None
        return next((part for part in unit.parts if part is not p), None) if unit else None

    def way(self, p: Parameter) -> Way:
        """In which the last step summed it."""
        return self._last.get(p.name, _Last(way=Way.FACTORS)).way

    def policy(self, p: Parameter) -> str:
        """By which the last step summed it."""
        return _policy(p, self.way(p))

    def describe(self) -> str:
        return "\n".join(f"{_name(kind)}:\n{_of_last_step(synchronizer.describe())}"
                         for kind, synchronizer in self.synchronizers.items())

    def state_dict(self) -> dict[str, Any]:
        pairs = {key: {name: list(most) for name, most in self._most_pairs[way].items()} for way, key in _KEYS.items()}
        return {**pairs, "synchronizers": {_name(kind): of.save() for kind, of in self.synchronizers.items()}}

    def most_pairs_in(self, state: dict[str, Any]) -> list[list[int]]:
        """Of all parameters in one order."""
        return [list(state.get(key, {}).get(name, [])) for key in _KEYS.values() for name in self._units]

    def are_in(self, state: dict[str, Any]) -> bool:
        """Whether it is of the same parameters and types."""
        most_pairs = [state.get(key, {}) for key in _KEYS.values()]
        joints = {unit.name for unit in self._units.values() if len(unit.parts) > 1}  # which older states don't have
        return (set(most_pairs[0]) | joints == set(self._units) and set(state["synchronizers"]) == self.types
                and all(type(most) is int and 0 <= most < 2**31
                        for pairs in most_pairs for of_one in pairs.values() for most in of_one))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """On all ranks, of the same parameters."""
        for p, (way, key) in itertools.product(self._units.values(), _KEYS.items()):
            for most in state.get(key, {}).get(p.name, []):
                if most not in self._most_pairs[way][p.name]:
                    self._register(p, most, way)
        for kind, synchronizer in self.synchronizers.items():
            synchronizer.load(state["synchronizers"][_name(kind)])
