"""Words a rank sends and words on the critical path, counted, beside what the papers state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable

from report_parts.tables import Table

from .rows import Row, Vectors

OVERLAPS = {"same": "full overlap", "uniform": "uniform indices", "apart": "no overlap"}


def _allgather(v: Vectors) -> float:
    return 2 * v.k * (v.ranks - 1)


def _recursive_doubling(v: Vectors) -> float:
    """Ranks beyond a power of two hand their vectors to others, and get the sum from them."""
    corners = 2 ** int(math.log2(v.ranks))
    extras = v.ranks - corners
    swapped = sum(2 * v.in_union(2**j + min(2**j, extras)) for j in range(int(math.log2(corners))))
    return swapped + (2 * v.in_union(v.ranks) if extras else 0)


def _recursive_doubling_path(v: Vectors) -> float:
    return _recursive_doubling(v) + (2 * v.k if v.ranks & (v.ranks - 1) else 0)


def _split(v: Vectors) -> float:
    return 2 * v.k * (v.ranks - 1) / v.ranks


def _split_allgather(v: Vectors) -> float:
    return _split(v) + 2 * v.in_union(v.ranks) * (v.ranks - 1) / v.ranks


def _dense_allgather(v: Vectors) -> float:
    return _split(v) + v.size * (v.ranks - 1) / v.ranks


@dataclass(frozen=True)
class Formula:
    """What a paper states, as a person writes it and as a number; the path's number is the same unless given."""

    text: str
    sent: Callable[[Vectors], float]
    path: Callable[[Vectors], float]
    folded_text: str = ""  # where P is no power of two; empty: the same

    def text_for(self, ranks: int) -> str:
        return self.folded_text if self.folded_text and ranks & (ranks - 1) else self.text


def _early_switch(group: int) -> Formula:
    """C groups of g ranks, C a power of two; the ranks beyond hand their vectors to others first."""

    def owners(v: Vectors) -> int:
        g = min(group, v.ranks)
        return g * 2 ** int(math.log2(v.ranks // g))

    def sent(v: Vectors) -> float:
        g, held = min(group, v.ranks), v.k if owners(v) == v.ranks else v.in_union(2)
        return 2 * held * (g - 1) / g + v.size / g - v.size / owners(v) + v.size * (v.ranks - 1) / owners(v)

    def path(v: Vectors) -> float:
        return sent(v) + (2 * v.k if owners(v) < v.ranks else 0)

    text = "2{}(g-1)/g + N/g - N/(Cg) + N(P-1)/(Cg), C groups of g"
    return Formula(text.format("k"), sent, path, text.format("K(2)") + ", C a power of two")


FORMULAS = {
    "allgather": Formula("2k(P-1)", _allgather, _allgather),
    "ssar-recursive-doubling": Formula(
        "sum of 2K(2^j), j < log2 P", _recursive_doubling, _recursive_doubling_path,
        "2K(P) + sum of 2K(2^j + min(2^j, e)), j < log2(P - e), for the e ranks beyond a power of two"),
    "ssar-split-allgather": Formula("2(k + K(P))(P-1)/P", _split_allgather, _split_allgather),
    "dsar-split-allgather": Formula("(2k + N)(P-1)/P", _dense_allgather, _dense_allgather),
    "dsar-early-switch(2)": _early_switch(2),
    "dsar-early-switch(8)": _early_switch(8),
    "topk-dsa": Formula("2(k + K(P))(P-1)/P", _split_allgather, _split_allgather),
}
COLUMNS = ["overlap", "algorithm", "formula", "P", "formula_words", "sent_words", "sent_over_formula", "path_formula_words",
           "path_words", "path_over_formula"]


def volume_table(rows: list[Row]) -> Table:
    """Sorted by overlap, algorithm and P; those that the papers state no formula for are left out."""
    lines = []
    overlaps, algorithms = list(OVERLAPS), list(FORMULAS)
    known = [row for row in rows if row.algorithm in FORMULAS and row.sent_words is not None]
    for row in sorted(known, key=lambda row: (overlaps.index(row.vectors.distribution), algorithms.index(row.algorithm),
                                              row.vectors.ranks)):
        formula = FORMULAS[row.algorithm]
        sent, path = formula.sent(row.vectors), formula.path(row.vectors)
        lines.append([OVERLAPS[row.vectors.distribution], row.algorithm, formula.text_for(row.vectors.ranks), row.vectors.ranks,
                      round(sent), round(row.sent_words), row.sent_words / sent, round(path), round(row.path_words),
                      row.path_words / path])
    return Table("volumes", COLUMNS, lines)


def volume_findings(table: Table) -> list[str]:
    """How far the counts are from the formulas, for each overlap."""
    findings = []
    for overlap in OVERLAPS.values():
        ratios = [line[column] for line in table.rows if line[0] == overlap for column in (6, 9)]
        if ratios:
            findings.append(f"{overlap.capitalize()}: from {min(ratios):.4f} to {max(ratios):.4f} of the formula.")
    return findings
