"""Violins: how the times of an algorithm are spread, on a log scale, a panel for each problem."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from .curves import panel_title
from .rows import Problem
from .sections import Cell, Section
from .sheet import Form, Picture, make_sheet, pages_of
from .style import SECONDS, Look, algorithm_handles, facts_text, in_legend_order, log_ticks, plain_number

SMALLEST_VIOLIN = 8  # with fewer samples the points say all there is
HALF_WIDTH = 0.4
CAP = 0.15
JOBS, ITERATIONS = "medians of jobs", "all iterations of all jobs"


def density(sample: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Gaussian kernel density with Silverman's bandwidth (Density Estimation, 1986, eq. 3.31); the sample must vary."""
    low, high = np.percentile(sample, [25, 75])
    deviation = float(np.std(sample, ddof=1))
    spread = min(deviation, (high - low) / 1.34) or deviation
    bandwidth = 0.9 * spread * len(sample) ** -0.2
    distances = (positions[:, None] - sample[None, :]) / bandwidth
    return np.exp(-0.5 * distances**2).sum(axis=1) / (len(sample) * bandwidth * np.sqrt(2 * np.pi))


def _draw_violin(axes: Axes, seconds: np.ndarray, height: float, look: Look) -> None:
    logs = np.log10(seconds)
    if len(seconds) >= SMALLEST_VIOLIN and logs.max() - logs.min() > 1e-6:
        positions = np.linspace(logs.min(), logs.max(), 90)
        widths = density(logs, positions)
        widths *= HALF_WIDTH / widths.max()
        axes.fill_between(10**positions, height - widths, height + widths, color=look.colour, alpha=0.4, linewidth=0)
        low, high = np.percentile(seconds, [5, 95])
        axes.hlines(height, low, high, color=look.colour, linewidth=1)
        axes.vlines([low, high], height - CAP, height + CAP, color=look.colour, linewidth=1.5)
    else:
        axes.plot(seconds, [height] * len(seconds), "|", color=look.colour, markersize=9)
    axes.plot(np.median(seconds), height, marker=look.marker, color=look.colour, markeredgecolor="white",
              markeredgewidth=0.6, markersize=6)


def representative(values: list[int] | list[float]) -> list:
    """The smallest, the middle and the largest."""
    ordered = sorted(set(values))
    return ordered if len(ordered) <= 3 else [ordered[0], ordered[len(ordered) // 2], ordered[-1]]


def shown_problems(section: Section) -> list[Problem]:
    """For each rank count, pairs and shape the smallest, the middle and the largest size."""
    families: dict[tuple[int, int, str], list[Problem]] = {}
    for problem in section.problems:
        families.setdefault((problem.ranks, problem.pairs, problem.shape), []).append(problem)
    return [problem for family in families.values() for problem in family
            if problem.size in representative([member.size for member in family])]


def size_text(problem: Problem) -> str:
    return f"N = {plain_number(problem.size)}" if problem.shape == "1:1" else f"n = {problem.rows}, m = {problem.columns}"


def shows_jobs(cells: list[Cell]) -> bool:
    """Whether the violins of a problem are of its jobs' medians, as in figure 4 of Enderlin et al. 2021. Of fewer jobs than a
    violin needs they are of all jobs' iterations; violins of one panel are of one kind."""
    return all(len(cell.observations) >= SMALLEST_VIOLIN for cell in cells)


def _draw_panel(axes: Axes, samples: dict[str, np.ndarray], algorithms: list[str], looks: dict[str, Look]) -> None:
    seconds = np.concatenate(list(samples.values()))
    low, high = seconds.min() / 1.1, seconds.max() * 1.1
    for index, algorithm in enumerate(algorithms):
        if algorithm in samples:
            _draw_violin(axes, samples[algorithm], -index, looks[algorithm])
    axes.set(xscale="log", xlim=(low, high), ylim=(-len(algorithms) + 0.4, 0.6), yticks=[])
    log_ticks(axes.xaxis, low, high, SECONDS)
    axes.spines["left"].set_visible(False)


def draw_violins(section: Section, looks: dict[str, Look], folder: Path) -> list[Picture]:
    problems = shown_problems(section)
    shown = {problem: JOBS if shows_jobs(section.contenders(problem)) else ITERATIONS for problem in problems}
    algorithms = in_legend_order(section.algorithms)
    verb = section.setting.verb
    title = f"Spread of the {verb} times"
    what = " or ".join(kind for kind in (JOBS, ITERATIONS) if kind in shown.values())
    caption = (
        f"Of each algorithm {what}, {verb}, the slowest rank of each: density of log(time), 5th and 95th percentile (bar) and "
        "median (marker). "
        + (f"Iterations are drawn where an algorithm has fewer than {SMALLEST_VIOLIN} jobs: they spread otherwise than jobs do. "
           if ITERATIONS in shown.values() else "")
        + f"Ticks instead of a violin: fewer than {SMALLEST_VIOLIN} samples or no spread. Every panel has an axis of its own.")
    if len(problems) < len(section.problems):
        caption += (f" Drawn for the smallest, the middle and the largest N: {len(problems)} of {len(section.problems)} "
                    "problems; the table of samples has all.")
    written = []
    for name, page in pages_of(f"{section.slug}-violins", problems):
        small = Form.for_panels(len(page))
        form = Form(width=small.width + 0.5 * (len(page) > 1), height=0.45 + 0.3 * len(algorithms), left=0.2, gap=0.35,
                    columns=small.columns)
        sheet = make_sheet(len(page), title, algorithm_handles(section, algorithms, looks, "none"),
                           facts_text(section, [problem.ranks for problem in page]), form, share_x=False, share_y=True)
        for axes, problem in zip(sheet.panels, page):
            samples = {cell.algorithm: np.array(list(cell.observations.values())) if shown[problem] == JOBS else cell.iterations
                       for cell in section.contenders(problem)}
            _draw_panel(axes, samples, algorithms, looks)
            axes.set_title(f"{panel_title((problem.ranks, problem.pairs, '1:1'))}, {size_text(problem)}", loc="left")
            axes.set_xlabel(f"{verb} time of the slowest rank, {shown[problem]}")
        written.append(sheet.save(folder, Picture(name, title, caption)))
    return written
