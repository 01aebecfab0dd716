"""dsop-bench's tables by both builds in turns: which rows are slower than they were."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from calls.builds import Build
from calls.launch import Place
from calls.results import Row, Sides, by_key, interval, table

COMMANDS = (
    ("outer-product", "--algorithm", "all", "--rows", "100,1000,4000"),
    ("sparse-allreduce", "--algorithm", "all"),
    ("sparse-allreduce", "--algorithm", "all", "--select", "threshold-reuse"),
)
PROBLEM = ("rows", "columns", "pairs", "size", "density")  # as far as a row has them
KEYS = ("family", "problem", "algorithm")


def measure_table(build: Build, place: Place, command: tuple[str, ...]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        place.run(build.bench, *command, "--out", str(file))
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            problem = ", ".join(f"{key} {row[key]}" for key in PROBLEM if key in row)
            yield {"family": row["family"], "problem": problem, "algorithm": row["algorithm"],
                   "seconds": median(max(of_ranks) for of_ranks in row["seconds"])}


def verdict(sides: Sides) -> str:
    old, new, _ = sides.estimates()
    if new.low > old.high:
        return "slower"
    return "ahead" if new.high < old.low else "overlap"


def report_tables(rows: list[Row]) -> str:
    of_all = by_key(rows, KEYS, "seconds")
    sides = {key: of_both for key, of_both in of_all.items() if of_both.old and of_both.new}  # not what one build alone has
    cells, slower = [], []
    for key, of_both in sides.items():
        old, new, ratio = of_both.estimates()
        says = verdict(of_both)
        cells.append([*key, interval(old, 1e6), interval(new, 1e6), interval(ratio), says])
        if says == "slower":
            slower.append(", ".join(key) + f": old / new {interval(ratio)}")
    lines = [table([*KEYS, "old, us", "new, us", "old / new", "intervals"], cells), "",
             f"{len(slower)} of {len(sides)} rows are slower than they were" + (":" if slower else ".")]
    return "\n".join(lines + [f"- {line}" for line in slower])
