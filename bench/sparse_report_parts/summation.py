"""Sums of two vectors: from which density on sparse ones take longer than dense ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from report_parts.intervals import Estimate, order_estimate
from report_parts.json_lines import parsed_rows
from report_parts.sheet import Picture
from report_parts.style import SECONDS
from report_parts.tables import Table

from .curves import Axis, Panel, Point, draw_curves
from .page import Part

SPARSE, PLAIN, DENSE = "sparse", "plain merge", "dense"
PAIRS = "interleaved merge"
PACKED = ", packed"


@dataclass(frozen=True)
class SumRow:
    dtype: str
    size: int
    density: float
    name: str
    seconds: Estimate


def read_sums(path: Path) -> list[SumRow]:
    return parsed_rows(path, "dsop-bench kernel --sums", lambda fields: SumRow(
        fields["type"], fields["size"], fields["density"], fields["contender"], order_estimate(np.array(fields["seconds"]))))


def crossing(ratios: list[tuple[float, float]]) -> float | None:
    """The density at which a ratio that rises with it is 1, on a line between logarithms; None if it is not there."""
    for (left, below), (right, above) in zip(ratios, ratios[1:]):
        if below < 1 <= above:
            share = math.log(1 / below) / math.log(above / below)
            return math.exp(math.log(left) + share * math.log(right / left))
    return None


def summation(rows: list[SumRow], small_print: str, folder: Path) -> Part:
    points: dict[tuple[str, int], dict[float, dict[str, SumRow]]] = {}
    for row in rows:
        points.setdefault((row.dtype, row.size), {}).setdefault(row.density, {})[row.name] = row
    panels, findings, lines = [], [], []
    for (dtype, size), by_density in sorted(points.items()):
        panel = Panel(f"{dtype}, N = {size}", {})
        ratios = []
        for density, by_name in sorted(by_density.items()):
            medians = {name: by_name[name].seconds.median for name in (SPARSE, PLAIN, DENSE)}
            for name in medians:
                row = by_name[name]
                panel.curves.setdefault(name, []).append(
                    Point(density, row.seconds.median, row.seconds.low, row.seconds.high))
            ratios.append((density, medians[SPARSE] / medians[DENSE]))
            lines.append([dtype, size, density] + [seconds * 1e6 for seconds in medians.values()]
                         + [ratios[-1][1], medians[PLAIN] / medians[SPARSE]])
        panels.append(panel)
        equal = crossing(ratios)
        findings.append(f"{dtype}, N = {size}: a sum of sparse vectors takes as long as one of dense ones "
                        + (f"at a density of {equal:.2%} each." if equal else "at no density that was measured."))
    picture = draw_curves(panels, Picture("summation", "Sums of two vectors on one core", "Time over the density of both."),
                          "density: share of elements that each has", Axis("median time", SECONDS), small_print, folder)
    columns = ["type", "N", "density", "sparse_us", "plain_merge_us", "dense_us", "sparse_over_dense", "plain_over_sparse"]
    return Part("summation", findings, [picture], Table("summation", columns, lines))


def layouts(rows: list[SumRow]) -> Part:
    """Indices and values in two arrays beside pairs of both: merged, and merged and packed for a message."""
    by_problem: dict[tuple[str, int, float], dict[str, float]] = {}
    for row in rows:
        by_problem.setdefault((row.dtype, row.size, row.density), {})[row.name] = row.seconds.median * 1e6
    lines: list[list[str | int | float | None]] = []
    for (dtype, size, density), us in sorted(by_problem.items()):
        merged, plain, pairs = (us[name] for name in (SPARSE, PLAIN, PAIRS))
        packed, plain_packed, pairs_packed = (us[name + PACKED] for name in (SPARSE, PLAIN, PAIRS))
        lines.append([dtype, size, density, merged, plain, pairs, pairs / merged, pairs / plain, packed, plain_packed,
                      pairs_packed, pairs_packed / packed, pairs_packed / plain_packed])
    columns = ["type", "N", "density", "ours_us", "plain_us", "pairs_us", "pairs_over_ours", "pairs_over_plain",
               "ours_packed_us", "plain_packed_us", "pairs_packed_us", "pairs_over_ours_packed", "pairs_over_plain_packed"]
    findings = [f"{what}: pairs take {min(ratios):.2f} to {max(ratios):.2f} times as long as {other}."
                for what, other, column in (("Merged", "our merge", 6), ("Merged", "a plain merge of two arrays", 7),
                                            ("Merged and packed", "ours", 11), ("Merged and packed", "the plain merge", 12))
                for ratios in [[float(line[column] or 0) for line in lines]]]
    return Part("layouts", findings, [], Table("layouts", columns, lines))
