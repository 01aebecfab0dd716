"""The numbers of the report: run times, speedups, predictions and winners of a section's cells."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Callable

import numpy as np

from .intervals import MEDIAN, Estimate, bootstrap_estimate, bootstrap_ratio_estimate, order_estimate, stated_estimate
from .rows import Problem, Refusal
from .sections import NO_CONTENDERS, Cell, Section, bare_name

ESTIMATORS: dict[str, Callable[..., Estimate]] = {"order": order_estimate, "bootstrap": bootstrap_estimate}
PERCENTILES = (MEDIAN, 10, 90)  # those of figures 3 and 4 of Enderlin et al. 2021


@dataclass(frozen=True)
class Measured:
    """One cell's percentiles over its jobs, each with an interval; where there was one job, its iterations' median alone."""

    cell: Cell
    percentiles: dict[int, Estimate]

    def is_sure_of(self, percent: int) -> bool:
        """Whether the interval is a 95 % one, or there is nothing to estimate: times, and so ratios, that are exact."""
        one = self.percentiles[percent]
        return one.reaches_confidence or (self.cell.is_exact and one.high - one.low <= 2e-9 * one.high)

    @property
    def is_sure(self) -> bool:
        return self.is_sure_of(MEDIAN)


@dataclass(frozen=True)
class RunTime(Measured):
    """Seconds of one cell."""

    samples: int

    @property
    def seconds(self) -> Estimate:
        return self.percentiles[MEDIAN]


@dataclass(frozen=True)
class Speedup(Measured):
    """How many times faster than the base."""

    base: str
    unit: str
    observations: int

    @property
    def ratio(self) -> Estimate:
        return self.percentiles[MEDIAN]


@dataclass(frozen=True)
class Prediction:
    """The planner's model beside the median that was seen."""

    run_time: RunTime
    predicted_seconds: float

    @property
    def ratio(self) -> float:
        """Predicted over measured: above 1 the model is too slow, below 1 too fast."""
        return self.predicted_seconds / self.run_time.seconds.median


@dataclass(frozen=True)
class Winner:
    """The fastest algorithm on a problem, its lead and what the planner would have done."""

    problem: Problem
    best: RunTime
    second: RunTime
    clear: bool
    auto_choice: str | None
    fastest_own: RunTime | None
    choice: RunTime | None

    @property
    def lead(self) -> float:
        return self.second.seconds.median / self.best.seconds.median

    @property
    def choice_differs(self) -> bool:
        """Rival algorithms can't be chosen, so the choice is held against the fastest that could be."""
        return self.auto_choice is not None and self.fastest_own is not None \
            and self.auto_choice != bare_name(self.fastest_own.cell.algorithm)

    @property
    def choice_loss(self) -> float | None:
        """The chosen algorithm's time over that of the fastest that could be chosen; None if it was not measured."""
        if self.choice is None or self.fastest_own is None:
            return None
        return self.choice.seconds.median / self.fastest_own.seconds.median


def run_time(cell: Cell, interval: str) -> RunTime:
    """By order statistics, the interval that the benchmark states for a single job is used where its row carries one."""
    sample = cell.sample
    if interval == "order" and cell.stated_interval is not None:
        return RunTime(cell, {MEDIAN: stated_estimate(sample, *cell.stated_interval)}, len(sample))
    shown = PERCENTILES if cell.unit == "repetition" else (MEDIAN,)
    return RunTime(cell, {percent: ESTIMATORS[interval](sample, percent) for percent in shown}, len(sample))


def run_times(section: Section, interval: str) -> list[RunTime]:
    return [run_time(cell, interval) for _, cell in sorted(section.cells.items(), key=lambda item: item[0])]


def _speedup(cell: Cell, base: Cell) -> Speedup | None:
    """One speedup for each job that ran both; a job's algorithms shared its nodes, so the ratio is within one run."""
    shared = [key for key in cell.observations if key in base.observations]
    if not shared:
        return None
    if len(shared) == 1:
        base_times, times = (of.rows[shared[0]].seconds.max(axis=1) for of in (base, cell))
        ratio = bootstrap_ratio_estimate(base_times, times)
        return Speedup(cell, {MEDIAN: ratio}, base.algorithm, "iteration", min(len(base_times), len(times)))
    ratios = np.array([base.observations[key] / cell.observations[key] for key in shared])
    percentiles = {percent: bootstrap_estimate(ratios, percent) for percent in PERCENTILES}
    return Speedup(cell, percentiles, base.algorithm, "repetition", len(shared))


def speedups(section: Section, base: str) -> tuple[list[Speedup], list[Refusal]]:
    """Speedups over `base`, and a refusal for every row that has no row of the base from the same job beside it. Both are
    empty for a section without the base."""
    found: list[Speedup] = []
    refusals: list[Refusal] = []
    if base not in section.algorithms:
        return found, refusals
    for (problem, algorithm), cell in sorted(section.cells.items(), key=lambda item: item[0]):
        if algorithm == base:
            continue
        base_cell = section.cells.get((problem, base), Cell(problem, base, external=False))
        for key, row in cell.rows.items():
            if key not in base_cell.rows:
                refusals.append(Refusal(row.source, f"{algorithm} has no row of the base {base} on the same problem with job "
                                        f"'{row.job}' and repetition {row.repetition}: left out of the speedups only"))
        speedup = _speedup(cell, base_cell)
        if speedup is not None:
            found.append(speedup)
    return found, refusals


def predictions(times: list[RunTime]) -> list[Prediction]:
    found = []
    for time in times:
        predicted = [row.predicted_seconds for row in time.cell.rows.values() if row.predicted_seconds is not None]
        if predicted:
            found.append(Prediction(time, float(np.median(predicted))))
    return found


def _auto_choice(cells: list[Cell]) -> str | None:
    """The planner's choice for a problem: what most rows say, the first name among equals."""
    names = Counter(row.auto_choice for cell in cells for row in cell.rows.values() if row.auto_choice)
    return min(names, key=lambda name: (-names[name], name)) if names else None


def _is_clear(best: RunTime, second: RunTime) -> bool:
    """Whether the intervals of the two are known and apart."""
    return best.is_sure and second.is_sure and best.seconds.high < second.seconds.low


def winners(section: Section, interval: str) -> list[Winner]:
    """The winner of every problem that two algorithms or more ran on."""
    found = []
    for problem in section.problems:
        cells = [cell for cell in section.contenders(problem) if bare_name(cell.algorithm) not in NO_CONTENDERS]
        times = sorted((run_time(cell, interval) for cell in cells), key=lambda time: time.seconds.median)
        if len(times) < 2:
            continue
        own = [time for time in times if not time.cell.external]
        auto = _auto_choice(cells)
        found.append(Winner(
            problem=problem, best=times[0], second=times[1],
            clear=_is_clear(times[0], times[1]), auto_choice=auto,
            fastest_own=own[0] if own else None,
            choice=next((time for time in own if bare_name(time.cell.algorithm) == auto), None)))
    return found
