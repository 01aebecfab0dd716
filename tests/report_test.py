#!/usr/bin/python3
"""Tests of bench/report.py: intervals that cover, damaged lines that are named, numbers that are right by hand."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Callable

import numpy as np

BENCH = Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))

from report_fixture import fixture, host, row  # noqa: E402
from report_parts.intervals import Estimate, bootstrap_estimate, order_estimate, order_statistic_ranks  # noqa: E402
from report_parts.heat_maps import rate_families  # noqa: E402
from report_parts.measures import run_times  # noqa: E402
from report_parts.rows import BadRow, Problem, parse_row  # noqa: E402
from report_parts.sections import PLANNER, make_sections  # noqa: E402
from report_parts.volumes import FORMULA_WORDS, least_words, volumes  # noqa: E402


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


class IntervalTest(unittest.TestCase):
    def test_order_statistics_cover_the_median(self) -> None:
        """At least 94 % of 2000 intervals hold the true median, for each shape of distribution and size of sample."""
        def bimodal(generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
            return np.where(generator.random(shape) < 0.6, generator.uniform(1, 2, shape), generator.uniform(10, 11, shape))

        distributions: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], np.ndarray], float]] = {
            "lognormal": (lambda generator, shape: generator.lognormal(0, 1, shape), 1.0),
            "bimodal": (bimodal, 1 + 0.5 / 0.6),
            "heavy tail": (lambda generator, shape: 1 + generator.pareto(1.1, shape), 2 ** (1 / 1.1)),
        }
        for name, (draw, median) in distributions.items():
            for count in (8, 9, 12, 17, 25, 38, 50):
                with self.subTest(distribution=name, count=count):
                    samples = draw(np.random.default_rng(count), (2000, count))
                    estimates = [order_estimate(sample) for sample in samples]
                    covered = np.mean([one.low <= median <= one.high for one in estimates])
                    self.assertGreaterEqual(covered, 0.94)
                    self.assertLess(abs(covered - estimates[0].coverage), 0.015)

    def test_ranks_are_the_tabled_ones(self) -> None:
        tabled = ((6, 1, 0.969), (8, 1, 0.992), (9, 2, 0.961), (10, 2, 0.979), (20, 6, 0.959), (50, 18, 0.967))
        for count, rank, coverage in tabled:
            found, exact = order_statistic_ranks(count)
            self.assertEqual((found, round(exact, 3)), (rank, coverage))

    def test_small_samples_say_that_they_fall_short(self) -> None:
        for count, coverage in ((1, 0.0), (2, 0.5), (5, 0.9375)):
            estimate = order_estimate(np.arange(1.0, count + 1))
            self.assertEqual((estimate.low, estimate.high, estimate.coverage), (1.0, float(count), coverage))
            self.assertFalse(estimate.reaches_confidence)
        self.assertFalse(bootstrap_estimate(np.arange(1.0, 6)).reaches_confidence)

    def test_bootstrap_is_repeatable_and_covers(self) -> None:
        samples = np.random.default_rng(5).lognormal(0, 1, (150, 20))
        estimates = [bootstrap_estimate(sample) for sample in samples]
        self.assertEqual(estimates[0], bootstrap_estimate(samples[0]))
        self.assertGreaterEqual(np.mean([one.low <= 1.0 <= one.high for one in estimates]), 0.90)


class VolumeTest(unittest.TestCase):
    def test_no_formula_is_below_the_bound(self) -> None:
        for ranks in (2, 3, 7, 64):
            for pairs in (1, 5, 200):
                for shape in ((1, 1), (30, 70), (500, 500)):
                    problem = Problem(ranks, pairs, *shape)
                    for name, formula in FORMULA_WORDS.items():
                        self.assertGreaterEqual(formula(problem) * (1 + 1e-12), least_words(problem), (name, problem))


class RowTest(unittest.TestCase):
    def test_damage_is_named(self) -> None:
        cases: list[tuple[str, str]] = [
            ("{", "not JSON"), ("[1]", "expected an object"),
            (json.dumps({"family": "outer-product"}), "'algorithm' is missing"),
            (json.dumps(row(wrong=3)), "WRONG"), (json.dumps(row(rows=0)), "'rows' is 0"),
            (json.dumps(row(ranks=True, seconds=[[1.0]])), "'ranks' is true"), (json.dumps(row(dtype="f16")), "'dtype'"),
            (json.dumps(row(seconds=[])), "'seconds' is []"), (json.dumps(row(seconds=[[1, 1, 1]])), "'seconds[0]'"),
            (json.dumps(row(seconds=[[1, 1, float("nan"), 1]])), "'seconds[0][2]' is NaN"),
            (json.dumps(row(seconds=[[1, 1, 1, -1]])), "'seconds[0][3]' is -1"),
            (json.dumps(row(predicted_seconds="fast")), "'predicted_seconds'"), (json.dumps(row(columns=10**400)), "'columns'"),
            (json.dumps(row(host={"hostname": "a"})), "'host.cpu' is missing"),
            (json.dumps(row(host=host() | {"date": "yesterday"})), "'host.date'"),
            (json.dumps(row(median_interval={"low": 2, "high": 1})), "'median_interval'"),
            (json.dumps(row(family="sparse")), "'family' is \"sparse\""),
        ]
        for line, reason in cases:
            with self.subTest(reason=reason), self.assertRaises(BadRow) as caught:
                parse_row(line, "file:1")
            self.assertIn(reason, str(caught.exception))

    def test_a_rival_may_know_less(self) -> None:
        rival = {key: value for key, value in row("gloo", external=True).items()
                 if key not in ("bytes_sent", "messages_sent", "flops", "predicted_seconds", "wrong", "auto_choice")}
        self.assertIsNone(parse_row(json.dumps(rival), "file:1").bytes_sent)


class SectionTest(unittest.TestCase):
    def test_settings_are_kept_apart(self) -> None:
        rows = [row(), row(repetition=1), row(dtype="f64"), row(transport="threads"), row(host=host("1gbit")),
                row(host=host() | {"commit": "fff"}), row(host=host() | {"hostname": "other"}),
                row(host=host() | {"simulated": {"platform": "tree"}})]
        sections, refusals = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        self.assertEqual(sorted(len(section.rows) for section in sections), [1, 1, 1, 1, 1, 1, 2])
        self.assertEqual(refusals, [])

    def test_forms_are_kept_apart(self) -> None:
        """Rows from before there were forms are of dense factors and a gradient in full."""
        changes = [{}, {"wire": "full", "encoding": "dense", "density_a": 1.0}, {"wire": "bf16"}, {"density_a": 0.01},
                   {"density_a": 0.01, "encoding": "rows"}]
        rows = [row(repetition=number, **change) for number, change in enumerate(changes)]
        sections, _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        self.assertEqual([(section.setting.form, len(section.rows)) for section in sections],
                         [("", 2), ("bf16 on the wire", 1), ("densities 0.01 and 1", 1),
                          ("densities 0.01 and 1, encoding rows", 1)])

    def test_jobs_on_other_nodes_are_one_machine(self) -> None:
        rows = [row(job=7, repetition=0, host=host() | {"hostname": "node017"}),
                row(job=8, repetition=1, host=host() | {"hostname": "node102"})]
        sections, _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        self.assertEqual([len(section.rows) for section in sections], [2])


    def test_ranks_on_as_many_nodes_are_one_setting(self) -> None:
        rows = [row(ranks=2, host=host() | {"nodes": 2}), row(host=host() | {"nodes": 4}), row(host=host() | {"nodes": 2})]
        rows += [row(ranks=ranks, host=host() | {"nodes": ranks, "hostname": f"n-{ranks}", "simulated": {"platform": "tree"}})
                 for ranks in (4, 8)]
        sections, _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        self.assertEqual([[one.problem.ranks for one in section.rows] for section in sections], [[2, 4], [4], [4, 8]])

    def test_simulated_platforms_are_a_family_of_rates(self) -> None:
        rows = [row(host=host() | {"simulated": {"platform": name, "link_rate": rate, "selector": selector}})
                for name, rate, selector in (("tree", "10Gbps", "a"), ("star", "1Gbps", "a"), ("tree", "10Gbps", "b"))]
        sections, _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        families = [[section.setting.rate for section in family] for family in rate_families(sections)]
        self.assertEqual(sorted(families), [["10Gbps"], ["1Gbps", "10Gbps"]])


class StatedIntervalTest(unittest.TestCase):
    """What the benchmark states of one job's median goes before what its samples would give, for they ended early."""

    def test_used_for_one_job(self) -> None:
        times = [[seconds] * 4 for seconds in (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9)]
        stated = {"low": 0.9, "high": 2.5, "look_confidence": 0.98}
        def estimates(interval: str, *repetitions: int) -> list[Estimate]:
            rows = [row(seconds=times, median_interval=stated, repetition=number) for number in repetitions]
            [section], _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
            return [time.seconds for time in run_times(section, interval)]

        [found] = estimates("order", 0)
        self.assertEqual((found.low, found.high, found.coverage), (0.9, 2.5, 0.95))
        self.assertIn("stopping rule", found.method)
        [found] = estimates("bootstrap", 0)
        self.assertEqual(found.method, "percentile bootstrap")
        [found] = estimates("order", 0, 1)
        self.assertEqual((found.low, found.method), (1.45, "order statistics"))


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
        kinds = ["speedup", "run-times", "violins", "predictions", "volumes", "winners"]
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

    def test_speedups(self) -> None:
        """The ratios are 20, 25, 30, 35, 40, 80 over 25, times two; percentiles lie half-way between neighbours."""
        one = of_problem(table(self.folder, "section1-speedups"), "generalized-rabenseifner")
        self.assertEqual((one["base"], one["samples"]), ("allreduce-mpi", "6"))
        self.assertAlmostEqual(float(one["median"]), 2.6)
        self.assertAlmostEqual(float(one["percentile_10"]), 1.8)
        self.assertAlmostEqual(float(one["percentile_90"]), 4.8)
        self.assertTrue(1.6 <= float(one["low"]) < 2.6 < float(one["high"]) <= 6.4)

    def test_volumes(self) -> None:
        rows = table(self.folder, "section1-volumes")
        for name, formula in (("allgather", 4800), ("generalized-rabenseifner", 34800), ("allreduce-ring", 60000)):
            one = of_problem(rows, name)
            self.assertEqual((float(one["formula_bytes"]), float(one["bytes_sent"])), (formula, 4800))
            self.assertEqual(float(one["least_bytes"]), 6 * (100 + 100 - 6) * 4)
        self.assertEqual(of_problem(rows, "allreduce-mpi")["bytes_sent"], "")

    def test_formulas_of_the_rows(self) -> None:
        """A row's own formula serves for an algorithm whose published one is not known here, and for no other."""
        rows = [row("allgather", formula_bytes=1), row("new", formula_bytes=4801), row("old")]
        [section], _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        self.assertEqual([one.formula_bytes for one in volumes(section)], [4800, 4801, None])

    def test_rabenseifner_was_published_for_powers_of_two(self) -> None:
        rows = [row("allreduce-rabenseifner", formula_bytes=4801, ranks=ranks) for ranks in (3, 4)]
        [section], _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        self.assertEqual([one.formula_bytes for one in volumes(section)], [4801, 60000])

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
    unittest.main()
