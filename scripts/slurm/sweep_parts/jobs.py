"""The jobs of a sweep, and the points each of them walks."""

from __future__ import annotations

import itertools
import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from .settings import Settings

WALK = Path(__file__).resolve().parents[1] / "walk"


Point = tuple[float, ...]  # one call of dsop-bench: a value of each of Settings.sizes


@dataclass(frozen=True)
class Job:
    """Measures all points at one P, some of their repetitions."""

    name: str
    procs: int
    first_repetition: int
    repetitions: int


def jobs_of(settings: Settings) -> list[Job]:
    """Those of all P before the next share of repetitions, so that a sweep that is ended early has all P."""
    count = settings.jobs_per_point
    bounds = [settings.repetitions * number // count for number in range(count + 1)]
    return [Job(f"p{procs}" + (f"-j{number}" if count > 1 else ""), procs, first, end - first)
            for number, (first, end) in enumerate(zip(bounds, bounds[1:])) for procs in settings.procs]


def points_of(settings: Settings) -> list[Point]:
    if settings.layers is not None:
        return [(*layer, pairs) for layer in settings.layers for pairs in settings.pairs or []]
    lists = [getattr(settings, name) or [None] for name in settings.sizes]
    return [tuple(point[0] if size is None else size for size in point) for point in itertools.product(*lists)]


def rows_file(out: Path, job: Job) -> Path:
    return out / "rows" / f"{job.name}.jsonl"


def starts_file(out: Path, job: Job) -> Path:
    """One JSON object for each time the job started: where, on what, with which environment."""
    return out / "jobs" / f"{job.name}.starts"


def machine_file(out: Path, job: Job) -> Path:
    """What the job's first start measured."""
    return out / "jobs" / f"{job.name}.machine.json"


def names_file(out: Path, job: Job) -> Path:
    """Which algorithms `all` stands for on the job's ranks, as its first start found."""
    return out / "jobs" / f"{job.name}.algorithms.json"


def settings_on(out: Path, settings: Settings, job: Job) -> Settings:
    """With names in place of `all`, once the job has started; before that no point is complete."""
    names = names_file(out, job)
    return settings.with_all(json.loads(names.read_text())) if names.exists() else settings


def batch_file(out: Path, job: Job) -> Path:
    return out / "jobs" / f"{job.name}.sbatch"


def batch_script(settings: Settings, job: Job, out: Path, bench: Path, sbatch: str | None) -> str:
    """What sbatch reads. Slurm takes the last of two equal options, so `sbatch`, the user's, can't change P. A job waits for
    others of its name: those of the sweep, which would share the network, or its own, so that a file of rows has one writer."""
    resources = f"--ntasks={job.procs} --cpus-per-task={settings.cpus_per_task}"
    if settings.ntasks_per_node is not None:
        resources += f" --ntasks-per-node={settings.ntasks_per_node}"
    if settings.nodes is not None:
        resources += f" --nodes={settings.nodes}"
    if settings.exclusive:
        resources += " --exclusive"
    name = f"{out.name}-{job.name}" if settings.side_by_side else out.name
    log = out / "jobs" / f"{job.name}.log"
    further = f"#SBATCH {sbatch}\n" if sbatch else ""
    walk = shlex.join([str(WALK), str(out), job.name, str(bench)])
    return f"""#!/bin/bash
#SBATCH --output={log} --open-mode=append
#SBATCH --dependency=singleton
{further}#SBATCH --job-name={name} --comment={job.name} {resources}

export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
# On fewer nodes than TreeWidth Slurm's other fences (of the default, those without data) wait for nobody: a rank can
# leave MPI_Init, and end, before others are ready.
export SLURM_PMIX_FENCE=ring
if srun --mpi=list 2>&1 | grep -qw pmix; then
  launch=(srun --mpi=pmix --ntasks={job.procs} --cpus-per-task="$SLURM_CPUS_PER_TASK" --kill-on-bad-exit=1)
else
  launch=(mpirun -n {job.procs})
  if ((SLURM_CPUS_PER_TASK > 1)) && mpirun --version | grep -q 'Open MPI'; then
    launch+=(--map-by "slot:PE=$SLURM_CPUS_PER_TASK")
  fi
  launch+=(env OMP_NUM_THREADS="$OMP_NUM_THREADS")
fi
exec {walk} "${{launch[@]}}"
"""
