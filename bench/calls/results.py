"""Measured rows of both builds, in pairs by round: medians, intervals and ratios."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from report_parts.intervals import Estimate, order_estimate

Row = dict[str, Any]


@dataclass
class Sides:
    """One number of both builds: a value for each round."""

    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)

    def estimates(self) -> tuple[Estimate, Estimate, Estimate]:
        """Old, new, and the ratio old / new of each round's pair."""
        old, new = np.array(self.old), np.array(self.new)
        return order_estimate(old), order_estimate(new), order_estimate(old / new)

    def median(self, build: str) -> float:
        return float(np.median(self.old if build == "old" else self.new))


def by_key(rows: Iterable[Row], keys: tuple[str, ...], value: str) -> dict[tuple[str, ...], Sides]:
    sides: dict[tuple[str, ...], Sides] = defaultdict(Sides)
    for row in rows:
        if value in row:
            of_build = sides[tuple(str(row[key]) for key in keys)]
            (of_build.old if row["build"] == "old" else of_build.new).append(float(row[value]))
    return sides


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def interval(estimate: Estimate, scale: float = 1) -> str:
    return f"{number(estimate.median * scale)} ({number(estimate.low * scale)} to {number(estimate.high * scale)})"


def table(titles: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """In Markdown, with columns as wide as they need."""
    cells: list[list[str]] = [list(titles), *(list(line) for line in lines)]
    widths = [max(len(line[c]) for line in cells) for c in range(len(cells[0]))]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in cells)


def append(file: Path, rows: Iterable[Row]) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
