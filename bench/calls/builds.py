"""Two builds of the library: a commit from before, and this checkout. Both are made alike, in build-calls/."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build-calls"
OPTIONS = ("-Dbuildtype=release", "-Dmpi=enabled")


class Refused(Exception):
    """What can't be used or done, and why."""


@dataclass(frozen=True)
class Build:
    name: str  # "old" or "new"
    commit: str
    source: Path
    folder: Path

    @property
    def calls(self) -> Path:
        return self.folder / "calls"

    @property
    def bench(self) -> Path:
        return self.folder / "bench/dsop-bench"


def output_of(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def run_quietly(*command: str | Path) -> None:
    """Shows what the command printed only if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, env={"CCACHE_SLOPPINESS": "pch_defines,time_macros"} | os.environ)
    if done.returncode != 0:
        raise Refused(f"{' '.join(str(word) for word in command)}: exit status {done.returncode}\n{done.stdout}")


def find_builds(baseline: str) -> tuple[Build, Build]:
    try:
        commit = output_of("git", "rev-parse", "--verify", "--quiet", "--short=10", baseline + "^{commit}")
    except Refused as error:
        raise Refused(f"--baseline is '{baseline}', expected a commit of this repository") from error
    source = FOLDER / commit
    return (Build("old", commit, source, source / "build"),
            Build("new", output_of("git", "describe", "--always", "--dirty", "--abbrev=10"), ROOT, FOLDER / "new"))


def make(build: Build, target: str) -> None:
    """A target of ninja's, compiled as far as it has changed."""
    if not build.source.exists():
        run_quietly("git", "worktree", "prune")
        run_quietly("git", "worktree", "add", "--force", "--detach", build.source, build.commit)
    if not (build.folder / "build.ninja").exists():
        run_quietly("meson", "setup", build.folder, build.source, *OPTIONS)
    run_quietly("ninja", "-C", build.folder, target)


def make_calls(build: Build) -> None:
    """The program of the build's own commit: interfaces differ, scenes have the same names."""
    make(build, "src/libdsop.a")
    sources = sorted((build.source / "bench/calls").glob("*.cpp"))
    run_quietly("mpicxx", "-std=c++20", "-O3", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-I", build.source / "include", *sources,
                build.source / "bench/statistics.cpp", build.folder / "src/libdsop.a", "-lopenblas", "-fopenmp", "-o", build.calls)
