"""The tables: the same numbers as in the pictures, as CSV files and for the page."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from .measures import Prediction, RunTime, Speedup, Winner
from .sections import Cell, Section
from .volumes import Volume

Value = Union[str, int, float, None]
TAILS = (10, 90)
KEYS = ["section", "ranks", "pairs", "rows", "columns", "algorithm"]


@dataclass(frozen=True)
class Table:
    """A named table; `name` is the stem of its file."""

    name: str
    columns: list[str]
    rows: list[list[Value]]


def _keys(section: Section, cell: Cell) -> list[Value]:
    problem = cell.problem
    return [section.number, problem.ranks, problem.pairs, problem.rows, problem.columns, cell.algorithm]


def _tails(one: RunTime | Speedup) -> list[Value]:
    """The 10th and the 90th percentile, each with its interval and what that covers."""
    found = [one.percentiles.get(percent) for percent in TAILS]
    return [value for tail in found
            for value in ((None,) * 4 if tail is None else (tail.value, tail.low, tail.high, tail.coverage))]


def _tail_columns(unit: str) -> list[str]:
    return [f"percentile_{percent}{name}" for percent in TAILS for name in (unit, f"_low{unit}", f"_high{unit}", "_coverage")]


def run_time_table(section: Section, times: list[RunTime]) -> Table:
    columns = KEYS + ["sample_is", "samples", "median_seconds", "low_seconds", "high_seconds", "coverage",
                      *_tail_columns("_seconds"), "interval_by"]
    return Table(f"{section.slug}-run-times", columns, [
        _keys(section, time.cell) + [time.cell.unit, time.samples, time.seconds.median, time.seconds.low,
                                     time.seconds.high, time.seconds.coverage, *_tails(time), time.seconds.method]
        for time in times])


def speedup_table(section: Section, speedups: list[Speedup]) -> Table:
    columns = KEYS + ["base", "sample_is", "samples", "median", "low", "high", "coverage", *_tail_columns("")]
    return Table(f"{section.slug}-speedups", columns, [
        _keys(section, one.cell) + [one.base, one.unit, one.observations, one.ratio.median, one.ratio.low, one.ratio.high,
                                    one.ratio.coverage, *_tails(one)]
        for one in speedups])


def prediction_table(section: Section, predictions: list[Prediction]) -> Table:
    columns = KEYS + ["predicted_seconds", "median_seconds", "predicted_over_median"]
    return Table(f"{section.slug}-predictions", columns, [
        _keys(section, one.run_time.cell) + [one.predicted_seconds, one.run_time.seconds.median, one.ratio]
        for one in predictions])


def volume_table(section: Section, volumes: list[Volume]) -> Table:
    columns = KEYS + ["bytes_sent", "formula_bytes", "bytes_over_formula", "least_bytes", "allreduce_bytes",
                      "messages_sent", "wire_bytes_per_host"]
    return Table(f"{section.slug}-volumes", columns, [
        _keys(section, one.cell) + [one.measured_bytes, one.formula_bytes, one.ratio, one.least_bytes, one.allreduce_bytes,
                                    one.messages, one.wire_bytes_per_host] for one in volumes])


def winner_table(section: Section, winners: list[Winner]) -> Table:
    columns = KEYS + ["median_seconds", "second", "lead", "clear", "planner_choice", "planner_choice_over_fastest"]
    return Table(f"{section.slug}-winners", columns, [
        _keys(section, one.best.cell) + [one.best.seconds.median, one.second.cell.algorithm, one.lead,
                                         "yes" if one.clear else "no", one.auto_choice, one.choice_loss]
        for one in winners])


def sample_table(section: Section) -> Table:
    """Every iteration of every job, with its spread over the ranks; the rows' files hold each rank's own time."""
    columns = KEYS + ["job", "repetition", "iteration", "maximum_seconds", "minimum_seconds"]
    rows: list[list[Value]] = []
    for _, cell in sorted(section.cells.items(), key=lambda item: item[0]):
        for (job, repetition), row in cell.rows.items():
            for iteration, seconds in enumerate(row.seconds):
                rows.append(_keys(section, cell) + [job, repetition, iteration, float(seconds.max()), float(seconds.min())])
    return Table(f"{section.slug}-samples", columns, rows)


def exact(value: Value) -> str:
    """A value for a CSV file: floats so that reading them gives the same number again."""
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def write_table(table: Table, folder: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([exact(value) for value in row] for row in table.rows)
    (folder / f"{table.name}.csv").write_text(text.getvalue(), encoding="utf-8")
