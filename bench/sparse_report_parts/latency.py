"""Rounds and messages, counted, beside the latency that the thesis states (Renggli 2017, table 3.1)."""

from __future__ import annotations

import math
from collections.abc import Callable

from report_parts.tables import Table

from .page import Part
from .rows import Row


def _tree(P: int) -> int:
    return int(math.log2(P))


LATENCIES: dict[str, tuple[str, Callable[[int], int]]] = {
    "ssar-recursive-doubling": ("log2 P", _tree),
    "ssar-split-allgather": ("P - 1 + log2 P", lambda P: P - 1 + _tree(P)),
    "dsar-split-allgather": ("P - 1 + log2 P", lambda P: P - 1 + _tree(P)),
    "dense-rabenseifner": ("2 log2 P", lambda P: 2 * _tree(P)),
}
COLUMNS = ["algorithm", "latency", "P", "stated_rounds", "rounds", "messages", "agreement_messages"]


def latency(rows: list[Row]) -> Part:
    """Sorted by algorithm and P; where P is no power of two the thesis states no number. Of one overlap: rounds do not hang
    on it."""
    lines: list[list[str | int | float | None]] = []
    for name, (text, stated) in LATENCIES.items():
        for row in sorted((row for row in rows if row.algorithm == name and row.vectors.distribution == "uniform"),
                          key=lambda row: row.vectors.ranks):
            P = row.vectors.ranks
            lines.append([name, text, P, stated(P) if P & (P - 1) == 0 else None, row.path_messages, row.messages,
                          row.agreement_messages])
    rounds: dict[tuple[str, int], set[int | None]] = {}
    for row in rows:
        if row.algorithm in LATENCIES:
            rounds.setdefault((row.algorithm, row.vectors.ranks), set()).add(row.path_messages)
    same = sum(len(of_cell) == 1 for of_cell in rounds.values())
    return Part("latency", [f"Rounds are the same for every overlap in {same} of {len(rounds)} cells."],
                [], Table("latency", COLUMNS, lines), {2, 8, 12, 32})
