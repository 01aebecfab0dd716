"""Hands jobs to Slurm, those alone that have something to do."""

from __future__ import annotations

import getpass
import os
import platform
import subprocess
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .jobs import Job, batch_file, batch_script, jobs_of, points_of, rows_file, settings_on
from .manifest import begin_or_continue, facts_of, known_algorithms, write_manifest
from .rows import complete_points
from .settings import Request, Settings, SweepError


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _slurm(*command: str) -> str:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise SweepError(f"{command[0]}: {error.strerror}; a sweep is submitted where Slurm's client programs are") from None
    if done.returncode != 0:
        raise SweepError(f"'{' '.join(command)}' ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


def _queued() -> set[str]:
    """The numbers of the user's jobs that wait or run. Those that are just ending need not be waited for: a job waits by
    itself for others of its name (--dependency=singleton)."""
    states = "PENDING,CONFIGURING,RUNNING,SUSPENDED,REQUEUED"
    return set(_slurm("squeue", "-h", "-r", "-u", str(os.getuid()), "-t", states, "-o", "%A").split())


def _sbatch(file: Path) -> str:
    """The job's number."""
    try:
        return _slurm("sbatch", "--parsable", str(file)).split(";")[0]
    except SweepError as error:
        if "partition" not in str(error):
            raise
        partitions = ", ".join(dict.fromkeys(_slurm("sinfo", "-h", "-a", "-o", "%R").split()))
        raise SweepError(f"{error}; the partitions of sinfo are {partitions}") from None


def missing_points(out: Path, settings: Settings, job: Job) -> int:
    complete = complete_points(rows_file(out, job), settings_on(out, settings, job), job)
    return len(set(points_of(settings)) - set(complete))


def submit(request: Request, dry_run: bool) -> None:
    """Submits every job with missing points that is not in the queue; `dry_run` prints their batch files instead."""
    out = request.out
    facts = facts_of(request.bench)
    settings = request.settings
    settings.check_algorithms(known_algorithms(request.bench, settings.command))
    manifest = begin_or_continue(out, settings, facts)
    texts = {job: batch_script(settings, job, out, request.bench, request.sbatch)
             for job in jobs_of(settings) if missing_points(out, settings, job) > 0}
    if dry_run:
        for job, text in texts.items():
            print(f"# {batch_file(out, job)}\n{text}")
        return
    numbers = {name: number for submission in manifest["submissions"] for name, number in submission["jobs"].items()}
    queued = _queued()
    new_numbers: dict[str, str] = {}
    submission = {"date": datetime.now(timezone.utc).isoformat(timespec="seconds"), "user": getpass.getuser(),
                  "host": platform.node(), "folder": os.getcwd(), "command": sys.argv, "bench": str(request.bench),
                  "jobs": new_numbers}
    manifest["submissions"].append(submission)
    for folder in (out, out / "rows", out / "jobs"):
        folder.mkdir(parents=True, exist_ok=True)
    write_manifest(out, manifest)  # sbatch may refuse the first job: the same call again must know the folder
    for job, text in texts.items():
        if numbers.get(job.name) in queued:
            say(f"{job.name}: is in the queue as job {numbers[job.name]}, not submitted again")
            continue
        batch_file(out, job).write_text(text)
        new_numbers[job.name] = _sbatch(batch_file(out, job))
        write_manifest(out, manifest)
        print(new_numbers[job.name], job.name, flush=True)
    jobs = len(jobs_of(settings))
    say(f"{len(new_numbers)} of {jobs} jobs submitted; {jobs - len(texts)} had nothing left to do")


def _states(manifest: dict[str, Any]) -> dict[str, str] | None:
    """What squeue says of each job that waits or runs, by its name; None where there is no Slurm."""
    numbers = {name: number for submission in manifest["submissions"] for name, number in submission["jobs"].items()}
    try:
        lines = _slurm("squeue", "-h", "-r", "-u", str(os.getuid()), "-o", "%A %T %r").splitlines()
    except SweepError as error:
        say(f"no states of jobs: {error}")
        return None
    states = {number: f"{state.lower()} ({reason})" if reason != "None" else state.lower()
              for number, state, reason in (line.split(maxsplit=2) for line in lines)}
    return {name: states[number] for name, number in numbers.items() if number in states}


def print_status(out: Path, manifest: dict[str, Any], settings: Settings) -> None:
    """A line for each P: points that have all rows, all points, a point of each job counting once, and what its jobs do."""
    states = _states(manifest)
    print("# ranks     done   points  jobs")
    for procs in settings.procs:
        jobs = [job for job in jobs_of(settings) if job.procs == procs]
        points = len(jobs) * len(points_of(settings))
        done = points - sum(missing_points(out, settings, job) for job in jobs)
        counts = Counter(states[job.name] for job in jobs if job.name in states) if states is not None else {"not known": len(jobs)}
        words = ", ".join(f"{count} {state}" for state, count in counts.items()) or "none in the queue"
        print(f"{procs:7} {done:8} {points:8}  {words}")
