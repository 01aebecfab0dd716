#!/usr/bin/python3
"""Runs the training example as a user does: on threads and under mpirun, with good and bad input, and interrupted.

Needs no data: it writes what it reads. What is under mpirun is left out where there is none, or none was built in.
"""
from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from programs import OF_RANK

LONGEST_SECONDS = 60  # a run that takes longer is taken to hang
LOSS_UNIT = 1e-5  # losses are printed to this
IMAGES = "t10k-images-idx3-ubyte"
LABELS = "t10k-labels-idx1-ubyte"


@dataclass
class Run:
    """What a run has left."""

    status: int
    words: str
    losses: list[float]
    accuracies: list[float]


@dataclass
class Example:
    """The program, and the folder that all its processes run in."""

    program: Path
    folder: Path

    def command(self, processes: int) -> list[str]:
        """With 0 processes the ranks are threads."""
        if processes == 0:
            return [str(self.program)]
        flags = "--oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
        return ["mpirun", *flags.split(), "-n", str(processes), str(self.program)]

    def run(self, command: list[str]) -> Run:
        try:
            result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill_processes()
            return Run(0, f"no end after {LONGEST_SECONDS} s", [], [])
        rows = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
        rows = [row for row in rows if len(row) == 4]
        return Run(result.returncode, result.stderr, [float(row[1]) for row in rows], [float(row[2]) for row in rows])

    def running_processes(self) -> list[int]:
        """Those that this test has started and that have not ended."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and Path(os.readlink(entry / "cwd")) == self.folder:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def kill_processes(self) -> None:
        for process in self.running_processes():
            os.kill(process, signal.SIGKILL)


class Checks:
    """Prints a line for each check and counts them."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def check(self, what: str, holds: bool, otherwise: str = "") -> None:
        print(f"ok   {what}" if holds else f"FAIL {what}: {otherwise}", flush=True)
        self.passed += holds
        self.failed += not holds


def has_mpi(program: Path) -> bool:
    libraries = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    return "libmpi" in libraries and shutil.which("mpirun") is not None


def where(processes: int) -> str:
    return "threads" if processes == 0 else f"mpirun -n {processes}"


def idx_bytes(shape: list[int], values: bytes) -> bytes:
    return bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + values


def bar_digits(count: int) -> tuple[bytes, bytes]:
    """Images of 5 x 10 in which the column of the label is darkest, and the labels."""
    generator = random.Random(1)
    labels = bytes(generator.randrange(10) for _ in range(count))
    pixels = bytes(
        generator.randrange(100, 256) if column == label else generator.randrange(0, 156)
        for label in labels for _ in range(5) for column in range(10)
    )
    return idx_bytes([count, 5, 10], pixels), idx_bytes([count], labels)


def check_training(checks: Checks, example: Example, mpi: bool) -> None:
    def compare(what: str, options: list[str], one_rank: Run, commands: dict[str, list[str]]) -> None:
        for name, command in commands.items():
            run = example.run([*command, *options])
            same = len(run.losses) == len(one_rank.losses) > 0 and all(
                abs(a - b) < 1.5 * LOSS_UNIT for a, b in zip(run.losses, one_rank.losses))
            checks.check(f"{what} on {name}: the losses of one rank", run.status == 0 and same,
                         f"status {run.status}, {run.losses} instead of {one_rank.losses}, {run.words}")

    def ranks(*numbers: int) -> dict[str, list[str]]:
        threads = {f"{number} threads": [*example.command(0), "--ranks", str(number)] for number in numbers}
        return threads | ({"mpirun -n 2": example.command(2)} if mpi else {})

    options = ["--epochs", "4"]
    one_rank = example.run([*example.command(0), "--ranks", "1", *options])
    accuracy = one_rank.accuracies[-1] if one_rank.accuracies else 0
    checks.check(f"drawn digits: accuracy {accuracy} is at least 0.9", one_rank.status == 0 and accuracy >= 0.9,
                 f"status {one_rank.status}, {one_rank.words}")
    compare("drawn digits", options, one_rank, ranks(2, 3, 4))

    images, labels = bar_digits(2000)
    folder = write_files("plain", example.folder, images, labels)
    packed = write_files("packed", example.folder, images, labels, pack=True)
    options = ["--epochs", "6"]
    one_rank = example.run([*example.command(0), "--ranks", "1", folder, *options])
    accuracy = one_rank.accuracies[-1] if one_rank.accuracies else 0
    checks.check(f"IDX files of 5 x 10: accuracy {accuracy} is at least 0.9", accuracy >= 0.9, one_rank.words)
    compare("gzip'd IDX files", [packed, *options], one_rank, ranks(4))

    options = [folder, "--epochs", "1", "--batch", "7"]
    one_rank = example.run([*example.command(0), "--ranks", "1", *options])
    compare("batches of 7", options, one_rank, ranks(9))


