#!/usr/bin/python3
"""Tests of scripts/calls and bench/calls. Called with: CALLS MPIRUN. Rows must be well formed; their numbers are not judged."""

from __future__ import annotations

import json
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import runner

ROOT = Path(__file__).resolve().parent.parent
CALLS, MPIRUN = sys.argv[1:3]
sys.path.insert(0, str(ROOT / "bench"))

from calls.targets import PLACE, table_of_targets, targets  # noqa: E402
from calls.results import by_key, table  # noqa: E402
from calls.tables import report_tables  # noqa: E402


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


class ProgramTest(unittest.TestCase):
    rows: list[dict[str, Any]]

    @classmethod
    def setUpClass(cls) -> None:
        done = run(MPIRUN, "-n", "2", CALLS, "--json", "--seconds", "0.001")
        if done.returncode != 0:
            raise AssertionError(done)
        cls.rows = [json.loads(line) for line in done.stdout.splitlines()]

    def of_scene(self, scene: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["scene"] == scene]

    def test_times(self) -> None:
        for scene, rows, bases in (("outer_product_run", 6, 2), ("two_shapes_by_turns", 4, 2), ("changing_pairs", 8, 4)):
            of_scene = self.of_scene(scene)
            self.assertEqual(len(of_scene), rows)
            self.assertEqual(sum("base" not in row for row in of_scene), bases)
            for row in of_scene:
                self.assertEqual(row["ranks"], 2)
                self.assertIn(row.get("base", row["call"]), {other["call"] for other in of_scene if other["case"] == row["case"]})
                self.assertEqual("ratio" in row, "base" in row, row)
        for row in self.rows:
            if row["scene"] != "agreement":
                self.assertEqual(row["batches"], 5, row)  # the fewest
                low, high = row["seconds_interval"]
                self.assertTrue(0 < low <= row["seconds"] <= high, row)

    def test_agreement(self) -> None:
        rows = self.of_scene("agreement")
        self.assertEqual([row["call"].split("(")[0].split(",")[0] for row in rows],
                         ["OuterProduct::run", "OuterProduct::run", "dsop"] * 2
                         + ["allreduce", "sparse_allreduce", "TopKAllreduce::run"])
        for row in rows:
            self.assertGreaterEqual(row["agreement_messages"], 1, row)
            self.assertGreater(row["agreement_bytes"], 0, row)

    def test_planning(self) -> None:
        self.assertEqual([row["ranks"] for row in self.of_scene("planning")], [64] * 7 + [1024] * 7)

    def test_table(self) -> None:
        done = run(MPIRUN, "-n", "2", CALLS, "--seconds", "0.001", "two_shapes_by_turns")
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([line[0] for line in lines], ["#"] + ["two_shapes_by_turns"] * 4, done)

    def test_wrong_options(self) -> None:
        self.assertIn("Usage: calls", run(CALLS, "--help").stdout)
        for arguments, words in ((["--seconds", "0"], '--seconds is "0", expected a number above 0'),
                                 (["--seconds"], '--seconds is "", expected'), (["--jsn"], "unknown argument --jsn, expected --json")):
            done = run(CALLS, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(words, done.stderr)


class ScriptTest(unittest.TestCase):
    def test_help(self) -> None:
        done = run(str(ROOT / "scripts/calls"), "--help")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("usage: scripts/calls", done.stdout)

    def test_wrong_options(self) -> None:
        for arguments, words in ((["--rounds", "0"], "--rounds: is '0', expected a whole number above 0"),
                                 (["--seconds", "nan"], "--seconds: is 'nan', expected a number above 0"),
                                 (["tables", "--hosts"], "--hosts is given with tables, expected it with scenes only"),
                                 (["tabels"], "invalid choice: 'tabels'"), (["--base"], "unrecognized arguments: --base")):
            done = run(str(ROOT / "scripts/calls"), *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(words, done.stderr)

    @unittest.skipUnless((ROOT / ".git").exists(), "not a repository")
    def test_baseline_that_is_not_there(self) -> None:
        done = run(str(ROOT / "scripts/calls"), "--baseline", "no-such-commit")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("--baseline is 'no-such-commit', expected a commit of this repository", done.stderr)


def in_rounds(old: list[float], new: list[float], **fields: Any) -> list[dict[str, Any]]:
    return [fields | {"build": build, "seconds": seconds, "ratio": seconds}
            for build, all_seconds in (("old", old), ("new", new)) for seconds in all_seconds]


class ReportTest(unittest.TestCase):
    def test_ratios_are_of_rounds(self) -> None:
        (sides,) = by_key(in_rounds([2, 8, 6], [1, 2, 6], call="dsop()"), ("call",), "seconds").values()
        old, new, ratio = sides.estimates()
        self.assertEqual((old.median, new.median), (6, 2))
        self.assertEqual((ratio.median, ratio.low, ratio.high), (2, 1, 4))

    def test_what_was_asked(self) -> None:
        key = dict(zip(PLACE, ("2 pinned", "two_shapes_by_turns", "10, 12", "dsop()")))
        for ratio, holds in ((1.2, "yes"), (1.21, "no")):
            text = table_of_targets(in_rounds([15], [ratio], **key), targets("2 pinned", "1", "hosts"))
            self.assertEqual(len(text.splitlines()), 3, text)  # what was not measured has no line
            self.assertEqual(text.splitlines()[2].split("|")[-2].strip(), holds)

    def test_rows_that_are_slower_are_named(self) -> None:
        times: dict[str, list[float]] = {"ring": [3, 4, 5], "butterfly": [2, 3, 3], "mpi": [1, 1, 1.5]}
        rows = [row for algorithm, new in times.items()
                for row in in_rounds([1.75, 2, 2.5], new, family="dense", problem="size 10", algorithm=algorithm)]
        lines = report_tables(rows).splitlines()
        self.assertEqual([line.split("|")[-2].strip() for line in lines[2:5]], ["slower", "overlap", "ahead"])
        self.assertEqual(lines[6:], ["1 of 3 rows are slower than they were:",
                                     "- dense, size 10, ring: old / new 0.5 (0.5 to 0.583)"])

    def test_columns_are_as_wide_as_they_need(self) -> None:
        self.assertEqual(table(["a", "b"], [["long", "c"]]), "| a    | b |\n| ---- | - |\n| long | c |")


if __name__ == "__main__":
    runner.main(sys.argv[:1])
