#!/usr/bin/python3
"""What auto loses to the best algorithm: benchmark rows (JSON lines) in, a Markdown table of cells and a summary out.

A cell is a shape, a number of ranks, their places on hosts and a link rate, with a row of auto and rows of what it could
have taken (as --algorithm near,auto writes them). Names that send the same messages and bytes, compute as much and are predicted to take
the same time are the same code (an allgather over the cheapest pattern, and over that pattern), so their observations are
taken together. The best is the one of the least median. Two ratios to its time: of the algorithm that auto used, auto's own
row included, which is 1 if that is the best, and of auto's own row alone: what lies between them is noise.
Exit status: 0, or 2 if an argument or a file can't be used.
"""

from __future__ import annotations

import argparse
import json
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
    ranks_per_host: int = 1
    placement: str = ""  # of several ranks a host

    @property
    def ranks_text(self) -> str:
        """As the table has it: 8, or 8 (4 a host, turns)."""
        return str(self.ranks) if self.ranks_per_host == 1 else f"{self.ranks} ({self.ranks_per_host} a host, {self.placement})"

    def __str__(self) -> str:
        return f"{self.rate}, {self.ranks_text} ranks, {self.rows} x {self.columns}, {self.pairs} pairs, {self.dtype}"


@dataclass(frozen=True)
class Row:
    algorithm: str
    used: str
    same_code: tuple[Any, ...]  # equal for names that stand for the same code
    seconds: float  # the median over a repetition's iterations of the slowest rank's


@dataclass(frozen=True)
class Regret:
    cell: Cell
    best: str
    best_seconds: float
    used: str
    used_ratio: float  # of all rows of the used algorithm's code
    auto_ratio: float  # of auto's row


class Refused(Exception):
    """What can't be used, and where it stands."""


def cell_of(row: dict[str, Any]) -> Cell:
    cluster = dict(word.split("=", 1) for word in row["host"].get("cluster", "").split())
    return Cell(cluster.get("rate", "-"), *(row[key] for key in KEYS), ranks_per_host=int(cluster.get("ranks_per_host", 1)),
                placement=cluster.get("placement", ""))


def row_of(json_row: dict[str, Any]) -> Row:
    costs = tuple(json_row[key] for key in ("messages_sent", "bytes_sent", "flops", "predicted_seconds"))
    seconds = median(max(iteration) for iteration in json_row["seconds"])
    inside_mpi = costs[0] is None
    return Row(json_row["algorithm"], json_row["used"], (json_row["used"],) if inside_mpi else costs, seconds)


def read_cells(path: Path) -> dict[Cell, list[Row]]:
    cells: dict[Cell, list[Row]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            if not row["external"] and row["algorithm"] != "sharded":
                cells.setdefault(cell_of(row), []).append(row_of(row))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(f"{path}:{number}: not a row of dsop-bench outer-product: {error!r}") from None
    return cells


def regret_of(cell: Cell, rows: list[Row]) -> Regret:
    auto = [row for row in rows if row.algorithm == "auto"]
    if not auto:
        raise Refused(f"{cell}: no row of auto")
    codes: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        codes.setdefault(row.same_code, []).append(row.seconds)
    seconds = {code: median(of_code) for code, of_code in codes.items()}
    if all(row.algorithm == "auto" for row in rows if row.same_code == auto[0].same_code):
        raise Refused(f"{cell}: auto used {auto[0].used}, which has no row of its own")
    best = min(seconds, key=lambda code: seconds[code])
    name = next(row.used for row in rows if row.same_code == best)
    auto_seconds = median(row.seconds for row in auto)
    return Regret(cell, name, seconds[best], auto[0].used, seconds[auto[0].same_code] / seconds[best],
                  auto_seconds / seconds[best])


def table(regrets: list[Regret]) -> list[str]:
    lines = ["| rate | ranks | n x m | pairs | type | best | its ms | auto used | used / best | auto / best |",
             "| --- | --: | --: | --: | --- | --- | --: | --- | --: | --: |"]
    for one in regrets:
        cell = one.cell
        lines.append(f"| {cell.rate} | {cell.ranks_text} | {cell.rows} x {cell.columns} | {cell.pairs} | {cell.dtype} | {one.best} "
                     f"| {one.best_seconds * 1e3:.3f} | {one.used} | {one.used_ratio:.2f} | {one.auto_ratio:.2f} |")
    return lines


def summary(regrets: list[Regret]) -> list[str]:
    lines = []
    for what, ratio in (("the algorithm that auto used", lambda one: one.used_ratio),
                        ("auto's own row", lambda one: one.auto_ratio)):
        near = sum(ratio(one) <= NEAR_BEST for one in regrets)
        worst = max(regrets, key=ratio)
        lines.append(f"- By {what}: within {NEAR_BEST - 1:.0%} of the best in {near} of {len(regrets)} cells "
                     f"({near / len(regrets):.1%}); worst {ratio(worst):.2f} ({worst.cell}).")
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
