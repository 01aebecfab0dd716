#!/usr/bin/python3
"""Rows of dsop-bench broadcast, reduce and allreduce (JSON lines) in; out a picture of time over message size, for the fewest
and the most ranks, and Markdown tables: times, and how the largest message's time grows with the ranks."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from statistics import median
from typing import Any

from report_parts import style  # sets how every picture looks

from report_parts.json_lines import Refused, parsed_rows
from report_parts.rows import ELEMENT_BYTES

import matplotlib.pyplot as plt

FAMILIES = ("broadcast", "reduce", "allreduce")
BASE = "linear-pipeline(64)"
Times = dict[tuple[str, int, int, str], float]  # seconds by family, ranks, bytes, algorithm


def read(path: Path) -> tuple[Times, bool]:
    """And whether they are of a simulation, which all rows must be or none."""
    times: Times = {}
    kinds: set[bool] = set()

    def add(row: dict[str, Any]) -> None:
        size = row["size"] * ELEMENT_BYTES[row["dtype"]]
        times[row["family"], row["ranks"], size, row["algorithm"]] = median(max(iteration) for iteration in row["seconds"])
        kinds.add("simulated" in row["host"])

    parsed_rows(path, "dsop-bench broadcast, reduce or allreduce", add)
    if len(kinds) > 1:
        raise Refused(f"{path}: some rows are simulated and some measured, expected one kind")
    return {key: seconds for key, seconds in times.items() if key[2] >= 1024}, kinds == {True}


def values(times: Times, position: int, family: str, ranks: int | None = None) -> list:
    """The family's ranks (1), sizes (2) or algorithms (3), in the order of the file but for numbers."""
    found = dict.fromkeys(key[position] for key in times if key[0] == family and ranks in (None, key[1]))
    return list(found) if position == 3 else sorted(found)


def size_text(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def draw(times: Times, simulated: bool, picture: Path) -> None:
    swept = [ranks for ranks in values(times, 1, FAMILIES[0]) if len(values(times, 2, FAMILIES[0], ranks)) > 1]
    figure, axes = plt.subplots(len(swept), len(FAMILIES), figsize=(9, 2.9 * len(swept)), squeeze=False, sharey=True)
    markers = "osv^DP"
    for row, ranks in zip(axes, swept):
        for axis, family in zip(row, FAMILIES):
            for marker, algorithm in zip(itertools.cycle(markers), values(times, 3, family)):
                sizes = [size for size in values(times, 2, family, ranks) if (family, ranks, size, algorithm) in times]
                axis.loglog(sizes, [times[family, ranks, size, algorithm] * 1e3 for size in sizes], marker=marker,
                            markersize=3.5, label=algorithm)
            axis.set_title(f"{family}, {ranks} ranks")
            axis.set_xlabel("bytes")
            axis.legend(fontsize=6.5, frameon=False)
        row[0].set_ylabel("ms, simulated" if simulated else "ms")
    figure.tight_layout()
    figure.savefig(picture)


def print_times(times: Times, family: str, ranks: int) -> None:
    algorithms = values(times, 3, family, ranks)
    print(f"\n{family}, P = {ranks}, ms:\n")
    print("| message | " + " | ".join(f"`{algorithm}`" for algorithm in algorithms) + " |")
    print("| --- |" + " --- |" * len(algorithms))
    for size in values(times, 2, family, ranks):
        row = (f"{times[family, ranks, size, algorithm] * 1e3:.3f}" for algorithm in algorithms)
        print(f"| {size_text(size)} | " + " | ".join(row) + " |")


def print_growth(times: Times, family: str) -> None:
    largest = values(times, 2, family)[-1]
    all_ranks = values(times, 1, family)
    print(f"\n{family} of {size_text(largest)}, ms, and how many times `{BASE}`'s:\n")
    print("| | " + " | ".join(f"P = {ranks}" for ranks in all_ranks) + f" | last / first |\n| --- |{' --- |' * (len(all_ranks) + 1)}")
    for algorithm in values(times, 3, family):
        seconds = [times[family, ranks, largest, algorithm] for ranks in all_ranks]
        row = (f"{s * 1e3:.1f} ({s / times[family, ranks, largest, BASE]:.2f})" for s, ranks in zip(seconds, all_ranks))
        print(f"| `{algorithm}` | " + " | ".join(row) + f" | {seconds[-1] / seconds[0]:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--picture", type=Path, required=True)
    options = parser.parse_args()
    try:
        times, simulated = read(options.rows)
    except (Refused, OSError) as problem:
        sys.exit(f"error: {problem}")
    draw(times, simulated, options.picture)
    for family in FAMILIES:
        print_growth(times, family)
    for family in FAMILIES:
        for ranks in values(times, 1, family):
            if len(values(times, 2, family, ranks)) > 1:
                print_times(times, family, ranks)


if __name__ == "__main__":
    main()
