#!/usr/bin/python3
"""Options that make no sense: one error that names the option, the value and what was expected, and nothing written.

Usage: bad_options_test.py DSOP_BENCH DSOP_TRAIN DSOP_DATA
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runner

BENCH, TRAIN, DATA = (str(Path(program).resolve()) for program in sys.argv[1:4])


class BadOptionsTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def refused(self, expected: str, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=self.folder)
        with self.subTest(command=command[1:]):
            self.assertGreater(done.returncode, 0, done.stdout)
            self.assertEqual(done.stdout, "")
            self.assertIn(expected, done.stderr)
            self.assertEqual(len(done.stderr.replace("Run with --help for more information.\n", "").splitlines()), 1, done.stderr)

    def test_programs_say_which_version_they_are(self) -> None:
        versions = {subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
                    for program in (BENCH, TRAIN, DATA)}
        self.assertEqual(len(versions), 1, versions)
        self.assertRegex(versions.pop(), r"^\d+\.\d+\.\d+\n$")

    def test_numbers_that_are_none(self) -> None:
        for option, bounds in {"--momentum": "0 to 1", "--weight-decay": "0 to 1e+09", "--clip": "0 to 1e+09", "--decay": "0 to 1",
                               "--learning-rate": "1e-09 to 1e+09"}.items():
            self.refused(f'{option}: is "nan", expected a number from {bounds}', TRAIN, "mlp", ".", option, "nan")
        for option, bounds in {"--learning-rate": "1e-09 to 1e+09", "--decay": "1e-06 to 1", "--l2": "0 to 1e+06"}.items():
            self.refused(f'{option}: is "nan", expected a number from {bounds}', TRAIN, "linear", "x", option, "nan")
        self.refused('--l2: is "-1", expected a number from 0', TRAIN, "linear", "x", "--l2", "-1")
        self.refused('--learning-rate: is "0.1x", expected a number', TRAIN, "linear", "x", "--learning-rate", "0.1x")
        self.refused('--density is "nan", expected shares', BENCH, "sparse-allreduce", "--density", "nan")

    def test_negative_whole_numbers(self) -> None:
        for command in (("mlp", ".", "--seed"), ("mlp", ".", "--bucket-bytes"), ("mlp", ".", "--sync", "dense", "--sparsify-from"),
                        ("linear", "x", "--seed")):
            self.refused(f"{command[-1]}: Value -1 not in range ", TRAIN, *command, "-1")
        self.refused('--size is "-1", expected whole numbers', BENCH, "allreduce", "--size", "-1")
        self.refused("--root is -1, expected a rank from 0 to 2", BENCH, "reduce", "--size", "9", "--root", "-1", "--ranks", "3")

    def test_kernels_of_nothing(self) -> None:
        for option in ("--rows", "--cols", "--inner"):
            self.refused(f"error: {option} is 0, expected at least 1\n", BENCH, "kernel", option, "0")

    def test_names_that_are_unknown(self) -> None:
        self.refused('is "dense-", expected auto, dense, dense:NAME, ps, ', TRAIN, "linear", "x", "--sync", "dense-")
        self.refused("--select: algorithm is exactly, expected one of exact, ", BENCH, "sparse-allreduce", "--select", "exactly")
        self.refused("--select: the number of threshold-reuse(0), ", BENCH, "sparse-allreduce", "--select", "threshold-reuse(0)")
        self.refused("algorithm is ring, expected auto or one of ", BENCH, "broadcast", "--size", "9", "--algorithm", "ring")

    def test_options_that_would_do_nothing(self) -> None:
        self.refused("--momentum needs --optimizer sgd", TRAIN, "mlp", ".", "--optimizer", "adam", "--momentum", "0.5")
        self.refused("--task atis excludes --window", TRAIN, "lstm", "x", "--task", "atis", "--test", "y", "--window", "7")
        self.refused("--rate-schedule 1/t excludes --decay", TRAIN, "linear", "x", "--rate-schedule", "1/t", "--decay", "0.5")
        self.refused("--inner excludes --sums", BENCH, "kernel", "--sums", "9", "--inner", "3")

    def test_a_file_that_is_read_is_not_written(self) -> None:
        (self.folder / "texts.tsv").write_text("spam\tto you\nham\tfor me\n", encoding="utf-8")
        for written, read, options in (("--out texts.tsv", "IN.tsv texts.tsv", ["--out", "texts.tsv"]),
                                       ("--held-out ./texts.tsv", "IN.tsv", ["--out", "out", "--held-out", "./texts.tsv"]),
                                       ("--out out", "--held-out", ["--out", "out", "--held-out", "./out"])):
            self.refused(f"{written} is the same file as {read}", DATA, "hash-trigrams", "texts.tsv", *options)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["texts.tsv"])

    def test_a_limit_on_the_size_of_files_is_said(self) -> None:
        (self.folder / "texts.tsv").write_text("spam\tto you\nham\tfor me\n", encoding="utf-8")

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

        for command, words in (([DATA, "hash-trigrams", "texts.tsv", "--out", "out"], "out: can't be written: File too large"),
                               ([BENCH, "list"], "standard output can't be written"),
                               ([TRAIN, "linear", "x", "--help"], "")):
            with open(self.folder / "stdout", "wb") as stdout:
                done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                                      cwd=self.folder, preexec_fn=limited)
            self.assertGreaterEqual(done.returncode, 0, command)
            self.assertIn(words, done.stderr)
        self.assertFalse([path.name for path in self.folder.iterdir() if path.name.startswith("out")])

    def test_names_of_files_that_are_too_long(self) -> None:
        (self.folder / "texts.tsv").write_text("spam\tto you\nham\tfor me\n", encoding="utf-8")
        name = "x" * 5000
        for command in ((TRAIN, "mlp", name), (TRAIN, "linear", name), (DATA, "hash-trigrams", name),
                        (TRAIN, "linear", "texts.tsv", "--save", name), (TRAIN, "linear", "texts.tsv", "--out", name),
                        (DATA, "hash-trigrams", "texts.tsv", "--out", name)):
            self.refused(": File name too long", *command)

    def test_values_are_escaped_and_cut_off(self) -> None:
        escape = "\x1b[31m"
        for command in ((BENCH, "reduce", "--size", "9" + escape), (BENCH, escape), (TRAIN, "mlp", escape), (DATA, "hash-trigrams", escape),
                        (TRAIN, "linear", "x", "--sync", escape), (BENCH, "info", "--machine", escape)):
            self.refused("\\x1b[31m", *command)
            done = subprocess.run(command, capture_output=True, timeout=60, check=False, cwd=self.folder)
            self.assertNotIn(b"\x1b", done.stderr)
        self.refused('is "' + "9" * 200 + '...", expected', BENCH, "reduce", "--size", "9" * 100_000)
        (self.folder / "machine").write_text('{"gap_seconds": "' + "x" * 6_000_000 + '"}')
        self.refused('gap_seconds is "' + "x" * 199 + "..., expected", BENCH, "info", "--machine", "machine")
        (self.folder / "machine").write_text('{"latency_seconds": ' + "[" * 100_000 + "]" * 100_000 + "}")
        self.refused("is nested in more than 16 levels", BENCH, "info", "--machine", "machine")

    def test_what_is_no_file_is_not_replaced(self) -> None:
        (self.folder / "texts.tsv").write_text("spam\tto you\nham\tfor me\n", encoding="utf-8")
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        for out in ("folder", "pipe"):
            self.refused(f"{out}: is no regular file, expected one, or a name that is free", DATA, "hash-trigrams", "texts.tsv",
                         "--out", out)
        self.assertTrue((self.folder / "pipe").is_fifo())


if __name__ == "__main__":
    runner.main(sys.argv[:1])
