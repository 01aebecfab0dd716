"""Measured steps as a table: medians, intervals, and ratios of each round's pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from calls.results import Row, interval, number, table
from report_parts.intervals import order_estimate


def by_round(rows: list[Row], way: str, value: Callable[[Row], float]) -> npt.NDArray[np.float64]:
    return np.array([value(row) for row in rows if row["way"] == way])


def report(rows: list[Row], words_of: Mapping[str, str]) -> str:
    """A table; words_of says what each model is. Below it, how gradients travelled in the last row that knows."""
    cells, told = [], {}
    for where, model in dict.fromkeys((row["where"], row["model"]) for row in rows):
        ours = [row for row in rows if (row["where"], row["model"]) == (where, model)]
        ways = list(dict.fromkeys(row["way"] for row in ours))
        seconds = {way: by_round(ours, way, lambda row: float(np.median(row["seconds"]))) for way in ways}
        for way in ways:
            ratio = "" if way == ways[0] else interval(order_estimate(seconds[way] / seconds[ways[0]]))
            cells.append([where, words_of[model], way, interval(order_estimate(seconds[way]), 1000), ratio,
                          number(float(by_round(ours, way, lambda row: float(row["peak_mib"])).max())),
                          f"{by_round(ours, way, lambda row: float(row['loss']))[-1]:.5f}"])
        told |= {f"{where}, {model}, {row['way']}": row["how"] for row in ours if row["how"]}
    titles = ["where", "model", "way", "step, ms", "of attach's time", "peak memory of a rank, MiB", "last loss of rank 0"]
    return "\n\n".join([table(titles, cells), *(f"{place}:\n\n{text}" for place, text in told.items())])
