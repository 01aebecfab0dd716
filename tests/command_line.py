"""dsop-bench for tests of its command line: how to run it and what it must refuse.

A test file is called with: DSOP_BENCH ALGORITHMS_PAGE [MPIRUN].
"""

import os
import signal
import subprocess
import sys
import time
import unittest
import uuid
from pathlib import Path

import runner

BENCH, ALGORITHMS_PAGE = sys.argv[1:3]
MPIRUN = sys.argv[3] if sys.argv[3:] else ""


def run(*arguments: str, ranks: int = 0) -> subprocess.CompletedProcess:
    """dsop-bench with these arguments; with `ranks`, under mpirun."""
    return subprocess.run(command(*arguments, ranks=ranks), capture_output=True, text=True, timeout=60)


def table_of(stdout: str) -> list[list[str]]:
    """The cells of a table's rows."""
    return [line.replace("no gain", "no-gain").split() for line in stdout.splitlines() if not line.startswith("#")]


def command(*arguments: str, ranks: int = 0) -> list[str]:
    launcher = [MPIRUN, "-n", str(ranks)] if ranks else []
    return [*launcher, BENCH, *arguments]


def processes_marked(mark: str) -> list[int]:
    """The processes whose environment holds this run's mark."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            pass
    return found


class LongRun:
    """A benchmark that would run for hours, with everything it starts marked."""

    def __init__(self, *options: str, ranks: int = 0) -> None:
        self.mark = f"DSOP_TEST_RUN={uuid.uuid4()}"
        name, value = self.mark.split("=")
        line = command("outer-product", "--rows", "1500", "--algorithm", "allreduce-ring", "--iterations", "1000000",
                       *options, ranks=ranks)
        self.process = subprocess.Popen(line, env={**os.environ, name: value}, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        expected = 1 + ranks if ranks else 1
        deadline = time.monotonic() + 20
        while len(processes_marked(self.mark)) < expected and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)  # well into the benchmark

    def end(self) -> int:
        """Its exit status; kills it if it does not end within ten seconds, and says so by -999."""
        try:
            self.stderr = self.process.communicate(timeout=10)[1].decode()
            status = self.process.returncode
        except subprocess.TimeoutExpired:
            status = -999
        deadline = time.monotonic() + 5
        while processes_marked(self.mark) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.orphans = processes_marked(self.mark)
        for process in self.orphans:
            os.kill(process, signal.SIGKILL)
        return status

    def rank_processes(self) -> list[int]:
        names = {p: Path(f"/proc/{p}/comm").read_text().strip() for p in processes_marked(self.mark)}
        return [p for p, name in names.items() if name == Path(BENCH).name]


class Refusing(unittest.TestCase):
    def assert_refused(self, result: subprocess.CompletedProcess, *words: str) -> None:
        self.assertNotEqual(result.returncode, 0, result)
        for word in words:
            self.assertIn(word, result.stderr)


def main() -> None:
    runner.main(sys.argv[:1], verbosity=2)
