"""The file of a job's rows: which points it has, and cutting off what a job that was ended left of its last one."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .jobs import Job, Point
from .settings import Settings


def _lines_by_point(path: Path, settings: Settings, job: Job) -> dict[Point, dict[tuple[str, int], bytes]]:
    """The whole lines of `job`, by point, algorithm and repetition; of two for the same the first."""
    found: dict[Point, dict[tuple[str, int], bytes]] = {}
    if not path.exists():
        return found
    for line in path.read_bytes().splitlines(keepends=True):
        try:
            row = json.loads(line) if line.endswith(b"\n") else None
            # Other ranks or another transport: the launcher did not start MPI's. Wrong elements: the point is run again.
            if row["ranks"] == job.procs and row["transport"] == "mpi" and not row.get("wrong"):
                point = tuple(row[key] for key in settings.sizes.values())
                found.setdefault(point, {}).setdefault((row["algorithm"], row["repetition"]), line)
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
    return found


def complete_points(path: Path, settings: Settings, job: Job) -> dict[Point, list[bytes]]:
    """All lines of each point that has one for every algorithm and repetition: dsop-bench may add what they are compared with."""
    repetitions = range(job.first_repetition, job.first_repetition + job.repetitions)
    wanted = [(algorithm, repetition) for algorithm in settings.algorithm for repetition in repetitions]
    return {point: list(lines.values())
            for point, lines in _lines_by_point(path, settings, job).items() if all(key in lines for key in wanted)}


def keep_complete_points(path: Path, settings: Settings, job: Job) -> tuple[set[Point], int]:
    """Leaves just the complete points' lines in the file. Gives those points, and how many lines were cut.

    The file is replaced in one step, so an end of the job in between loses nothing."""
    points = complete_points(path, settings, job)
    kept = b"".join(line for lines in points.values() for line in lines)
    before = path.read_bytes() if path.exists() else b""
    if kept != before:
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(kept)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    return set(points), len(before.splitlines()) - len(kept.splitlines())