def write_files(name: str, parent: Path, images: bytes | None, labels: bytes | None, pack: bool = False) -> str:
    folder = parent / name
    folder.mkdir()
    for file, content in ((IMAGES, images), (LABELS, labels)):
        if content is not None:
            (folder / (file + ".gz" if pack else file)).write_bytes(gzip.compress(content) if pack else content)
    return str(folder)


def check_bad_input(checks: Checks, example: Example, mpi: bool) -> None:
    images, labels = bar_digits(100)
    few_images, few_labels = bar_digits(9)
    in_temporary: Callable[..., str] = lambda name, *files: write_files(name, example.folder, *files)
    good = in_temporary("good", images, labels)
    too_large = idx_bytes([0xFFFFFFFF, 28, 28], b"123")
    bad_input = {
        "no folder": (["absent"], ["absent", "no such folder"]),
        "a truncated file": ([in_temporary("truncated", images[:-1], labels)], [IMAGES, "found 5015"]),
        "--epochs 0": (["--epochs", "0"], ["--epochs", "0", "1000000"]),
        "--learning-rate nan": ([good, "--learning-rate", "nan"], ["--learning-rate", "nan", "not finite"]),
    }
    bad_on_mpi = {"--ranks 3": (["--ranks", "3"], ["--ranks", "3", "2"])}
    bad_on_threads = {
        "an empty folder": ([in_temporary("empty", None, None)], ["empty", IMAGES]),
        "no labels": ([in_temporary("unlabelled", images, None)], ["unlabelled", LABELS]),
        "a file of text": ([in_temporary("text", images, b"seven, two, one")], [LABELS, "not an IDX file"]),
        "a huge claim": ([in_temporary("huge", too_large, labels)], [IMAGES, "expected one for each"]),
        "a label too few": ([in_temporary("label", images, idx_bytes([99], labels[8:-1]))], [LABELS, "99", "100"]),
        "9 images": ([in_temporary("few", few_images, few_labels)], ["few", "9", "at least 10"]),
        "--batch -5": (["--batch", "-5"], ["--batch", "-5", "1000000"]),
        "--ranks none": (["--ranks", "none"], ["--ranks", "none"]),
        "two folders": (["one", "two"], ["two"]),
    }
    cases = {0: bad_input | bad_on_threads} | ({2: bad_input | bad_on_mpi} if mpi else {})
    for processes, bad_here in cases.items():
        for name, (arguments, words) in bad_here.items():
            run = example.run([*example.command(processes), *arguments])
            said = all(word in run.words for word in words) and run.words.count("error: ") <= 1
            checks.check(f"{name} on {where(processes)}: non-zero status and a message", run.status > 0 and said,
                         f"status {run.status}, {run.words}")
    if mpi:
        run = example.run([*example.command(2)[:-1], OF_RANK, str(example.program), good, "::", str(example.program), "absent"])
        checks.check("a bad folder on rank 1 alone ends both ranks", run.status > 0 and "rank 1: absent" in run.words,
                     f"status {run.status}, {run.words}")


def check_interrupt(checks: Checks, example: Example, mpi: bool) -> None:
    for processes in (0, 2) if mpi else (0,):
        command = [*example.command(processes), "--epochs", "1000000"]
        with subprocess.Popen(command, cwd=example.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as process:
            begun = any(not line.startswith("#") for line in process.stdout)
            process.send_signal(signal.SIGINT)
            try:
                status = process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                status = 0
                example.kill_processes()
            checks.check(f"Ctrl-C on {where(processes)}: non-zero status", begun and status != 0, f"status {status}")
        deadline = time.monotonic() + 5
        while example.running_processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        left = example.running_processes()
        checks.check(f"Ctrl-C on {where(processes)}: no process is left", not left, f"processes {left}")
        example.kill_processes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="softmax-mnist, as built")
    program = parser.parse_args().program.resolve()
    if not os.access(program, os.X_OK):
        parser.error(f"program is {program}, expected a program")

    # A shell starts what it runs in the background with Ctrl-C ignored, and that would be inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    mpi = has_mpi(program)
    if not mpi:
        print("mpirun or a build with MPI is missing: threads only")
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="softmax_mnist_test.") as folder:
        example = Example(program, Path(folder).resolve())
        check_training(checks, example, mpi)
        check_bad_input(checks, example, mpi)
        check_interrupt(checks, example, mpi)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
