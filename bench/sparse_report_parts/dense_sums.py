"""Where sums become dense on their way: words sent by what switches, beside what never and what always sends dense sums."""

from __future__ import annotations

import math

from report_parts.tables import Table

from .page import Part
from .rows import Row, Vectors
from .sweeps import cells_of

DOUBLING, EARLY, SPLIT, DENSE = ("ssar-recursive-doubling", "dsar-early-switch(2)", "dsar-split-allgather",
                                 "dense-rabenseifner")
COLUMNS = ["P", "density", "density_of_sum", "dense_from_round", "doubling_words", "doubling_sparse_words",
           "early_switch_words", "ssar_split_words", "topk_dsa_words", "dsar_split_words", "dense_words"]


def _doubling_words(v: Vectors, sparse_rounds: int) -> float:
    """Of recursive doubling that swaps dense sums after so many rounds."""
    rounds = int(math.log2(v.ranks))
    return sum(2 * v.in_union(2**j) for j in range(sparse_rounds)) + (rounds - sparse_rounds) * v.size


def _sparse_rounds(row: Row) -> int:
    """How many would send the words that were counted."""
    counted = row.sent_words or 0
    return min(range(int(math.log2(row.vectors.ranks)) + 1),
               key=lambda rounds: abs(_doubling_words(row.vectors, rounds) - counted))


def dense_sums(rows: list[Row]) -> Part:
    """P is a power of two."""
    lines: list[list[str | int | float | None]] = []
    first: dict[int, float] = {}
    for vectors, by_name in cells_of(rows).items():
        rounds = int(math.log2(vectors.ranks))
        sparse_rounds = _sparse_rounds(by_name[DOUBLING])
        if sparse_rounds < rounds:
            first.setdefault(vectors.ranks, vectors.density)
        words = [by_name[name].sent_words for name in (DOUBLING, EARLY, "ssar-split-allgather", "topk-dsa", SPLIT, DENSE)]
        whole = [None if count is None else round(count) for count in words]
        lines.append([vectors.ranks, vectors.density, vectors.in_union(vectors.ranks) / vectors.size,
                      sparse_rounds + 1 if sparse_rounds < rounds else None, whole[0],
                      round(_doubling_words(vectors, rounds)), *whole[1:]])
    return Part("dense-sums", [f"P = {ranks}: `{DOUBLING}` swaps dense sums from density {density:g} on."
                               for ranks, density in sorted(first.items())], [], Table("dense-sums", COLUMNS, lines))
