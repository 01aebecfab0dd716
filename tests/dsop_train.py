"""dsop-train's perceptron and LSTMs for tests of them: how to run them, and data small enough for seconds.

A test file is called with: DSOP_TRAIN [MPIRUN].
"""

import itertools
import json
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runner

TRAIN = str(Path(sys.argv[1]).resolve())
MPIRUN = sys.argv[2] if sys.argv[2:] else ""
TEMPORARY = tempfile.TemporaryDirectory(prefix="dsop_train_test.")
FOLDER = Path(TEMPORARY.name)

MLP = ["mlp", "digits", "--hidden", "12,9", "--learning-rate", "0.1"]
CHARACTERS = ["lstm", "text.txt", "--task", "characters", "--hidden", "12", "--layers", "2", "--embedding", "5",
              "--window", "10", "--learning-rate", "0.01"]
ATIS = ["lstm", "train.iob", "--task", "atis", "--test", "test.iob", "--hidden", "12", "--embedding", "6",
        "--learning-rate", "0.02"]
LINEAR = ["linear", "samples.txt"]
MODELS = {"mlp": MLP, "characters": CHARACTERS, "atis": ATIS}
GLOBAL_BATCH = 8


def write_digits(folder: Path, count: int, rng: random.Random) -> None:
    """Images of 5 x 10 in which the column of the label is darkest."""
    labels = bytes(rng.randrange(10) for _ in range(count))
    pixels = bytes(rng.randrange(150, 256) if column == label else rng.randrange(100)
                   for label in labels for _, column in itertools.product(range(5), range(10)))
    folder.mkdir()
    (folder / "train-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", count, 5, 10) + pixels)
    (folder / "train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + struct.pack(">I", count) + labels)


def write_queries(path: Path, count: int, rng: random.Random) -> None:
    cities = ["boston", "denver", "new york", "san francisco"]
    lines = []
    for _ in range(count):
        words, tags = ["BOS"], ["O"]
        intent = rng.choice(["flight", "fare"])
        for word in rng.choice([[], ["please"], ["show", "me"]]) + [intent]:
            words.append(word)
            tags.append("O")
        for where in rng.sample(["from", "to"], rng.randrange(1, 3)):
            words.append(where)
            tags.append("O")
            for i, part in enumerate(rng.choice(cities).split()):
                words.append(part)
                tags.append(("I-" if i else "B-") + where)
        lines.append(f"{' '.join(words)} EOS\t{' '.join(tags)} atis_{intent}\n")
    path.write_text("".join(lines))


def write_data() -> None:
    rng = random.Random(1)
    write_digits(FOLDER / "digits", 300, rng)
    write_digits(FOLDER / "few", 20, rng)
    write_queries(FOLDER / "train.iob", 200, rng)
    write_queries(FOLDER / "test.iob", 40, rng)
    (FOLDER / "samples.txt").write_text("".join(f"{sample % 2} {1 + sample % 2}:1 {3 + sample}:1\n" for sample in range(60)))
    words = ["she sells ", "sea shells ", "by the shore. "]
    (FOLDER / "text.txt").write_text("".join(rng.choice(words) for _ in range(300)))


def run(*arguments: str, processes: int = 0) -> subprocess.CompletedProcess:
    launcher = [MPIRUN, "-n", str(processes)] if processes else []
    return subprocess.run([*launcher, TRAIN, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=60)


class Rows:
    """What a run wrote to --out."""

    def __init__(self, *arguments: str, processes: int = 0) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.jsonl"
            result = run(*arguments, "--out", str(out), processes=processes)
            if result.returncode != 0:
                raise AssertionError(f"{arguments}: status {result.returncode}, {result.stderr}")
            self.rows = [json.loads(line) for line in out.read_text().splitlines()]
            for row in self.rows:
                if sorted(row["host"]) != ["command", "commit", "cpu", "date"] or str(out) not in row["host"]["command"]:
                    raise AssertionError(f"{row} does not say where it comes from")

    def of_kind(self, kind: str) -> list[dict]:
        return [row for row in self.rows if row["kind"] == kind]

    def losses(self) -> list[float]:
        return [row["loss"] for row in self.of_kind("step")]

    def last(self) -> dict:
        return self.of_kind("epoch")[-1]


def changed(arguments: list[str], *options: str) -> list[str]:
    """The arguments, with the values of these options (name, value, name, value ...) instead of theirs."""
    result = list(arguments)
    for name, value in zip(options[::2], options[1::2]):
        if name in result:
            result[result.index(name) + 1] = value
        else:
            result += [name, value]
    return result


def at(ranks: int) -> list[str]:
    """Options for the same global batch."""
    return ["--ranks", str(ranks), "--batch", str(GLOBAL_BATCH // ranks)]


class Refusing(unittest.TestCase):
    def assert_refused(self, result: subprocess.CompletedProcess, *words: str) -> None:
        self.assertGreater(result.returncode, 0, result.stdout)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(result.stderr.count("error: "), 1, result.stderr)


def main() -> None:
    with TEMPORARY:
        write_data()
        runner.main(sys.argv[:1])
