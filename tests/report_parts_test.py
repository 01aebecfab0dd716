#!/usr/bin/python3
"""Tests of what bench/report.py is made of: intervals that cover, rows that are refused, sections, volumes."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Callable

import numpy as np
from matplotlib.figure import Figure

import runner
from report_fixture import host, row
from report_parts.distributions import _draw_violin, draw_violins, shows_jobs
from report_parts.heat_maps import rate_families
from report_parts.intervals import Estimate, bootstrap_estimate, order_estimate, order_statistic_ranks
from report_parts.measures import run_times, winners
from report_parts.rows import BadRow, Problem, parse_row
from report_parts.sections import Section, make_sections
from report_parts.style import Look, make_looks
from report_parts.volumes import FORMULA_WORDS, least_words, volumes


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
            low, high, exact = order_statistic_ranks(count)
            self.assertEqual((low, high, round(exact, 3)), (rank, count + 1 - rank, coverage))

    def test_order_statistics_cover_the_tails(self) -> None:
        """As often as they say, which is 95 % from 31 samples on; with fewer all that is below the 10th percentile is inside."""
        for percent, truth in ((10, 0.1), (90, 0.9)):
            for count in (6, 30, 31, 40, 60):
                with self.subTest(percent=percent, count=count):
                    samples = np.random.default_rng(count).random((4000, count))
                    estimates = [order_estimate(sample, percent) for sample in samples]
                    covered = np.mean([one.low <= truth <= one.high for one in estimates])
                    self.assertLess(abs(covered - estimates[0].coverage), 0.02)
                    self.assertEqual(estimates[0].reaches_confidence, count >= 31)
                    self.assertEqual(estimates[0].value, np.percentile(samples[0], percent))
        low, high, coverage = order_statistic_ranks(6, 10)
        self.assertEqual((low, high), (1, 3))
        self.assertAlmostEqual(coverage, 6 * 0.1 * 0.9**5 + 15 * 0.1**2 * 0.9**4)  # one or two samples below
        self.assertEqual(order_statistic_ranks(6, 90)[:2], (4, 6))

    def test_bootstrap_covers_the_tails(self) -> None:
        for percent, truth in ((10, 0.1), (90, 0.9)):
            estimates = [bootstrap_estimate(sample, percent) for sample in np.random.default_rng(3).random((150, 60))]
            self.assertGreaterEqual(np.mean([one.low <= truth <= one.high for one in estimates]), 0.88)
            self.assertEqual(estimates[0].coverage, 0.95)
        self.assertAlmostEqual(bootstrap_estimate(np.arange(6.0), 10).coverage, 1 - 0.9**6 - 0.1**6)

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

    def test_formulas_of_the_rows(self) -> None:
        """A row's own formula serves for an algorithm whose published one is not known here, and for no other."""
        rows = [row("allgather", formula_bytes=1), row("new", formula_bytes=4801), row("old")]
        [section], _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        self.assertEqual([one.formula_bytes for one in volumes(section)], [4800, 4801, None])

    def test_rabenseifner_was_published_for_powers_of_two(self) -> None:
        rows = [row("allreduce-rabenseifner", formula_bytes=4801, ranks=ranks) for ranks in (3, 4)]
        [section], _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        self.assertEqual([one.formula_bytes for one in volumes(section)], [4801, 60000])


class WinnerTest(unittest.TestCase):
    def test_a_choice_is_held_against_what_it_could_have_been(self) -> None:
        """Neither other choosers win, nor what leaves each rank a part; how values travel is no other algorithm."""
        seconds = {"auto:bf16": 0.009, "auto-probed:bf16": 0.009, "sharded:bf16": 0.001, "allgather:bf16": 0.01,
                   "allreduce-ring:bf16": 0.03}
        [section], _ = make_sections([parse_row(json.dumps(row(name, value)), "file:1") for name, value in seconds.items()])
        [winner] = winners(section, "order")
        self.assertEqual((winner.best.cell.algorithm, winner.choice_differs, winner.choice_loss), ("allgather:bf16", False, 1))


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

    def test_rows_of_the_transport_before_tcp_are_read(self) -> None:
        self.assertEqual(parse_row(json.dumps(row(transport="gloo")), "file:1").transport, "gloo")
        with self.assertRaisesRegex(BadRow, "'transport' is \"udp\", expected 'threads', 'mpi' or 'tcp'"):
            parse_row(json.dumps(row(transport="udp")), "file:1")

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


class SpreadTest(unittest.TestCase):
    """Figures 3 and 4 of the paper: percentiles over jobs with intervals, violins of jobs."""

    @staticmethod
    def section(jobs: int, *algorithms: str) -> Section:
        rows = [row(name, 0.01 * (job + 1), repetition=job) for name in algorithms for job in range(jobs)]
        [section], _ = make_sections([parse_row(json.dumps(one), "file:1") for one in rows])
        return section

    def test_percentiles_are_over_jobs(self) -> None:
        [found] = run_times(self.section(41, "allgather"), "order")
        self.assertEqual([round(found.percentiles[percent].value, 9) for percent in (10, 50, 90)], [0.05, 0.21, 0.37])
        for one in found.percentiles.values():
            self.assertLess(one.low, one.value)
            self.assertLess(one.value, one.high)
        self.assertTrue(found.is_sure_of(90))
        [few] = run_times(self.section(9, "allgather"), "order")
        self.assertEqual([few.is_sure, few.is_sure_of(10)], [True, False])
        [alone] = run_times(self.section(1, "allgather"), "order")
        self.assertEqual(list(alone.percentiles), [50])

    def test_violins_are_of_jobs_where_there_are_enough(self) -> None:
        self.assertEqual([shows_jobs(list(self.section(jobs, "allgather", "auto").cells.values())) for jobs in (7, 8)],
                         [False, True])
        with tempfile.TemporaryDirectory() as folder:
            for jobs, words in ((7, "all iterations of all jobs"), (8, "medians of jobs")):
                section = self.section(jobs, "allgather")
                [picture] = draw_violins(section, make_looks(section.algorithms), Path(folder))
                self.assertIn(f"Of each algorithm {words}, measured", picture.caption)
                self.assertEqual("fewer than 8 jobs" in picture.caption, jobs == 7)

    def test_bars_end_at_the_5th_and_the_95th_percentile(self) -> None:
        axes = Figure().add_subplot()
        _draw_violin(axes, np.arange(1.0, 102), 0, Look("black", "o"))
        bar, caps = axes.collections[1:]
        self.assertEqual(bar.get_segments()[0][:, 0].tolist(), [6, 96])
        self.assertEqual([cap[0, 0] for cap in caps.get_segments()], [6, 96])


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


if __name__ == "__main__":
    runner.main(sys.argv)
