"""How programs are started: on ranks of this machine, or on emulated hosts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from calls.builds import ROOT, Refused, run_quietly

HOSTS, RATE = 8, "1gbit"
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Place:
    name: str  # as rows and tables say it
    launcher: tuple[str, ...]

    def run(self, program: Path, *arguments: str) -> str:
        """What the program prints."""
        done = subprocess.run([*self.launcher, str(program), *arguments], capture_output=True, text=True, check=False,
                              env=os.environ | ENVIRONMENT)
        if done.returncode != 0:
            raise Refused(f"{self.command(program, *arguments)}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout

    def command(self, program: Path, *arguments: str) -> str:
        """For people: paths as seen from the checkout."""
        return " ".join([*self.launcher, str(program), *arguments]).replace(f"{ROOT}/", "")


def on_cores(ranks: int) -> Place:
    """A core for each rank where there are so many; otherwise they share, and one that waits yields."""
    if ranks <= len(os.sched_getaffinity(0)):
        return Place(f"{ranks} pinned" if ranks > 1 else "1", ("mpirun", "--bind-to", "core", "-n", str(ranks)))
    return Place(f"{ranks} on shared cores", ("mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
                                              "-n", str(ranks)))


def end_by_exit() -> None:
    """Makes SIGHUP, SIGINT and SIGTERM exit, so that `finally` is done, which others of them (timeout sends two) don't end."""
    endings = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

    def end(number: int, _: FrameType | None) -> None:
        for each in endings:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)
    for each in endings:
        signal.signal(each, end)


@contextmanager
def emulated_hosts(name: str, rate: str) -> Iterator[Place]:
    """HOSTS of them, a rank on each, while the context lasts."""
    if os.geteuid() != 0:
        raise Refused("needs root: the emulated hosts are network namespaces")
    cluster = (str(ROOT / "scripts/cluster"), "--name", f"{name}-{os.getpid()}")  # of two runs none ends the other's
    end_by_exit()
    try:
        run_quietly(*cluster, "up", "--hosts", str(HOSTS), "--rate", rate)
        yield Place(f"{HOSTS} hosts, {rate}", (*cluster, "run", "-n", str(HOSTS), "--"))
    finally:
        run_quietly(*cluster, "down")
