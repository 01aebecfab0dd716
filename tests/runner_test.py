#!/usr/bin/python3
"""Tests of runner.py and skipped.py: what has run nothing is skipped, and says why."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runner

TESTS = Path(__file__).resolve().parent

PROGRAM = """
import sys, unittest
import runner

class Cases(unittest.TestCase):
    def test_first(self):
        FIRST

    def test_second(self):
        SECOND

runner.main(sys.argv)
"""
SKIPS, SKIPS_PART = "self.skipTest('nothing is there')", "\n".join(
    ["with self.subTest(part=1):", "            self.skipTest('no part')"])


class RunnerTest(unittest.TestCase):
    def run_cases(self, first: str, second: str) -> tuple[int, str]:
        program = PROGRAM.replace("FIRST", first).replace("SECOND", second)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60,
                              env={"PYTHONPATH": str(TESTS)})
        return done.returncode, done.stdout

    def test_exit_status_and_reasons(self) -> None:
        self.assertEqual(self.run_cases("pass", "pass"), (0, ""))
        self.assertEqual(self.run_cases(SKIPS, "pass"), (0, "skipped 1 of 2: nothing is there\n"))
        self.assertEqual(self.run_cases(SKIPS, SKIPS), (77, "skipped 2 of 2: nothing is there\n"))
        self.assertEqual(self.run_cases(SKIPS, "self.fail()"), (1, "skipped 1 of 2: nothing is there\n"))
        self.assertEqual(self.run_cases(SKIPS_PART, SKIPS_PART), (0, ""))

    def test_what_a_run_left_out(self) -> None:
        tests = [{"name": "dsop:one", "result": "OK", "stdout": "skipped 1 of 2: no reason\nfine\n"},
                 {"name": "mpi+torch - dsop:two", "result": "SKIP", "stdout": "1..0 # SKIP needs root\n"},
                 {"name": "dsop:three", "result": "SKIP"}, {"name": "dsop:four", "result": "OK", "stdout": "fine\n"}]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write("".join(json.dumps(test) + "\n" for test in tests))
            file.flush()
            done = subprocess.run([sys.executable, TESTS / "skipped.py", file.name], capture_output=True, text=True,
                                  check=True, timeout=60)
        self.assertEqual(done.stdout, "one: skipped 1 of 2: no reason\ntwo: 1..0 # SKIP needs root\nthree: skipped\n")


if __name__ == "__main__":
    runner.main(sys.argv)
