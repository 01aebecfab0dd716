#!/usr/bin/python3
"""What auto loses to the best algorithm: benchmark rows (JSON lines) in, a Markdown table of cells and a summary out.

A cell is a shape, a number of ranks, their places on hosts and a link rate, with a row of auto and rows of what it could
have taken (as --algorithm near,auto,auto-probed writes them). Names that send the same messages and bytes, compute as much
and are predicted to take the same time are the same code (an allgather over the cheapest pattern, and over that pattern), so
their observations are taken together. The best is the one of the least median. Two ratios to its time: of the algorithm that
auto used, auto's own row included, which is 1 if that is the best, and of auto's own row alone: what lies between them is
noise. The same of auto-probed, which plans without --machine. The summary also says how many predictions come near what was
measured, of all that took at most twice the best's time; --picture draws them. Simulated time has no noise, so a simulated
cell needs no row of auto, which would repeat that of the algorithm that auto takes: the first, as --algorithm eligible has them.
Exit status: 0, or 2 if an argument or a file can't be used.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from regret_predictions import Prediction, bound, draw
from report_parts.json_lines import Refused, parsed_rows

NEAR_BEST = 1.1
CHOOSERS = {"auto": "auto", "auto-probed": "auto without a machine"}
CANDIDATE = 2.0  # times the best's time: what is slower need not be predicted well
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
    is_simulated: bool = False  # the rate then names the platform

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
    predicted: dict[str, float]  # seconds, by the machine that was given ("auto") or probed ("auto-probed")


@dataclass(frozen=True)
class Choice:
    used: str
    used_ratio: float  # of all rows of the used algorithm's code
    own_ratio: float  # of the row that made the choice


@dataclass(frozen=True)
class Regret:
    cell: Cell
    best: str
    best_seconds: float
    choices: dict[str, Choice]  # of each of CHOOSERS that has rows
    predictions: list[Prediction]


def cell_of(row: dict[str, Any]) -> Cell:
    problem = [row[key] for key in KEYS]
    if "simulated" in row["host"]:
        simulated = row["host"]["simulated"]
        return Cell(simulated["platform"], *problem, ranks_per_host=simulated["ranks_per_host"],
                    placement=simulated["placement"], is_simulated=True)
    cluster = dict(word.split("=", 1) for word in row["host"].get("cluster", "").split())
    return Cell(cluster.get("rate", "-"), *problem, ranks_per_host=int(cluster.get("ranks_per_host", 1)),
                placement=cluster.get("placement", ""))


def row_of(json_row: dict[str, Any]) -> Row:
    costs = tuple(json_row[key] for key in ("messages_sent", "bytes_sent", "flops", "predicted_seconds"))
    seconds = median(max(iteration) for iteration in json_row["seconds"])
    inside_mpi = costs[0] is None
    predicted = {chooser: json_row[field] for chooser, field in (("auto", "predicted_seconds"), ("auto-probed", "probed_seconds"))
                 if field in json_row}
    return Row(json_row["algorithm"], json_row["used"], (json_row["used"],) if inside_mpi else costs, seconds, predicted)


def read_cells(path: Path) -> tuple[dict[Cell, list[Row]], list[str]]:
    """The rows of each cell, and the commits that they are of."""
    cells: dict[Cell, list[Row]] = {}
    commits: set[str] = set()

    def add(row: dict[str, Any]) -> None:
        if not row["external"] and row["algorithm"] != "sharded":
            cells.setdefault(cell_of(row), []).append(row_of(row))
            commits.add(row["host"]["commit"])

    parsed_rows(path, "dsop-bench outer-product", add)
    return cells, sorted(commits)


def chosen_by(chooser: str, cell: Cell, rows: list[Row]) -> list[Row]:
    own = [row for row in rows if row.algorithm == chooser]
    if own or chooser != "auto" or not cell.is_simulated:
        return own
    return rows[:1]


def regret_of(cell: Cell, rows: list[Row]) -> Regret:
    if not chosen_by("auto", cell, rows):
        raise Refused(f"{cell}: no row of auto")
    codes: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        codes.setdefault(row.same_code, []).append(row)
    seconds = {code: median(row.seconds for row in of_code) for code, of_code in codes.items()}
    best = min(seconds, key=lambda code: seconds[code])
    choices = {}
    for chooser in CHOOSERS:
        own = chosen_by(chooser, cell, rows)
        if not own:
            continue
        if chooser == "auto" and all(row.algorithm in CHOOSERS for row in codes[own[0].same_code]):
            raise Refused(f"{cell}: auto used {own[0].used}, which has no row of its own")
        choices[chooser] = Choice(own[0].used, seconds[own[0].same_code] / seconds[best],
                                  median(row.seconds for row in own) / seconds[best])
    predictions = [Prediction(cell.ranks_per_host > 1, chooser, of_code[0].predicted[chooser], seconds[code], cell.is_simulated)
                   for code, of_code in codes.items() if seconds[code] <= CANDIDATE * seconds[best]
                   for chooser in of_code[0].predicted if len(code) > 1]  # inside MPI nothing is predicted
    return Regret(cell, codes[best][0].used, seconds[best], choices, predictions)


def table(regrets: list[Regret]) -> list[str]:
    choosers = [chooser for chooser in CHOOSERS if any(chooser in one.choices for one in regrets)]
    lines = ["| rate | ranks | n x m | pairs | type | best | its ms |" + "".join(
                 f" {CHOOSERS[chooser]} used | used / best | its row / best |" for chooser in choosers),
             "| --- | --: | --: | --: | --- | --- | --: |" + " --- | --: | --: |" * len(choosers)]
    for one in regrets:
        cell = one.cell
        line = (f"| {cell.rate} | {cell.ranks_text} | {cell.rows} x {cell.columns} | {cell.pairs} | {cell.dtype} | {one.best} "
                f"| {one.best_seconds * 1e3:.3f} |")
        for chooser in choosers:
            choice = one.choices.get(chooser)
            line += f" {choice.used} | {choice.used_ratio:.2f} | {choice.own_ratio:.2f} |" if choice else " - | - | - |"
        lines.append(line)
    return lines


def summary(regrets: list[Regret]) -> list[str]:
    lines = []
    for chooser, name in CHOOSERS.items():
        with_choice = [(one.cell, one.choices[chooser]) for one in regrets if chooser in one.choices]
        for what, ratio in ((f"the algorithm that {name} used", lambda choice: choice.used_ratio),
                            (f"the row of {name}", lambda choice: choice.own_ratio)):
            if not with_choice:
                continue
            near = sum(ratio(choice) <= NEAR_BEST for _, choice in with_choice)
            worst_cell, worst = max(with_choice, key=lambda pair: ratio(pair[1]))
            lines.append(f"- By {what}: within {NEAR_BEST - 1:.0%} of the best in {near} of {len(with_choice)} cells "
                         f"({near / len(with_choice):.1%}); worst {ratio(worst):.2f} ({worst_cell}).")
    groups: dict[tuple[str, bool, bool], list[Prediction]] = {}
    for one in regrets:
        for prediction in one.predictions:
            groups.setdefault((prediction.chooser, prediction.shares_hosts, prediction.is_simulated), []).append(prediction)
    for (chooser, shares_hosts, is_simulated), group in sorted(groups.items()):
        near = sum(prediction.is_near for prediction in group)
        lines.append(f"- Predicted for {CHOOSERS[chooser]}, {'several ranks' if shares_hosts else 'one rank'} a host: within "
                     f"{bound(chooser, shares_hosts, is_simulated)}x of what was {'simulated' if is_simulated else 'measured'} for {near} of {len(group)} ({near / len(group):.1%}).")
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", metavar="ROWS.jsonl", type=Path, help="rows of dsop-bench outer-product --out")
    parser.add_argument("--picture", metavar="FILE.png", type=Path, help="predicted beside measured times")
    options = parser.parse_args(arguments)
    try:
        cells, commits = read_cells(options.rows)
        if not cells:
            raise Refused(f"{options.rows}: no row, expected at least those of one cell")
        regrets = [regret_of(cell, cells[cell]) for cell in sorted(cells)]
        if options.picture:
            draw([prediction for one in regrets for prediction in one.predictions], options.picture)
    except (Refused, OSError) as error:
        print(f"regret.py: {error}", file=sys.stderr)
        return 2
    print("\n".join([*table(regrets), "", *summary(regrets), f"- Commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}."]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
