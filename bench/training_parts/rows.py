"""What scripts/training left in a folder: the rows of dsop-train, by run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from report_parts.json_lines import parsed_rows


@dataclass
class Runs:
    """All rounds of one program call."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    epochs: list[dict[str, Any]] = field(default_factory=list)
    warm: list[dict[str, Any]] = field(default_factory=list)  # steps but the first of each round

    def seconds(self, of: str = "seconds") -> np.ndarray:
        values = [row[of] for row in self.warm]
        return np.array([max(value) if isinstance(value, list) else value for value in values])

    def median(self, of: str = "seconds") -> float:
        return float(np.median(self.seconds(of)))

    def parts(self) -> dict[str, float]:
        """Where the seconds of a step went: means over ranks and steps, which add up. Empty if some row does not say."""
        if not self.warm or any("selection_seconds" not in row for row in self.warm):
            return {}
        return {part: float(np.mean([row[f"{part}_seconds"] for row in self.warm]))
                for part in ("arithmetic", "selection", "communication")}


def read_rows(path: Path) -> list[dict[str, Any]]:
    return parsed_rows(path, "dsop-train or dsop-bench", lambda row: row)


def add(runs: Runs, path: Path) -> None:
    rows = read_rows(path)
    if rows and "model" in rows[0]:  # dsop-train linear: one row an epoch, the first of which warms up
        rows = [row | {"kind": "epoch"} for row in rows]
        runs.warm += [row | {"seconds": row["total_seconds"]} for row in rows[1:]]
    steps = [row for row in rows if row["kind"] == "step"]
    runs.steps += steps
    runs.warm += steps[1:]
    runs.epochs += [row for row in rows if row["kind"] == "epoch"]


def rounds_of(folder: Path) -> Runs:
    runs = Runs()
    for path in sorted(folder.glob("*.jsonl")):
        add(runs, path)
    return runs
