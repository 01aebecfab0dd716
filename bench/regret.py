#!/usr/bin/python3
"""What auto loses to the best algorithm: benchmark rows (JSON lines) in, a Markdown table of cells and a summary out.

A cell is a shape, a number of ranks and a link rate, with a row of auto and rows of what it could have taken (as
--algorithm near,auto writes them). The best is the one of the least median. Two ratios to its time: of the row of the
algorithm that auto used, which is 1 if that is the best, and of auto's own row. Both are the same code: what lies between
them is noise.
Exit status: 0, or 2 if an argument or a file can't be used.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

NEAR_BEST = 1.1
KEYS = ("ranks", "rows", "columns", "pairs", "dtype")


@dataclass(frozen=True, order=True)
class Cell:
    rate: str
    ranks: int
    rows: int
    columns: int
    pairs: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.rate}, {self.ranks} ranks, {self.rows} x {self.columns}, {self.pairs} pairs, {self.dtype}"


@dataclass(frozen=True)
class Regret:
    cell: Cell
    best: str
    best_seconds: float
    used: str
    used_ratio: float  # of the used algorithm's own row
    auto_ratio: float  # of auto's row


class Refused(Exception):
    """What can't be used, and where it stands."""


def observation(row: dict[str, Any]) -> float:
    """The median over iterations of the slowest rank's seconds."""
    return median(max(iteration) for iteration in row["seconds"])


def cell_of(row: dict[str, Any]) -> Cell:
    rate = re.search(r"\brate=(\S+)", row["host"].get("cluster", ""))
    return Cell(rate[1] if rate else "-", *(row[key] for key in KEYS))


def read_cells(path: Path) -> dict[Cell, dict[str, list[tuple[str, float]]]]:
    """Of each cell, by algorithm: what it used and the seconds of each repetition."""
    cells: dict[Cell, dict[str, list[tuple[str, float]]]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            if not row["external"] and row["algorithm"] != "sharded":
                of_cell = cells.setdefault(cell_of(row), {})
                of_cell.setdefault(row["algorithm"], []).append((row["used"], observation(row)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(f"{path}:{number}: not a row of dsop-bench outer-product: {error!r}") from None
    return cells


def regret_of(cell: Cell, rows: dict[str, list[tuple[str, float]]]) -> Regret:
    seconds = {name: median(one for _, one in repetitions) for name, repetitions in rows.items()}
    if "auto" not in rows:
        raise Refused(f"{cell}: no row of auto")
    auto_seconds, used = seconds.pop("auto"), rows["auto"][0][0]
    of_used = [seconds[name] for name in seconds if rows[name][0][0] == used]
    if not of_used:
        raise Refused(f"{cell}: auto used {used}, which has no row of its own")
    best = min(seconds, key=lambda name: seconds[name])
    return Regret(cell, rows[best][0][0], seconds[best], used, of_used[0] / seconds[best], auto_seconds / seconds[best])


def table(regrets: list[Regret]) -> list[str]:
    lines = ["| rate | ranks | n x m | pairs | type | best | its ms | auto used | used / best | auto / best |",
             "| --- | --: | --: | --: | --- | --- | --: | --- | --: | --: |"]
    for one in regrets:
        cell = one.cell
        lines.append(f"| {cell.rate} | {cell.ranks} | {cell.rows} x {cell.columns} | {cell.pairs} | {cell.dtype} | {one.best} "
                     f"| {one.best_seconds * 1e3:.3f} | {one.used} | {one.used_ratio:.2f} | {one.auto_ratio:.2f} |")
    return lines


def summary(regrets: list[Regret]) -> list[str]:
    lines = []
    for what, ratio in (("the row of the algorithm that auto used", lambda one: one.used_ratio),
                        ("auto's own row", lambda one: one.auto_ratio)):
        near = sum(ratio(one) <= NEAR_BEST for one in regrets)
        worst = max(regrets, key=ratio)
        lines.append(f"- By {what}: within {NEAR_BEST - 1:.0%} of the best in {near} of {len(regrets)} cells "
                     f"({near / len(regrets):.0%}); worst {ratio(worst):.2f} ({worst.cell}).")
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", metavar="ROWS.jsonl", type=Path, help="rows of dsop-bench outer-product --out")
    options = parser.parse_args(arguments)
    try:
        cells = read_cells(options.rows)
        if not cells:
            raise Refused(f"{options.rows}: no row, expected at least those of one cell")
        regrets = [regret_of(cell, cells[cell]) for cell in sorted(cells)]
    except (Refused, OSError, UnicodeDecodeError) as error:
        print(f"regret.py: {error}", file=sys.stderr)
        return 2
    print("\n".join(table(regrets) + [""] + summary(regrets)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
