"""How parameters' gradients travel, in words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Optional

from dsop._synchronizer import policy_selects
from dsop.torch._entries import travels_dense
from dsop.torch._parameter import Parameter
from dsop.torch._summand import Way
from dsop.torch._sums import Sums

_logger = logging.getLogger("dsop.torch")


def _how(p: Parameter, algorithm: str, policy: str, way: Way, ranks: int) -> str:
    if p.has_sparse_grad:
        return "dense, a gradient of it was not sparse" if p.used_elsewhere else "rows, into a sparse .grad"
    if policy == "none":
        return "nothing, by its policy"
    if policy_selects(policy):
        return "its largest elements, by its policy"
    if not p.gives_factors:
        return f"dense, {p.why_dense}"
    if p.is_small_alone:
        return "dense, as PyTorch makes it, but under autocast: it is small"
    if p.used_elsewhere:
        return "dense, used outside its module, with hooks of its own, or with more pairs than pay"
    if p.stays:
        return "dense, multiplied at once"
    if ranks > 1 and travels_dense(algorithm):
        return "dense is cheaper here"
    if way == Way.DENSE:
        return "dense, as an earlier step needed it"
    return ("rows" if p.unit_rows else "factors") + " in 16 bits" * policy.startswith("dsop-bf16")


def _how_of_bias(weight: Optional[Parameter], is_one_call: bool) -> str:
    """`weight` was handed over with it."""
    if weight is None:
        return "dense, used outside its module, with hooks of its own, or without its layer's errors"
    return f"nothing, but for the errors of {weight.name}" if is_one_call else f"dense, not all ranks have {weight.name}'s errors"


def lines(parameters: Sequence[Parameter], sums: Sums) -> list[str]:
    """One for each parameter."""
    found = []
    early = ", when backward has ended: MPI lacks MPI_THREAD_MULTIPLE" if sums.waits_for_end else ", while backward goes on"
    for p in parameters:
        algorithm, policy = sums.entries.algorithm(p), sums.entries.policy(p)
        when = early if sums.is_early(p) else ""
        last = f"last summed by {algorithm}{when}" if algorithm else "not in the last step"
        last = "stays, since this rank is alone" if p.stays else last
        shape = "x".join(map(str, p.parameter.shape))
        other = sums.entries.joined_with(p) if algorithm else None
        if p.is_bias:
            how = _how_of_bias(other, other is not None and sums.entries.algorithm(other) == algorithm)
        else:
            how = _how(p, algorithm, policy, sums.entries.way(p), sums.comm.size)
            how += f", by one product with {other.name}" if other and not other.is_bias else ""
        found.append(f"{p.name} {shape}: {how}; policy {policy}; {last}")
    return found


class Log:
    """Tells the logger dsop.torch how parameters travel: in the first step, and where that changes. On rank 0."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def write(self, parameters: Sequence[Parameter], sums: Sums) -> None:
        if sums.comm.rank == 0 and _logger.isEnabledFor(logging.INFO):
            now = lines(parameters, sums)
            for line in now:
                if line not in self._told:
                    _logger.info(line)
            self._told = set(now)
