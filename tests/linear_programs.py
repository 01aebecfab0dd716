"""dsop-data and dsop-train linear for tests of them: how to run them, on texts that are written for it.

A test file is called with: DSOP_DATA DSOP_TRAIN [MPIRUN].
"""

import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runner

DATA, TRAIN = (str(Path(program).resolve()) for program in sys.argv[1:3])
MPIRUN = sys.argv[3] if sys.argv[3:] else ""


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def hashed(folder: Path, *options: str) -> subprocess.CompletedProcess:
    return run(DATA, "hash-trigrams", str(folder / "texts.tsv"), *options)


def train(folder: Path, *options: str, processes: int = 0) -> subprocess.CompletedProcess:
    """On threads, or on that many processes under mpirun."""
    launcher = [MPIRUN, "-n", str(processes)] if processes else []
    return run(*launcher, TRAIN, "linear", str(folder / "train"), "--test", str(folder / "test"), *options)


def losses(result: subprocess.CompletedProcess) -> list[str]:
    """The column "loss"."""
    return [line.split()[1] for line in result.stdout.splitlines() if not line.startswith("#")]


class OnTexts(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory(prefix="linear_programs.")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        generator = random.Random(1)
        words = {"ham": "home dinner sorry tomorrow meet", "spam": "prize claim urgent winner cash"}
        lines = []
        for _ in range(400):
            label = generator.choice(["ham", "ham", "spam"])
            known = words[label].split() + ["the", "you", "call", "now"]
            lines.append(f"{label}\t{' '.join(generator.choices(known, k=6))} \xa3\n")
        (cls.folder / "texts.tsv").write_text("".join(lines), encoding="latin-1")
        result = hashed(cls.folder, "--bits", "16", "--out", str(cls.folder / "train"), "--held-out",
                        str(cls.folder / "test"))
        assert result.returncode == 0, result.stderr
        assert '"ham" is -1, "spam" is 1' in result.stderr, result.stderr


def main() -> None:
    runner.main(sys.argv[:1], verbosity=2)
