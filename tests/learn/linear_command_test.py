#!/usr/bin/env python3
"""dsop-data and dsop-train linear as a person uses them, on texts that the test writes.

Usage: linear_command_test.py DSOP_DATA DSOP_TRAIN [MPIRUN]
"""

import json
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DATA = ""
TRAIN = ""
MPIRUN = ""


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


class Linear(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory(prefix="linear_command_test.")
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

    def test_hashing_is_the_same_every_time_and_splits(self) -> None:
        again = self.folder / "again"
        self.assertEqual(hashed(self.folder, "--bits", "16", "--out", str(again)).returncode, 0)
        lines = again.read_text().splitlines()
        self.assertEqual(lines[4::5], (self.folder / "test").read_text().splitlines())
        del lines[4::5]
        self.assertEqual(lines, (self.folder / "train").read_text().splitlines())
        indices = [int(word.split(":")[0]) for line in lines for word in line.split()[1:]]
        self.assertGreaterEqual(min(indices), 1)
        self.assertLessEqual(max(indices), 2**16)

    def test_hashing_is_done_once_under_mpirun(self) -> None:
        if not MPIRUN:
            self.skipTest("built without MPI")
        out = self.folder / "once"
        launched = [MPIRUN, "-n", "3", DATA, "hash-trigrams", "--out", str(out)]
        result = run(*launched, str(self.folder / "texts.tsv"), "--bits", "16", "--held-out", str(self.folder / "once.test"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("400 texts"), 1, result.stderr)
        self.assertEqual(out.read_bytes(), (self.folder / "train").read_bytes())
        for bits in ("16", "33"):
            refused = run(*launched, "absent.tsv", "--bits", bits)
            self.assertNotEqual(refused.returncode, 0)
            self.assertEqual(refused.stderr.count("error: "), 1, refused.stderr)

    def test_bad_texts_leave_what_is_there(self) -> None:
        out = self.folder / "out"
        out.write_text("old")
        for text, words in {"ham\tyes\nspam no\n": ["line 2", "0 tabs"], "": ["is empty"],
                            "ham\tyes\n": ["1 different labels, expected 2"],
                            "a\t1\nb\t2\nc\t3\n": ["3 different labels, expected 2"]}.items():
            bad = self.folder / "bad.tsv"
            bad.write_text(text)
            result = run(DATA, "hash-trigrams", str(bad), "--out", str(out))
            self.assertEqual(result.returncode, 1)
            for word in [str(bad), *words]:
                self.assertIn(word, result.stderr)
            self.assertEqual(out.read_text(), "old")
        held_out = self.folder / "never"
        for arguments, words in {("--bits", "33"): "--bits", ("--every", "5"): "--every requires --held-out",
                                 ("--held-out", str(held_out)): "--held-out requires --out",
                                 ("--out", str(out), "--held-out", str(held_out), "--every", "401"):
                                     "texts.tsv: has 400 texts, expected 401 or more"}.items():
            result = hashed(self.folder, *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertEqual(out.read_text(), "old")
            self.assertFalse(held_out.exists())

    def test_samples_go_to_stdout_or_a_file(self) -> None:
        out = self.folder / "all"
        self.assertEqual(hashed(self.folder, "--bits", "16", "--out", str(out)).returncode, 0)
        result = hashed(self.folder, "--bits", "16")
        self.assertEqual((result.returncode, result.stdout), (0, out.read_text()), result.stderr)
        self.assertEqual(result.stderr.count("400 texts"), 1)
        with open("/dev/full", "wb") as full:
            refused = subprocess.run([DATA, "hash-trigrams", str(self.folder / "texts.tsv")], stdout=full,
                                     stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((refused.returncode, refused.stderr), (1, "error: stdout can't be written\n"))

    def test_learns_and_gives_the_same_losses_on_threads_and_processes(self) -> None:
        for loss in ("logistic", "svm", "least-squares"):
            options = ["--loss", loss, "--epochs", "3", "--learning-rate", "2"]
            one = train(self.folder, "--ranks", "1", "--batch", "12", *options)
            self.assertEqual(one.returncode, 0, one.stderr)
            self.assertEqual(len(losses(one)), 3)
            self.assertLess(float(losses(one)[-1]), 0.9 * float(losses(one)[0]))
            runs = [train(self.folder, "--ranks", "4", "--batch", "3", *options),
                    train(self.folder, "--ranks", "4", "--batch", "3", "--sync", "dense", *options),
                    train(self.folder, "--ranks", "1", "--batch", "12", "--sync", "dense", *options),
                    train(self.folder, "--ranks", "4", "--batch", "3", "--sync", "dense:bidirectional-exchange", *options),
                    train(self.folder, "--ranks", "3", "--batch", "6", "--sync", "ps", *options)]
            if MPIRUN:
                runs += [train(self.folder, "--batch", "6", "--sync", "dense:mpi", *options, processes=2),
                         train(self.folder, "--batch", "6", "--sync", "ps", *options, processes=3)]
            for result in runs:
                self.assertEqual(result.returncode, 0, result.stderr)
                for found, expected in zip(losses(result), losses(one), strict=True):
                    self.assertAlmostEqual(float(found), float(expected), delta=1.5e-5)

    def test_terminal_shows_how_far_it_is(self) -> None:
        line = rb"epoch \d+/100000, step \d+/320, loss \d\.\d{4}, \d+ samples/s a rank, \d+ % communication"
        for sync in ("auto", "ps", "async-ps"):
            terminal, its_end = pty.openpty()
            command = [TRAIN, "linear", str(self.folder / "train"), "--sync", sync, "--ranks", "2" if "ps" in sync else "1",
                       "--batch", "1", "--epochs", "100000"]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=its_end) as process, open(terminal, "rb", 0) as screen:
                os.close(its_end)
                shown = b""
                while not re.search(line, shown) and len(shown) < 4000:
                    shown += screen.read(1000)
                process.kill()
            self.assertRegex(shown, line)

    def test_rows(self) -> None:
        out = self.folder / "rows"
        for processes in (0, 3) if MPIRUN else (0,):
            result = train(self.folder, "--sync", "async-ps", "--epochs", "2", "--learning-rate", "20", "--out", str(out),
                           processes=processes)
            self.assertEqual(result.returncode, 0, result.stderr)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual([row["epoch"] for row in rows], [1, 2] * (len(rows) // 2))
        for row in rows:
            self.assertEqual(row["sync"], "async-ps")
            self.assertGreater(row["total_seconds"], 0)
        self.assertGreaterEqual(rows[-1]["test_accuracy"], 0.9)

    def test_goes_on_from_a_checkpoint(self) -> None:
        for processes in (0, 2) if MPIRUN else (0,):
            whole, parts = (self.folder / f"{name}-{processes}" for name in ("whole", "parts"))

            def epochs(count: int, *options: str) -> subprocess.CompletedProcess:
                return train(self.folder, "--epochs", str(count), *options, processes=processes)

            one = epochs(4, "--save", str(whole))
            self.assertEqual(epochs(2, "--save", str(parts)).returncode, 0)
            two = epochs(4, "--save", str(parts), "--resume", str(parts))
            self.assertEqual(losses(two), losses(one)[2:], two.stderr)
            self.assertIn("after epoch 2", two.stdout)
            self.assertEqual(parts.read_bytes(), whole.read_bytes())
            self.assertNotIn("already", two.stderr)
            self.assertNotIn("goes on", two.stderr)
            other = epochs(5, "--resume", str(whole), "--sync", "dense:ring", "--l2", "0.1", "--threads", "2")
            self.assertEqual(len(losses(other)), 1, other.stderr)
            self.assertEqual(other.stderr.count("goes on with "), 1, other.stderr)
            self.assertIn(f"{whole}: goes on with --l2 0.1 instead of 0, --sync dense:ring instead of auto, "
                          "--threads 2 instead of 1\n", other.stderr)
            again = epochs(4, "--resume", str(whole))
            self.assertEqual(losses(again), [], again.stderr)
            self.assertEqual(again.stderr.count(f"{whole} already has all 4 epochs that are asked for"), 1, again.stderr)

            cut = parts.read_bytes()[:-9]
            parts.write_bytes(cut)
            refused = epochs(5, "--save", str(parts), "--resume", str(parts))
            self.assertNotEqual(refused.returncode, 0)
            self.assertEqual(refused.stderr.count("error: "), 1, refused.stderr)
            self.assertIn(f"{parts}: is cut off", refused.stderr)
            self.assertEqual(parts.read_bytes(), cut)

    def test_rows_go_to_no_file_that_is_another(self) -> None:
        data, test, checkpoint, absent = (str(self.folder / name) for name in ("train", "test", "checkpoint", "absent"))
        Path(checkpoint).write_text("kept")
        before = [Path(path).read_bytes() for path in (data, test, checkpoint)]
        for out, other, options in ((data, f"TRAIN {data}", []), (test, f"--test {test}", []),
                                    (checkpoint, f"--resume {checkpoint}", ["--resume", checkpoint]),
                                    (absent, f"--save {absent}", ["--save", absent]),
                                    (checkpoint, f"--machine {checkpoint}", ["--machine", checkpoint])):
            result = train(self.folder, "--epochs", "1", "--out", out, *options)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"--out {out} is the same file as {other}, expected another", result.stderr)
        self.assertEqual([Path(path).read_bytes() for path in (data, test, checkpoint)], before)
        self.assertFalse(Path(absent).exists())

    def test_ranks_with_other_options_than_rank_0(self) -> None:
        if not MPIRUN:
            self.skipTest("built without MPI")

        def launched(*options: str) -> list[str]:
            return ["-n", "1", TRAIN, "linear", str(self.folder / "train"), *options]

        for first, second, words in ((["--batch", "4"], ["--batch", "5"], "--batch is 5, expected as on rank 0, where --batch is 4"),
                                     ([], ["--sync", "ps"], "--sync is ps, expected as on rank 0, where --sync is auto"),
                                     ([], ["--test", str(self.folder / "test")],
                                      "--test is given, expected as on rank 0, where --test is not given")):
            result = run(MPIRUN, *launched(*first), ":", *launched(*second), ":", *launched(*first))
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(f"error: rank 1: {words}\n", result.stderr)
            self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        result = run(MPIRUN, *launched("--epochs", "1", "--threads", "2"), ":", *launched("--epochs", "1", "--batch", "10"))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_errors(self) -> None:
        bad = self.folder / "bad.libsvm"
        bad.write_text("1 1:1\n-1 0:2\n")
        for processes in (0, 2) if MPIRUN else (0,):
            for options, words in {
                ("--sync", "rnig"): ['"rnig"', "async-ps", "ssar-split-allgather"],
                ("--test", str(bad)): [str(bad), "line 2", 'the index is "0"', "expected 1 to 4294967296"],
                ("--test", "absent"): ["absent: can't be opened", "o such file"],
                ("--test", str(self.folder)): [f"{self.folder}: "],
                ("--machine", str(bad)): [f"machine file {bad}: not JSON"],
                ("--out", "/absent/rows"): ["/absent/rows: can't be opened for writing"],
                **{("--loss", "least-squares", "--learning-rate", "1e9", "--batch", "1", "--sync", sync):
                       ["not finite any more at epoch 1"] for sync in ("auto", "ps", "async-ps")},
                ("--batch", "0"): ["--batch", "0"],
            }.items():
                result = run(*([MPIRUN, "-n", str(processes)] if processes else []), TRAIN, "linear",
                             str(self.folder / "train"), *options)
                self.assertNotEqual(result.returncode, 0, options)
                for word in words:
                    self.assertIn(word, result.stderr)
                self.assertEqual(result.stderr.count("error: "), 1)
                self.assertNotIn("MPI_ABORT", result.stderr)


if __name__ == "__main__":
    DATA, TRAIN, *rest = sys.argv[1:]
    MPIRUN = rest[0] if rest else ""
    unittest.main(argv=sys.argv[:1], verbosity=2)
