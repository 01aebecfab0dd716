"""Parameters as dsop knows them: entries of synchronizers, and products of which rows alone are wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

import dsop
from dsop._communicators import SaidToAll
from dsop.torch._parameter import Parameter


def _name(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")


class Entries:
    """Registers parameters, and hands over what they have.

    A synchronizer is promised a most of pairs: where a step has more, the parameter is registered once more. Most 0
    stands for gradients.
    """

    def __init__(self, parameters: Sequence[Parameter], comm: dsop.Communicator, find_nans: bool) -> None:
        self.comm, self._find_nans = comm, find_nans
        elements: Counter[torch.dtype] = Counter()
        for p in parameters:
            elements[p.parameter.dtype] += p.parameter.numel()
        self.synchronizers = {kind: dsop.Synchronizer(_name(kind), comm) for kind, _ in elements.most_common()}
        self._most_pairs: dict[str, list[int]] = {p.name: [] for p in parameters}
        self._rows: dict[str, dsop.OuterProduct] = {}
        self.last: dict[str, str] = {}  # entries as of the last step; empty: rows alone
        for p in parameters:
            self._register(p, 0)

    def synchronizer(self, p: Parameter) -> dsop.Synchronizer:
        return self.synchronizers[p.parameter.dtype]

    def _register(self, p: Parameter, most: int) -> None:
        self._most_pairs[p.name].append(most)
        density = {"density_a": 1 / p.parameter.shape[0]} if p.unit_rows else {}
        if most and p.has_sparse_grad:
            rows, columns = p.parameter.shape
            self._rows[p.name] = dsop.OuterProduct(rows, columns, most, _name(p.parameter.dtype), self.comm, **density)
            return
        shape: Any = tuple(p.parameter.shape) if p.gives_factors else p.parameter.numel()
        self.synchronizer(p).add(f"{p.name}#{most}", shape, p.policy, max_pairs=most, **(density if most else {}))

    def most_pairs(self, p: Parameter) -> int:
        """That a rank may give as factors in one step."""
        return self._most_pairs[p.name][-1]

    def make_room(self, p: Parameter, pairs: int) -> None:
        """For so many on some rank. On all ranks."""
        if pairs > self.most_pairs(p):
            self._register(p, 1 << (pairs - 1).bit_length() if self.most_pairs(p) else pairs)

    def give(self, p: Parameter, by_factors: bool) -> Tensor:
        """Hand over what the parameter has, perhaps nothing; what is returned then becomes its sum over ranks.

        Raises ArgumentError where it has NaN, if asked to look.
        """
        self._check(p)
        entry = f"{p.name}#{self.most_pairs(p) if by_factors else 0}"
        if by_factors:
            a, b = p.as_factors()
            total = p.room.take()
            self.synchronizer(p).give_factors(entry, a, b, total.numpy())
        else:
            total = p.as_dense()
            values = total if p.gives_factors else total.view(-1)
            self.synchronizer(p).give_gradient(entry, values.numpy())
        p.forget()
        self.last[p.name] = entry
        return total

    def _check(self, p: Parameter) -> None:
        if self._find_nans and p.has_nan:
            raise dsop.ArgumentError(f"gradient of {p.name} has NaN, expected numbers")

    def sum_rows(self, p: Parameter, scale: float) -> Tensor:
        """scale times the sum over ranks of what the parameter has, as a coalesced sparse tensor."""
        with SaidToAll(self.comm):
            self._check(p)
        numbers, rows = self._rows[p.name].run_rows(*p.as_factors())
        p.forget()
        self.last[p.name] = ""
        indices = torch.from_numpy(numbers.astype(np.int64))[None]
        return torch.sparse_coo_tensor(indices, torch.from_numpy(rows) * scale, p.parameter.shape).coalesce()

    def algorithm(self, p: Parameter) -> str:
        """Which algorithm the last step summed it by; empty: none."""
        entry = self.last.get(p.name)
        if not entry:
            return "" if entry is None else "allgather of rows"
        return str(self.synchronizer(p).last_step(entry)["algorithm"])

    def describe(self) -> str:
        return "\n".join(f"{_name(kind)}:\n{synchronizer.describe()}"
                         for kind, synchronizer in self.synchronizers.items())

    def state_dict(self) -> dict[str, Any]:
        return {"most_pairs": {name: list(most) for name, most in self._most_pairs.items()},
                "synchronizers": {_name(kind): of.save() for kind, of in self.synchronizers.items()}}

    def load_state_dict(self, state: dict[str, Any], parameters: Sequence[Parameter]) -> None:
        """On all ranks, of the same parameters."""
        for p in parameters:
            for most in state["most_pairs"][p.name]:
                if most not in self._most_pairs[p.name]:
                    self._register(p, most)
        for kind, synchronizer in self.synchronizers.items():
            synchronizer.load(state["synchronizers"][_name(kind)])
