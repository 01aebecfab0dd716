"""Pictures of training runs: loss curves, chosen elements, time over the number of ranks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

from report_parts.style import SECONDS, Look, log_ticks, size_ticks

# The same in every picture. What sends alike shares a colour.
LOOKS = {
    "dense": Look("#000000", "s"), "dense:mpi": Look("#000000", "s"), "dense-overlapped:mpi": Look("#000000", "d"),
    "dense:ring": Look("#009E73", "D"), "dense-overlapped:ring": Look("#009E73", "X"),
    "dense:ring --no-overlap": Look("#009E73", "<"), "dense:rabenseifner": Look("#D55E00", "v"),
    "dense:linear-pipeline": Look("#66331A", "p"), "dense:minimum-spanning-tree": Look("#E6CC80", "h"),
    "dsop": Look("#E69F00", "^"), "ok-topk": Look("#0072B2", "o"), "topk": Look("#56B4E9", ">"),
    "topk(allgather)": Look("#5AD2E1", "1"), "topk(topk-dsa)": Look("#A5D2A5", "3"),
    "ok-topk-published": Look("#8778FF", "H"), "ok-topk-adapting": Look("#FF005A", "8"),
    "gtopk": Look("#8000E6", "*"), "gaussian-k": Look("#CC79A7", "P"), "expected-k": Look("#990066", "X"),
    "expected-k-clipped": Look("#963C00", "x"), "expected-k-threshold": Look("#961E4B", "|"),
    "topk-per-bucket": Look("#693CC3", "4"), "gaussian-k-per-bucket": Look("#F0964B", "+"),
    "expected-k-per-bucket": Look("#78693C", "p"), "expected-k-clipped-per-bucket": Look("#960F87", "h"),
    "expected-k-threshold-per-bucket": Look("#9696FF", "v"),
    "none": Look("#9A9A9A", "."), "xi": Look("#000000", "."),
}

LINES = {"sum": "--", "predicted": ":"}
# Of the parts of a step.
COLOURS = {"arithmetic": "#9A9A9A", "selection": "#E69F00", "communication": "#0072B2"}


def look_of(name: str) -> Look:
    """Of a policy, with or without its numbers and density, or of what a line shows of one: "ok-topk(8):0.01, sum"."""
    policy = re.sub(r"\([\d.,]+\)", "", name).split(",")[0]
    return LOOKS.get(policy, LOOKS.get(policy.split(":")[0], Look("#001A80", "2")))


def smooth(values: list[float], window: int = 25) -> np.ndarray:
    """The mean of the last `window` values; of fewer at the beginning."""
    sums = np.cumsum([0.0, *values])
    counts = np.minimum(np.arange(1, len(values) + 1), window)
    return (sums[1:] - sums[np.arange(1, len(values) + 1) - counts]) / counts


def ratios(steps: list[dict[str, Any]], of: str) -> list[float]:
    """Elements that rank 0 chose, or that the sum holds, over k, by step; empty where the rows do not say."""
    return [row[of] / row["target"] for row in steps if row.get("target") and of in row]


def save(axes: Axes, path: Path) -> None:
    axes.legend(fontsize=7.5, loc="upper left", bbox_to_anchor=(1.01, 1))
    axes.figure.tight_layout()
    axes.figure.savefig(path)
    pyplot.close(axes.figure)


def draw(lines: dict[str, list[float]], label: str, path: Path) -> None:
    """A line each over the number of steps, smoothed."""
    axes = pyplot.subplots(figsize=(7, 3.6))[1]
    for name, values in lines.items():
        axes.plot(range(1, len(values) + 1), smooth(values), color=look_of(name).colour,
                  linestyle=LINES.get(name.rpartition(", ")[2], "-"), label=name)
    axes.set_xlabel("step (each point: mean of the last 25)")
    axes.set_ylabel(label)
    save(axes, path)


def curves(losses: dict[str, list[float]], path: Path) -> None:
    draw(losses, "training loss", path)


def chosen(lines: dict[str, list[float]], path: Path) -> None:
    if lines:
        draw(lines, "elements / k", path)


def xi(counts: dict[str, list[float]], values: dict[int, float], path: Path) -> None:
    """Above: elements beside k in each step; below: xi where it was measured."""
    above, below = pyplot.subplots(2, 1, figsize=(7, 5), sharex=True)[1]
    for (name, ratios_of), policy in zip(counts.items(), ("ok-topk", "dsop")):
        above.plot(range(1, len(ratios_of) + 1), ratios_of, color=LOOKS[policy].colour, linewidth=0.5, alpha=0.4)
        above.plot(range(1, len(ratios_of) + 1), smooth(ratios_of), color=LOOKS[policy].colour, label=name)
    above.set_ylim(0.7, 1.3)
    above.set_ylabel("elements / k")
    above.legend(fontsize=7.5)
    below.plot(list(values), list(values.values()), color=LOOKS["xi"].colour, label="xi", marker=".", markersize=3, linewidth=0.5)
    below.set_ylim(bottom=0)
    below.set_xlabel("step (thick above: mean of the last 25)")
    below.set_ylabel("xi")
    save(below, path)


def breakdown(parts: dict[str, dict[str, float]], label: str, path: Path) -> None:
    """A bar for each name, of its parts one after the other."""
    axes = pyplot.subplots(figsize=(7, 0.8 + 0.35 * len(parts)))[1]
    begin = np.zeros(len(parts))
    for part, colour in COLOURS.items():
        seconds = np.array([of[part] for of in parts.values()])
        axes.barh(list(parts), seconds, left=begin, color=colour, label=part)
        begin += seconds
    axes.invert_yaxis()
    axes.set_xlabel(label)
    save(axes, path)


def scaling(seconds: dict[str, dict[int, float]], label: str, path: Path) -> None:
    axes = pyplot.subplots(figsize=(7, 3.6))[1]
    for name, points in seconds.items():
        ranks = sorted(points)
        axes.plot(ranks, [points[count] for count in ranks], color=look_of(name).colour, marker=look_of(name).marker, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    every = [value for points in seconds.values() for value in points.values()]
    size_ticks(axes.xaxis, [float(count) for count in sorted({count for points in seconds.values() for count in points})])
    log_ticks(axes.yaxis, min(every), max(every), SECONDS)
    axes.set_xlabel("ranks")
    axes.set_ylabel(label)
    save(axes, path)
