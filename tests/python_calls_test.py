#!/usr/bin/python3
"""bench/python_calls.py: rows that agree with each other. Usage: python_calls_test.py PROGRAM LIBRARY MPIRUN"""

from __future__ import annotations

import json
import subprocess
import sys
import unittest

import runner

PROGRAM, LIBRARY, MPIRUN = sys.argv[1:4]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MPIRUN, "-n", "2", sys.executable, PROGRAM, *arguments], capture_output=True, text=True, timeout=90,
                          check=False)


class PythonCallsTest(unittest.TestCase):
    def test_rows(self) -> None:
        done = run(LIBRARY, "--sizes", "3,8", "--pairs", "1,4", "--seconds", "0.01", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        calls = ["C++ dsop()", "dsop.outer_product", "C++ OuterProduct::run", "dsop.OuterProduct.run"]
        self.assertEqual([(row["n"], row["pairs"], row["call"]) for row in rows],
                         [(n, pairs, call) for n in (3, 8) for pairs in (1, 4) for call in calls])
        for row in rows:
            low, high = row["seconds_interval"]
            self.assertTrue(0 < low <= row["seconds"] <= high and row["ranks"] == 2 and row["batches"] >= 20)
            self.assertEqual("base" in row, row["call"].startswith("dsop."))

    def test_table(self) -> None:
        lines = run(LIBRARY, "--sizes", "3", "--pairs", "2", "--seconds", "0.01").stdout.splitlines()
        self.assertEqual(len(lines), 5)
        self.assertIn("us beside C++", lines[0])

    def test_library_that_is_not_there(self) -> None:
        done = run("no/such.so")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no/such.so", done.stderr)


if __name__ == "__main__":
    runner.main(sys.argv[:1])
