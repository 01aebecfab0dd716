#!/usr/bin/env python3
"""dsop-train's perceptron and LSTMs as a person uses them: the same losses however it is done, checkpoints, bad input.

Usage: dsop_train_test.py DSOP_TRAIN [MPIRUN]. Needs no data: it writes what it reads, small enough for seconds.
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

TRAIN = ""
MPIRUN = ""
FOLDER = Path()

MLP = ["mlp", "digits", "--hidden", "12,9", "--learning-rate", "0.1"]
CHARACTERS = ["lstm", "text.txt", "--task", "characters", "--hidden", "12", "--layers", "2", "--embedding", "5",
              "--window", "10", "--learning-rate", "0.01"]
ATIS = ["lstm", "train.iob", "--task", "atis", "--test", "test.iob", "--hidden", "12", "--embedding", "6",
        "--learning-rate", "0.02"]
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


def policies_in(plan: str) -> dict[str, str]:
    """Of each parameter, from a table with rows such as "# layer2  13 x 9  dsop  allgather  352"."""
    rows = [line.strip("# ").split() for line in plan.splitlines()]
    return {row[0]: row[4] for row in rows if row[:1] and row[0].startswith("layer")}


class Losses(unittest.TestCase):
    def assert_near(self, found: Rows, expected: Rows, what: str) -> None:
        self.assertEqual(len(found.losses()), len(expected.losses()), what)
        for step, (a, b) in enumerate(zip(found.losses(), expected.losses()), 1):
            self.assertLess(abs(a - b), 1e-4 * max(abs(b), 0.1), f"{what}, step {step}: {a} and {b}")
        for name, value in expected.last().items():
            if name.startswith(("held_out", "accuracy", "slot", "intent")):
                self.assertLess(abs(found.last()[name] - value), 0.02, f"{what}: {name}")

    def test_same_for_any_ranks_and_way_to_sum(self) -> None:
        for name, model in MODELS.items():
            expected = Rows(*model, *at(1), "--steps", "20")
            self.assertEqual(len(expected.losses()), 20)
            self.assertLess(sum(expected.losses()[-5:]), 0.97 * sum(expected.losses()[:5]), name)
            ways = {f"dsop, ranks {ranks}": at(ranks) for ranks in (2, 4, 8)}
            for way in (["--sync", "dense"], ["--sync", "dense:ring", "--no-overlap"], ["--sync", "sparse"],
                        ["--sync", "dsop:generalized-rabenseifner"], ["--schedule", "overlap"],
                        ["--schedule", "reduce-broadcast", "--collective", "minimum-spanning-tree"],
                        ["--schedule", "allreduce", "--collective", "linear-pipeline"]):
                ways[" ".join(way)] = [*at(4), *way]
            for what, options in ways.items():
                self.assert_near(Rows(*model, *options, "--steps", "20"), expected, f"{name}, {what}")
            if MPIRUN:
                found = Rows(*model, "--batch", str(GLOBAL_BATCH // 2), "--steps", "20", processes=2)
                self.assertEqual(found.rows[0]["transport"], "mpi")
                self.assert_near(found, expected, f"{name}, mpirun")

    def test_nothing_dropped_by_a_policy_that_could(self) -> None:
        expected = Rows(*MLP, *at(1), "--steps", "20")
        for option in ([], ["--residual-holds-step"]):  # the same while the learning rate does not change
            self.assert_near(Rows(*MLP, *at(2), "--steps", "20", "--sync", "topk:1", *option), expected, str(option))

    def test_one_parameter_under_another_policy(self) -> None:
        plan = run(*MLP, *at(2), "--steps", "1", "--sync", "dense", "--sync", "layer2=dsop").stdout
        self.assertEqual(policies_in(plan), {"layer1": "dense", "layer2": "dsop", "layer3": "dense"}, plan)

    def test_small_parameters_are_not_sparsified(self) -> None:
        plan = run(*MLP, *at(2), "--steps", "1", "--sync", "topk:0.1", "--sparsify-from", "120").stdout
        self.assertEqual(policies_in(plan), {"layer1": "topk:0.1", "layer2": "dense", "layer3": "dense"}, plan)

    def test_they_learn(self) -> None:
        self.assertGreater(Rows(*MLP, *at(2), "--epochs", "8").last()["accuracy"], 0.95)
        self.assertLess(Rows(*CHARACTERS, *at(2), "--epochs", "4").last()["held_out_loss"], 0.5)
        atis = Rows(*ATIS, *at(2), "--epochs", "8").last()
        self.assertGreater(atis["slot_f1"], 0.95)
        self.assertGreater(atis["intent_accuracy"], 0.95)

    def test_seconds_of_each_rank(self) -> None:
        for row in Rows(*MLP, *at(4), "--steps", "3").of_kind("step"):
            self.assertEqual((len(row["arithmetic_seconds"]), len(row["communication_seconds"])), (4, 4))
            totals = [a + c for a, c in zip(row["arithmetic_seconds"], row["communication_seconds"])]
            self.assertAlmostEqual(max(totals), row["seconds"])
            self.assertTrue(all(s > 0 for s in row["arithmetic_seconds"] + row["communication_seconds"]), row)


class Checkpoints(unittest.TestCase):
    def setUp(self) -> None:
        self.path = FOLDER / "checkpoint"
        self.path.unlink(missing_ok=True)

    def assert_refused(self, result: subprocess.CompletedProcess, *words: str) -> None:
        self.assertGreater(result.returncode, 0, result.stdout)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(result.stderr.count("error: "), 1, result.stderr)

    def test_resumed_run_has_the_same_bits(self) -> None:
        ways = [[], ["--optimizer", "adam", "--sync", "dense"], ["--optimizer", "sgd", "--weight-decay", "0.01"],
                ["--optimizer", "adam", "--schedule", "overlap"], ["--sync", "topk:0.1"]]
        for (name, model), way in itertools.product(MODELS.items(), ways):
            common = [*model, *at(2), *way]
            whole = Rows(*common, "--steps", "30")
            self.path.unlink(missing_ok=True)
            Rows(*common, "--steps", "13", "--save", str(self.path))
            rest = Rows(*common, "--steps", "30", "--resume", str(self.path))
            self.assertEqual(rest.losses(), whole.losses()[13:], f"{name} {way}")
            for row in (rest.last(), whole.last()):
                row.pop("seconds")
            self.assertEqual(rest.last(), whole.last(), f"{name} {way}")  # the hash of all weights is in it

    def test_saved_while_it_runs(self) -> None:
        Rows(*MLP, *at(2), "--steps", "7", "--save", str(self.path), "--save-every", "5")
        self.assertFalse(self.path.with_suffix(".unfinished").exists())
        rows = Rows(*MLP, *at(2), "--steps", "9", "--resume", str(self.path))
        self.assertEqual(rows.rows[0]["resumed_after_step"], 7)

    def test_what_can_not_be_resumed(self) -> None:
        Rows(*MLP, *at(2), "--steps", "3", "--save", str(self.path))
        whole = self.path.read_bytes()

        def resume(data: bytes, *options: str) -> subprocess.CompletedProcess:
            self.path.write_bytes(data)
            result = run(*changed([*MLP, *at(2)], *options), "--resume", str(self.path), "--save", str(self.path))
            self.assertEqual(self.path.read_bytes(), data, "the file was overwritten")
            return result

        for length in (1, 10, 30, 60, len(whole) // 2, len(whole) - 1):
            self.assert_refused(resume(whole[:length]), str(self.path), "cut off")
        self.assert_refused(resume(b""), str(self.path), "no checkpoint")
        self.assert_refused(resume(b"seven, two, one, and so on, for a while"), str(self.path), "no checkpoint")
        damaged = bytearray(whole)
        damaged[-20] ^= 1
        self.assert_refused(resume(bytes(damaged)), str(self.path), "damaged")
        newer = bytearray(whole)
        newer[len("dsop-train checkpoint\n")] = 2
        self.assert_refused(resume(bytes(newer)), str(self.path), "version 2, expected 1")
        for options, words in {
            ("--hidden", "12"): ["50-12-9-10", "50-12-10"],
            ("--activation", "tanh"): ["relu", "tanh"],
            ("--seed", "2"): ["seed 1", "seed 2"],
            ("--optimizer", "adam"): ["optimizer sgd", "optimizer adam"],
            ("--batch", "2"): ["batch 4", "batch 2"],
            ("--ranks", "1"): ["2 ranks", "1 ranks"],
            ("--schedule", "allreduce"): ["synchronizer", "schedule allreduce"],
        }.items():
            self.assert_refused(resume(whole, *options), str(self.path), *words)
        self.path.write_bytes(whole)
        other = FOLDER / "other"
        other.write_bytes(whole)
        for resume_options in ([], ["--resume", str(other)]):
            self.assert_refused(run(*MLP, *at(2), *resume_options, "--save", str(self.path)), str(self.path), "there already")
        self.assertEqual(self.path.read_bytes(), whole)
        self.assert_refused(run(*MLP, "--resume", "absent"), "absent", "can't be opened")
        self.assert_refused(run(*MLP, *at(2), "--steps", "3", "--save", "nowhere/checkpoint"), "nowhere/checkpoint")

    def test_loss_that_is_no_number(self) -> None:
        Rows(*MLP, *at(2), "--steps", "3", "--save", str(self.path))
        before = self.path.read_bytes()
        for processes in (0, 2) if MPIRUN else (0,):
            ranks = ["--batch", "4"] if processes else at(2)
            result = run(*changed(MLP, "--learning-rate", "1e8"), *ranks, "--resume", str(self.path),
                         "--save", str(self.path), processes=processes)
            self.assert_refused(result)
            self.assertRegex(result.stderr, r"step \d+: the loss is -?(nan|inf), .* not finite is layer\d")
            self.assertEqual(self.path.read_bytes(), before)

    def test_bad_input(self) -> None:
        cases = {
            (*MLP, "--ranks", "3", "--batch", "100"): ["--batch is 100", "3 ranks", "300", "240"],
            ("mlp", "few", "--ranks", "8", "--batch", "4"): ["32 samples", "16 to train on"],
            (*MLP, "--sync", "layer9=dsop"): ["layer9", "layer1 layer2 layer3"],
            (*MLP, "--sync", "dsoup"): ["dsoup", "expected dsop"],
            (*MLP, "--sync", "dense:ringing"): ["ringing"],
            (*MLP, "--schedule", "overlap", "--collective", "square"): ["square"],
            (*MLP, "--test", "absent"): ["absent", "no such folder"],
            ("mlp", "absent"): ["absent", "no such folder"],
            ("lstm", "digits/train-images-idx3-ubyte", "--task", "characters"): ["train-images-idx3-ubyte"],
            ("lstm", "text.txt", "--task", "atis", "--test", "test.iob"): ["text.txt"],
            tuple(changed(CHARACTERS, "--window", "3000")): ["characters, too few", "3000"],
            (*MLP, "--out", "nowhere/rows.jsonl"): ["nowhere/rows.jsonl"],
            (*MLP, "--machine", "absent.json"): ["absent.json"],
            (*MLP, "--residual-holds-step", "--optimizer", "adam"): ["--residual-holds-step", "sgd"],
        }
        for arguments, words in cases.items():
            self.assert_refused(run(*arguments), *words)
        for arguments, words in {
            (*MLP, "--sync", "dsop", "--schedule", "overlap"): ["excludes", "--schedule", "--sync"],
            (*MLP, "--collective", "ring"): ["--collective requires --schedule"],
            (*MLP, "--hidden", "0"): ["--hidden"],
            (*MLP, "--batch", "0"): ["--batch"],
            (*MLP, "--steps", "3", "--epochs", "2"): ["excludes", "--epochs", "--steps"],
            ("lstm", "train.iob", "--task", "atis"): ["--test"],
            ("mlpp", "digits"): ["mlpp"],
            (): ["subcommand is required"],
        }.items():
            result = run(*arguments)
            self.assertGreater(result.returncode, 0, arguments)
            for word in words:
                self.assertIn(word, result.stderr)


if __name__ == "__main__":
    TRAIN = str(Path(sys.argv[1]).resolve())
    MPIRUN = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory(prefix="dsop_train_test.") as name:
        FOLDER = Path(name)
        write_data()
        unittest.main(argv=sys.argv[:1])
