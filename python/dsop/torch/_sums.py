"""One step's exchange: ranks agree on what there is, and synchronizers sum it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

import dsop
from dsop.torch._parameter import Parameter


class Sums:
    """Sums parameters' gradients over ranks, by one dsop.Synchronizer for each type of element."""

    def __init__(self, parameters: Sequence[Parameter], comm: dsop.Communicator) -> None:
        self._parameters, self._comm = parameters, comm
        kinds = sorted({p.parameter.dtype for p in parameters}, key=str)
        self._of_type = {kind: dsop.Synchronizer(str(kind).removeprefix("torch."), comm) for kind in kinds}
        # A synchronizer is promised a most of pairs. Where a step has more, the parameter is registered once more.
        self._most_pairs: dict[str, list[int]] = {p.name: [] for p in parameters}
        self._entry_of: dict[str, str] = {}  # as of the last step
        for p in parameters:
            self._register(p, 0)

    def _register(self, p: Parameter, most: int) -> None:
        shape: Any = tuple(p.parameter.shape) if p.gives_factors else p.parameter.numel()
        self._of_type[p.parameter.dtype].add(f"{p.name}#{most}", shape, p.policy, max_pairs=most)
        self._most_pairs[p.name].append(most)

    def _entry(self, p: Parameter, pairs: int) -> str:
        registered = self._most_pairs[p.name]
        if pairs > max(registered):
            self._register(p, pairs if len(registered) == 1 else 1 << (pairs - 1).bit_length())
        return f"{p.name}#{min(most for most in registered if most >= pairs and (most > 0) == (pairs > 0))}"

    def _agree(self, samples: float) -> tuple[float, list[tuple[Parameter, int]]]:
        """Samples of all ranks, and what some rank has: by factors, at most so many a rank, or densely (0)."""
        of_layers = [p for p in self._parameters if p.gives_factors]
        count, ranks = len(self._parameters), self._comm.size
        record = np.zeros(1 + 2 * count + len(of_layers) * ranks)
        record[0] = samples
        has, dense = record[1:1 + count], record[1 + count:1 + 2 * count]
        pairs = record[1 + 2 * count:].reshape(len(of_layers), ranks)
        has[:] = [p.has_gradient for p in self._parameters]
        dense[:] = [p.dense is not None for p in self._parameters]
        pairs[:, self._comm.rank] = [p.pairs for p in of_layers]
        dsop.allreduce(record, self._comm)
        most = {p.name: int(row.max()) for p, row in zip(of_layers, pairs)}
        found = []
        # Last layers first, as backpropagation would give them.
        for p, some_has, some_dense in reversed(list(zip(self._parameters, has, dense))):
            p.used_elsewhere = bool(p.gives_factors and some_dense)
            if some_has:
                found.append((p, 0 if some_dense or not p.gives_factors else most[p.name]))
        return float(record[0]), found

    def run(self, samples: float, average: str) -> None:
        """Make .grad of all parameters of which some rank has a gradient complete."""
        total_samples, found = self._agree(samples)
        scale = {"ranks": 1 / self._comm.size, "sum": 1.0, "samples": 1 / max(total_samples, 1e-300)}[average]
        entries = [(p, pairs, self._entry(p, pairs)) for p, pairs in found]
        self._entry_of = {p.name: entry for p, _, entry in entries}
        sums: list[tuple[Parameter, Tensor]] = []
        for kind, synchronizer in self._of_type.items():
            ours = [entry for entry in entries if entry[0].parameter.dtype == kind]
            if not ours:
                continue
            synchronizer.begin(scale=scale)
            try:
                sums += [(p, self._give(synchronizer, entry, p, pairs)) for p, pairs, entry in ours]
            except Exception as error:
                synchronizer.fail(f"rank {self._comm.rank}: {error}")
            synchronizer.finish()
        for p, total in sums:
            p.add_to_grad(total)

    @staticmethod
    def _give(synchronizer: dsop.Synchronizer, entry: str, p: Parameter, pairs: int) -> Tensor:
        if not pairs:
            total = p.as_dense()
            values = total.numpy() if p.gives_factors else total.view(-1).numpy()
            synchronizer.give_gradient(entry, values)
            return total
        a, b = p.as_factors()
        total = torch.empty_like(p.parameter, memory_format=torch.contiguous_format).detach()
        synchronizer.give_factors(entry, a.numpy(), b.numpy(), total.numpy())
        return total

    def algorithm(self, p: Parameter) -> str:
        """Which algorithm the last step summed it by; empty: none."""
        entry = self._entry_of.get(p.name)
        return str(self._of_type[p.parameter.dtype].last_step(entry)["algorithm"]) if entry else ""

    def describe(self) -> str:
        return "\n".join(f"{kind}:\n{synchronizer.describe()}" for kind, synchronizer in self._of_type.items())

    def state_dict(self) -> dict[str, Any]:
        return {"most_pairs": {name: list(most) for name, most in self._most_pairs.items()},
                "synchronizers": {str(kind): synchronizer.save() for kind, synchronizer in self._of_type.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """On all ranks, the same parameters."""
        for p in self._parameters:
            for most in state["most_pairs"][p.name]:
                if most not in self._most_pairs[p.name]:
                    self._register(p, most)
        for kind, synchronizer in self._of_type.items():
            synchronizer.load(state["synchronizers"][str(kind)])
