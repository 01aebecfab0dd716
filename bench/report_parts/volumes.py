"""Bytes a rank sends: counted, by the algorithm's formula, and the least that any algorithm can do with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from .rows import ELEMENT_BYTES, Problem
from .sections import PLANNER, Cell, Section


def _factor_words(problem: Problem) -> float:
    return (problem.ranks - 1) * problem.pairs * (problem.rows + problem.columns)


def _gradient_share_words(problem: Problem) -> float:
    """One pass of reduce-scatter or allgather over the gradient: all blocks of it but one."""
    return (problem.ranks - 1) / problem.ranks * problem.rows * problem.columns


def allreduce_words(problem: Problem) -> float:
    """What ring and Rabenseifner send, and the least for any allreduce of the whole gradient that adds blocks element by
    element (Patarasuk and Yuan, JPDC 2009, section 3)."""
    return 2.0 * _gradient_share_words(problem)


FORMULA_WORDS: dict[str, Callable[[Problem], float]] = {
    "allgather": _factor_words,
    "allreduce-ring": allreduce_words,
    "allreduce-rabenseifner": allreduce_words,
    "generalized-rabenseifner": lambda problem: _factor_words(problem) + _gradient_share_words(problem),
}


def least_words(problem: Problem) -> float:
    """Words that some rank must send in any algorithm that gives every rank the whole sum (one that leaves it in shares
    needs less).

    A rank knows its own product; what it lacks is the sum of the others' products, any n x m matrix of rank at most
    q = min((P-1) k, n, m). These matrices form a set of dimension q (n + m - q), so a rank that can name each of them
    must have received that many words (words as real numbers that are copied and computed with, not packed into one
    another). All words received were sent by someone, so the rank that sends most sends at least as many. The bound is
    never above (P-1) k (n+m) nor above nm: allgather comes near it when P k is small against n and m, and an allreduce
    sends up to twice as much when it is not.
    """
    rank = min((problem.ranks - 1) * problem.pairs, problem.rows, problem.columns)
    return float(rank * (problem.rows + problem.columns - rank))


@dataclass(frozen=True)
class Volume:
    """Bytes sent, maximum over ranks. `formula_bytes` is the published formula's where this report knows it, else what the
    rows state, the formula that dsop plans with; None without either. `measured_bytes` is None for one whose inside can't be counted."""

    cell: Cell
    measured_bytes: int | None
    formula_bytes: float | None
    least_bytes: float
    allreduce_bytes: float
    messages: int | None
    wire_bytes_per_host: float | None

    @property
    def ratio(self) -> float | None:
        """Measured over formula; None where either is unknown or the formula is 0."""
        if self.measured_bytes is None or not self.formula_bytes:
            return None
        return self.measured_bytes / self.formula_bytes


def _largest(values: list[float | int | None]) -> float | int | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None


def volumes(section: Section) -> list[Volume]:
    element_bytes = ELEMENT_BYTES[section.setting.dtype]
    found = []
    for (problem, algorithm), cell in sorted(section.cells.items(), key=lambda item: item[0]):
        if algorithm == PLANNER:  # sends what its choice sends
            continue
        rows = list(cell.rows.values())
        stated = _largest([row.formula_bytes for row in rows])
        published = FORMULA_WORDS.get(algorithm)
        if algorithm == "allreduce-rabenseifner" and problem.ranks & (problem.ranks - 1):
            published = None  # folds what is above the largest power of two, at a cost that the rows state
        found.append(Volume(
            cell=cell, measured_bytes=_largest([row.bytes_sent for row in rows]),
            formula_bytes=published(problem) * element_bytes if published else stated,
            least_bytes=least_words(problem) * element_bytes,
            allreduce_bytes=allreduce_words(problem) * element_bytes,
            messages=_largest([row.messages_sent for row in rows]),
            wire_bytes_per_host=_largest([max(row.wire_bytes_per_host, default=None) for row in rows])))
    return found
