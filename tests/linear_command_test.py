#!/usr/bin/env python3
"""dsop-train linear as a person uses it."""

import json
import shutil
import subprocess
import unittest
from pathlib import Path

from linear_programs import MPIRUN, TRAIN, OnTexts, losses, main, run, train
from programs import each_rank, run_in, shown_on_terminal


class Linear(OnTexts):
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
            command = [TRAIN, "linear", str(self.folder / "train"), "--sync", sync, "--ranks", "2" if "ps" in sync else "1",
                       "--batch", "1", "--epochs", "100000"]
            self.assertRegex(shown_on_terminal(line, command, self.folder), line)

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
            self.assertEqual(sorted(row["host"]), ["command", "commit", "cpu", "date"])
            self.assertIn("linear", row["host"]["command"].split())
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
            return [TRAIN, "linear", str(self.folder / "train"), *options]

        for first, second, words in ((["--batch", "4"], ["--batch", "5"], "--batch is 5, expected as on rank 0, where --batch is 4"),
                                     ([], ["--sync", "ps"], "--sync is ps, expected as on rank 0, where --sync is auto"),
                                     ([], ["--test", str(self.folder / "test")],
                                      "--test is given, expected as on rank 0, where --test is not given")):
            result = run(*each_rank(MPIRUN, launched(*first), launched(*second), launched(*first)))
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(f"error: rank 1: {words}\n", result.stderr)
            self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        result = run(*each_rank(MPIRUN, launched("--epochs", "1", "--threads", "2"), launched("--epochs", "1", "--batch", "10")))
        self.assertEqual(result.returncode, 0, result.stderr)

    @unittest.skipUnless(Path("/dev/full").exists(), "needs a device that is always full")
    def test_rows_that_can_not_be_written(self) -> None:
        for sync in ("auto", "ps", "async-ps"):
            checkpoint = self.folder / f"checkpoint-{sync}"
            save = [] if sync == "async-ps" else ["--save", str(checkpoint)]
            result = train(self.folder, "--sync", sync, "--epochs", "1", "--out", "/dev/full", *save)
            self.assertEqual((result.returncode, result.stderr), (1, "error: rank 0: --out /dev/full: can't be written: No space left on device\n"))
            self.assertEqual(checkpoint.exists(), bool(save))

    def test_hosts_with_other_files(self) -> None:
        if not MPIRUN:
            self.skipTest("built without MPI")
        hosts = [self.folder / "host0", self.folder / "host1"]
        for host in hosts:
            host.mkdir()
            shutil.copy(self.folder / "train", host)

        def run_there(*options: str) -> subprocess.CompletedProcess:
            return run_in(hosts, MPIRUN, TRAIN, "linear", "train", "--epochs", "2", *options)

        self.assertEqual(run_there("--save", "checkpoint").returncode, 0)
        lines = (hosts[0] / "train").read_text().splitlines(keepends=True)
        (hosts[1] / "train").write_text("".join(lines[1:]))
        sizes = [(host / "train").stat().st_size for host in hosts]
        self.assertIn(f"rank 1: train: has {sizes[1]} bytes, expected {sizes[0]} as on rank 0", run_there().stderr)
        for host in hosts:
            (host / "train").write_text("".join([*lines[1:], lines[0]]))
        self.assertIn("is of another run", run_there("--resume", "checkpoint").stderr)

    def test_errors(self) -> None:
        bad = self.folder / "bad.libsvm"
        bad.write_text("1 1:1\n-1 0:2\n")
        for processes in (0, 2) if MPIRUN else (0,):
            for options, words in {
                ("--sync", "rnig"): ['"rnig"', "async-ps", "ssar-split-allgather"],
                ("--sync", "ps:0"): ['"ps:0"', "ps:SERVERS"],
                ("--sync", "async-ps:two"): ['"async-ps:two"', "async-ps:SERVERS"],
                ("--test", str(bad)): [str(bad), "line 2", "the index is 0, expected 1 or more"],
                ("--test", "absent"): ["absent: can't be opened: "],
                ("--test", str(self.folder)): [f"{self.folder}: "],
                ("--machine", str(bad)): [f"machine file {bad}: not JSON"],
                ("--machine", str(self.folder)): [f"machine file {self.folder}: "],
                ("--out", "/absent/rows"): ["--out /absent/rows: can't be opened for writing: No such file or directory"],
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
    main()
