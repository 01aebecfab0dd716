#!/usr/bin/python3
"""Tests of bench/report.py: pictures and tables that are there, damaged lines that are named, numbers right by hand."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import runner
from report_fixture import BENCH, fixture, row
from report_parts.sections import PLANNER


def run_report(folder: Path, lines: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "results.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    command = ["/usr/bin/python3", str(BENCH / "report.py"), str(folder / "results.jsonl"), "--out", str(folder / "out")]
    return subprocess.run(command + list(options), capture_output=True, text=True, check=False)


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "out" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def of_problem(rows: list[dict[str, str]], algorithm: str) -> dict[str, str]:
    """The row of the problem P = 4, k = 2, N = 100."""
    [found] = [one for one in rows if one["algorithm"] == algorithm
               and (one["ranks"], one["pairs"], one["rows"]) == ("4", "2", "100")]
    return found


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        lines = [json.dumps(one) for one in fixture()]
        cls.good = len(lines)
        lines += ["{not json", json.dumps(row(wrong=7)), json.dumps(fixture()[0]), json.dumps(row("allgather", repetition=9))]
        cls.result = run_report(cls.folder, lines, "--title", "A <title>")
        cls.page = (cls.folder / "out" / "index.html").read_text(encoding="utf-8")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    def test_succeeds(self) -> None:
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        self.assertEqual(self.result.stdout.strip(), str(self.folder / "out" / "index.html"))

    def test_every_picture_and_table_exists(self) -> None:
        kinds = [f"{kind}{tail}" for kind in ("speedup", "run-times") for tail in ("", "-10th", "-90th")] + ["violins", "predictions", "volumes", "winners"]
        names = [f"section{number}-{kind}" for number in (1, 2) for kind in kinds] + ["section1-winners-over-rates"]
        for name in names:
            with self.subTest(picture=name):
                png = (self.folder / "out" / f"{name}.png").read_bytes()
                self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
                self.assertTrue(ElementTree.parse(self.folder / "out" / f"{name}.svg").getroot().tag.endswith("svg"))
                self.assertIn(f'<figure id="{name}"><img', self.page)
        for kind in ["speedups", "run-times", "samples", "predictions", "volumes", "winners"]:
            self.assertGreater(len(table(self.folder, f"section1-{kind}")), 0)

    def test_page_needs_nothing_else(self) -> None:
        self.assertNotIn("<script", self.page)
        self.assertNotIn("http", self.page.replace("data:image/svg+xml;base64,", ""))
        self.assertEqual(self.page.count("<img"), self.page.count('src="data:image/svg+xml;base64,'))
        self.assertIn("A &lt;title&gt;", self.page)
        self.assertIn("share 2 cores", self.page)

    def test_damaged_lines_are_named(self) -> None:
        source = self.folder / "results.jsonl"
        for offset, reason in ((1, "not JSON"), (2, "WRONG"), (3, "stands at"), (4, "left out of the speedups only")):
            named = f"{source}:{self.good + offset}: "
            [line] = [line for line in self.result.stderr.splitlines() if named in line]
            self.assertIn(reason, line)
            self.assertIn(named, self.page)

    def test_run_times(self) -> None:
        base = of_problem(table(self.folder, "section1-run-times"), "allreduce-mpi")
        self.assertEqual((base["sample_is"], base["samples"]), ("repetition", "6"))
        self.assertAlmostEqual(float(base["median_seconds"]), 0.0325)
        self.assertEqual((float(base["low_seconds"]), float(base["high_seconds"])), (0.020, 0.080))
        self.assertEqual(float(base["coverage"]), 1 - 2 / 2**6)
        self.assertEqual(base["interval_by"], "order statistics")
        self.assertAlmostEqual(float(base["percentile_90_seconds"]), 0.060)  # half-way from 0.040 to 0.080
        self.assertEqual((float(base["percentile_90_low_seconds"]), float(base["percentile_90_high_seconds"])), (0.035, 0.080))
        self.assertLess(float(base["percentile_90_coverage"]), 0.5)

    def test_speedups(self) -> None:
        """The ratios are 20, 25, 30, 35, 40, 80 over 25, times two; percentiles lie half-way between neighbours."""
        one = of_problem(table(self.folder, "section1-speedups"), "generalized-rabenseifner")
        self.assertEqual((one["base"], one["samples"]), ("allreduce-mpi", "6"))
        self.assertAlmostEqual(float(one["median"]), 2.6)
        self.assertAlmostEqual(float(one["percentile_10"]), 1.8)
        self.assertAlmostEqual(float(one["percentile_90"]), 4.8)
        self.assertTrue(1.6 <= float(one["low"]) < 2.6 < float(one["high"]) <= 6.4)
        tails = [float(one[f"percentile_{percent}_{end}"]) for percent in (10, 90) for end in ("low", "high")]
        self.assertAlmostEqual(tails[0], 1.6)  # the smallest of six is in more than 2.5 % of the draws
        self.assertAlmostEqual(tails[3], 6.4)  # and so is the largest
        self.assertTrue(1.8 < tails[1] < 4.8 and 1.8 < tails[2] < 4.8, tails)

    def test_volumes(self) -> None:
        rows = table(self.folder, "section1-volumes")
        for name, formula in (("allgather", 4800), ("generalized-rabenseifner", 34800), ("allreduce-ring", 60000)):
            one = of_problem(rows, name)
            self.assertEqual((float(one["formula_bytes"]), float(one["bytes_sent"])), (formula, 4800))
            self.assertEqual(float(one["least_bytes"]), 6 * (100 + 100 - 6) * 4)
        self.assertEqual(of_problem(rows, "allreduce-mpi")["bytes_sent"], "")

    def test_panels_of_one_size_have_sheets_of_their_own(self) -> None:
        rows = [row(name, rows=size, columns=size, ranks=ranks, repetition=job) for name in ("allgather", "allreduce-mpi")
                for job in (0, 1) for ranks, size in ((2, 100), (4, 100), (4, 400))]
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run_report(Path(folder), [json.dumps(one) for one in rows]).returncode, 0)
            drawn = {path.stem for path in (Path(folder) / "out").glob("*.png")}
        self.assertTrue({"section1-speedup", "section1-speedup-2", "section1-volumes-2"} <= drawn, drawn)

    def test_predictions_and_winners(self) -> None:
        one = of_problem(table(self.folder, "section1-predictions"), "generalized-rabenseifner")
        self.assertAlmostEqual(float(one["predicted_over_median"]), 0.8)
        winner = of_problem(table(self.folder, "section1-winners"), "allgather")
        self.assertEqual((winner["second"], winner["clear"], winner["planner_choice"]),
                         ("generalized-rabenseifner", "yes", "allgather"))
        self.assertAlmostEqual(float(winner["lead"]), 5.0)


    def test_the_planners_run_is_no_contender(self) -> None:
        """As fast as what it chose, it would be the second best of every problem, and its bytes are those of its choice."""
        for kind in ("winners", "volumes"):
            self.assertFalse([one for one in table(self.folder, f"section1-{kind}") if PLANNER in one.values()])
        self.assertTrue([one for one in table(self.folder, "section1-run-times") if one["algorithm"] == PLANNER])


class SmallReportTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def test_left_out_pictures_are_explained(self) -> None:
        """One rank, no pairs, one algorithm, one sample: nothing to compare, and no fall over a zero."""
        lonely = row(ranks=1, pairs=0, seconds=[[0.5]], bytes_sent=0, predicted_seconds=None)
        result = run_report(self.folder, [json.dumps(lonely)], "--interval", "bootstrap")
        self.assertEqual(result.returncode, 0, result.stderr)
        page = (self.folder / "out" / "index.html").read_text(encoding="utf-8")
        for reason in ("no row of the base allreduce-mpi", "no row carries a predicted_seconds", "no row counted any",
                       "needs two problems", "needs two link rates"):
            self.assertIn(reason, page)
        self.assertFalse((self.folder / "out" / "section1-speedup.png").exists())

    def test_exit_status(self) -> None:
        result = run_report(self.folder, ["{"])
        self.assertEqual(result.returncode, 1)
        self.assertIn("no usable row", result.stderr)
        result = run_report(self.folder, [json.dumps(row())], "--base", "allgatter")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--base is 'allgatter', expected an algorithm of the rows: allgather", result.stderr)


if __name__ == "__main__":
    runner.main(sys.argv)
