#!/usr/bin/python3
"""Tests of bench/sparse_report.py, with rows whose tables can be worked out by hand."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import runner
from report_fixture import host

ROOT = Path(__file__).resolve().parent.parent
MILLISECONDS = {"allgather": 2, "ssar-split-allgather": 4, "dsar-split-allgather": 3, "topk-dsa": 3.6, "dense-ring": 10,
                "auto": 2.5}


def row(algorithm: str, milliseconds: float = 1, **fields: Any) -> dict[str, Any]:
    vectors = {"ranks": 4, "size": 1000, "density": 0.1, "distribution": "uniform", "dtype": "f32"}
    counted = {"bytes_sent": 2400, "path_bytes": 4800, "messages_sent": 3, "path_messages": 4, "agreement_messages": 2,
               "result_elements": 300}
    names = {"family": "sparse-allreduce", "algorithm": algorithm, "used": algorithm}
    rest = {"wrong": 0, "predicted_seconds": 1, "seconds": [[milliseconds / 2e3, milliseconds / 1e3]] * 6, "host": host("1gbit")}
    return vectors | counted | names | rest | fields


def sweep(**fields: Any) -> list[dict[str, Any]]:
    """The allgather is the fastest; auto uses the region's dense sums, which take 1.5 times as long."""
    return [row(name, time, used="dsar-split-allgather" if name == "auto" else name, **fields)
            for name, time in MILLISECONDS.items()]


def selecting(algorithm: str, milliseconds: float = 1, **fields: Any) -> dict[str, Any]:
    vectors = {"ranks": 4, "size": 1000, "density": 0.1, "distribution": "uniform", "dtype": "f32", "chosen": 100}
    counted = {"bytes_sent": 1600, "first_bytes_sent": 2400, "path_bytes": 3200, "result_elements": 110}
    return vectors | counted | {"family": "topk-allreduce", "algorithm": algorithm, "host": host("1gbit"),
                                "seconds": [[milliseconds / 2e3, milliseconds / 1e3]] * 6} | fields


class SparseReportTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        machine = {"latency_seconds": 4e-4, "overhead_seconds": 1e-4, "gap_per_byte_seconds": 1e-8}
        (self.folder / "machine-4.json").write_text(json.dumps(machine), encoding="utf-8")

    def write(self, name: str, rows: list[dict[str, Any]]) -> None:
        (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")

    def report(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(ROOT / "bench/sparse_report.py"), str(self.folder), *arguments],
                              capture_output=True, text=True, check=False)

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.folder / "report" / f"{name}.csv").open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_words_beside_formulas(self) -> None:
        self.write("volumes", [row("allgather"), row("ssar-recursive-doubling", ranks=3, distribution="apart"),
                               row("dsar-split-allgather", distribution="same"), row("dense-ring"),
                               row("dsar-early-switch(8)", ranks=12, distribution="same")])
        done = self.report()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line["formula"] for line in self.table("volumes") if line["P"] == "3"],
                         ["2K(P) + sum of 2K(2^j + min(2^j, e)), j < log2(P - e), for the e ranks beyond a power of two"])
        columns = ("formula_words", "sent_over_formula", "path_formula_words", "path_over_formula")
        found = {line["algorithm"]: tuple(float(line[column]) for column in columns) for line in self.table("volumes")}
        self.assertEqual(found, {
            "allgather": (600, 1, 600, 2),  # 2 * 100 * 3
            "ssar-recursive-doubling": (1000, 0.6, 1200, 1),  # 2 * 200 + 2 * 300, and 2 * 100 on the path
            "dsar-split-allgather": (900, 600 / 900, 900, 1200 / 900),  # (200 + 1000) * 3 / 4
            # 200 * 7 / 8 + 1000 * 11 / 8 in one group, and 200 on the path of the four ranks beyond
            "dsar-early-switch(8)": (1550, 600 / 1550, 1750, 1200 / 1750)})

    def test_rounds_beside_the_stated_latency(self) -> None:
        self.write("volumes", [row("ssar-split-allgather", ranks=ranks, distribution=overlap, path_messages=rounds)
                               for ranks, overlap, rounds in ((4, "uniform", 10), (4, "same", 10), (6, "uniform", 18),
                                                              (6, "same", 17))])
        done = self.report()
        self.assertEqual(done.returncode, 0, done.stderr)
        columns = ("latency", "P", "stated_rounds", "rounds", "messages", "agreement_messages")
        self.assertEqual([tuple(line[column] for column in columns) for line in self.table("latency")],
                         [("P - 1 + log2 P", "4", "5", "10", "3", "2"), ("P - 1 + log2 P", "6", "", "18", "3", "2")])
        self.assertIn("Rounds are the same for every overlap in 1 of 2 cells.",
                      (self.folder / "report/report.md").read_text(encoding="utf-8"))

    def test_where_sums_become_dense(self) -> None:
        others = ("dsar-early-switch(2)", "ssar-split-allgather", "topk-dsa", "dsar-split-allgather", "dense-rabenseifner")
        sent = {0.1: 4 * 580, 0.4: 4 * (800 + 1000)}  # 2 * 100 + 2 * 190; 2 * 400 and a dense vector
        self.write("dense-sums", [line for density, bytes_sent in sent.items() for line in
                                  [row("ssar-recursive-doubling", density=density, bytes_sent=bytes_sent),
                                   *(row(name, density=density) for name in others)]])
        done = self.report()
        self.assertEqual(done.returncode, 0, done.stderr)
        columns = ("density", "dense_from_round", "doubling_words", "doubling_sparse_words", "early_switch_words")
        self.assertEqual([tuple(line[column] for column in columns) for line in self.table("dense-sums")],
                         [("0.1", "", "580", "580", "600"), ("0.4", "2", "1800", "2080", "600")])
        self.assertIn("P = 4: `ssar-recursive-doubling` swaps dense sums from density 0.4 on.",
                      (self.folder / "report/report.md").read_text(encoding="utf-8"))

    def test_sweeps(self) -> None:
        self.write("switching", sweep() + sweep(density=0.2))
        self.write("groups", [row("dsar-early-switch(4)", 3), row("dsar-early-switch(2)", 2)]
                   + [row(f"dsar-early-switch({group})", time, ranks=16) for group, time in ((16, 6), (8, 4), (4, 5), (2, 8))]
                   + [row("dsar-split-allgather", 7, ranks=16)])
        self.write("sums", [{"benchmark": "sums", "type": "f32", "size": 1000, "density": density, "contender": name,
                             "seconds": [milliseconds / 1e3] * 6}
                            for density, sparse in ((0.01, 1), (0.04, 4))
                            for name, milliseconds in (("sparse", sparse), ("plain merge", 6), ("interleaved merge", 3), ("sparse, packed", 2),
                                                ("plain merge, packed", 7), ("interleaved merge, packed", 5), ("dense", 2))])
        done = self.report()
        self.assertEqual(done.returncode, 0, done.stderr)
        fastest = self.table("switching")[0]
        self.assertEqual((fastest["fastest"], fastest["ms"], fastest["dense_over_fastest"], fastest["auto_used"]),
                         ("allgather", "2.0", "5.0", "dsar-split-allgather"))
        self.assertAlmostEqual(float(fastest["used_over_fastest"]), 1.5)
        self.assertAlmostEqual(float(fastest["auto_over_best_dense"]), 0.25)
        self.assertAlmostEqual(float(self.table("static-dynamic")[0]["dynamic_over_best_static"]), 1.2)
        bounds = self.table("lower-bounds")[0]
        self.assertAlmostEqual(float(bounds["latency_ms"]), 1.2)  # two messages of 0.4 + 0.2
        self.assertAlmostEqual(float(bounds["bandwidth_ms"]), 271 * 4e-5)  # 1000 (1 - 0.9^3)
        self.assertAlmostEqual(float(bounds["over_the_larger_bound"]), 2 / 1.2)
        four, sixteen = self.table("early-switching")
        self.assertAlmostEqual(float(four["one_group_over_fastest"]), 1.5)
        self.assertEqual((four["groups_of_16_ms"], four["groups_of_4_ms"], four["split_allgather_ms"]), ("", "3.0", ""))
        self.assertEqual((sixteen["fastest"], sixteen["groups_of_16_ms"], sixteen["groups_of_8_ms"], sixteen["split_allgather_ms"]),
                         ("dsar-early-switch(8)", "6.0", "4.0", "7.0"))
        text = (self.folder / "report/report.md").read_text(encoding="utf-8")
        self.assertIn("P = 4, N = 1000: `allgather` from 0.1.", text)
        self.assertIn("P = 16, density 0.1: the fastest groups have 8 ranks at N = 1000.", text)
        self.assertIn("`auto` takes at most 0.25 times as long as the best dense one (P = 4, N = 1000, density 0.2: ", text)
        self.assertIn("f32, N = 1000: a sum of sparse vectors takes as long as one of dense ones at a density of 2.00%", text)
        self.assertEqual([line["plain_over_sparse"] for line in self.table("summation")], ["6.0", "1.5"])
        self.assertEqual([[line[name] for name in ("pairs_over_ours", "pairs_over_plain", "pairs_over_ours_packed")]
                          for line in self.table("layouts")], [["3.0", "0.5", "2.5"], ["0.75", "0.5", "2.5"]])
        self.assertTrue((self.folder / "report/switching.png").exists())
        page = shutil.copy(ROOT / "docs/sparse.md", self.folder)
        done = self.report("--page", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = Path(page).read_text(encoding="utf-8")
        written = sorted(file.name for file in (self.folder / "sparse").iterdir())
        self.assertIn("lower-bounds.png", written)
        self.assertEqual([name for name in written if f"](sparse/{name})" not in text], [])  # nothing that no page shows

    def test_allreduces_that_select(self) -> None:
        self.write("selected", [selecting("ok-topk"), selecting("ok-topk", distribution="clustered"), selecting("gtopk"),
                                selecting("gaussian-k")])
        times = {"ok-topk": 2, "ok-topk-equal-regions": 3, "ok-topk-direct": 2.2, "ok-topk-naive": 5,
                 "ok-topk-unrotated": 2.8, "ok-topk-unbucketed": 2.5}
        ablations = [selecting(name, time, density=density) for name, time in times.items() for density in (0.1, 0.2)]
        for line in ablations:
            if line["algorithm"] == "ok-topk-direct" and line["density"] == 0.2:
                line["bytes_sent"] *= 2
                line["seconds"] = [[1.5 * s for s in seconds] for seconds in line["seconds"]]
        self.write("ablations", ablations)
        done = self.report()
        self.assertEqual(done.returncode, 0, done.stderr)
        columns = ("algorithm", "ranks_are", "k", "bound_words", "sent_words", "path_formula_words", "evaluating_bound_words")
        self.assertEqual([tuple(line[column] for column in columns) for line in self.table("selected-words")],
                         [("gaussian-k", "alike", "100", "600", "400", "", ""),  # 2 * 100 * 3
                          ("gtopk", "alike", "100", "400", "400", "800", ""),  # 2 * 100 * 2, twice on the path
                          ("ok-topk", "unlike", "110", "880", "400", "", "1540"),  # 8 * 110, and 2 * 110 * 3
                          ("ok-topk", "alike", "110", "495", "400", "", "825")])  # 6 * 110 * 3 / 4, and 110 * 3
        ablation = self.table("ablations")[0]
        self.assertAlmostEqual(float(ablation["equal_regions_over_it"]), 1.5)
        self.assertAlmostEqual(float(ablation["naive_over_it"]), 2.5)
        self.assertAlmostEqual(float(ablation["naive_over_equal_regions"]), 5 / 3)
        self.assertAlmostEqual(float(ablation["unrotated_over_it"]), 1.4)
        self.assertAlmostEqual(float(ablation["unbucketed_over_it"]), 1.25)
        self.assertEqual([float(line["direct_sends_over_it"]) for line in self.table("ablations")], [1, 2])
        text = (self.folder / "report/report.md").read_text(encoding="utf-8")
        self.assertIn("`ok-topk-unrotated` takes 1.40 to 1.40 times as long as `ok-topk`.", text)
        self.assertIn("`ok-topk-unbucketed` takes 1.25 to 1.25 times as long as `ok-topk`.", text)
        self.assertIn("takes 1.65 to 1.65 times as long in 1 of 2 cells, where `ok-topk` shares out.", text)
        self.assertIn("takes 1.10 to 1.10 times as long in 1 of 2 cells, where `ok-topk` has nothing to share out", text)

    def test_page(self) -> None:
        page = self.folder / "page.md"
        page.write_text("<!-- latency -->\n<!-- end of latency -->\nbefore\n<!-- volumes -->\nold\n<!-- end of volumes -->\nafter\n", encoding="utf-8")
        self.write("volumes", [row("allgather", ranks=2), row("allgather", ranks=3)])
        for _ in range(2):
            done = self.report("--page", str(page))
            self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text(encoding="utf-8")
        self.assertTrue("before\n<!-- volumes -->\n" in text and text.endswith("<!-- end of volumes -->\nafter\n"), text)
        self.assertEqual(text.count("| uniform indices | allgather | 2k(P-1) | 2 |"), 1)
        self.assertNotIn("old", text)
        self.assertNotIn("| 2k(P-1) | 3 |", text)  # in the CSV alone
        self.assertIn("page/volumes.csv", text)

    def test_what_cannot_be_used(self) -> None:
        done = self.report()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no rows of scripts/sparse-report", done.stderr)
        self.write("volumes", [row("allgather"), row("allgather", wrong=3)])
        done = self.report()
        self.assertEqual(done.returncode, 2)
        self.assertIn("volumes.jsonl:2: ", done.stderr)
        self.assertIn("3 elements of the sum are wrong", done.stderr)
        self.write("volumes", [row("allgather")])
        page = self.folder / "page.md"
        page.write_text("nothing\n", encoding="utf-8")
        self.assertIn("0 places for 'volumes'", self.report("--page", str(page)).stderr)


if __name__ == "__main__":
    runner.main(sys.argv)
