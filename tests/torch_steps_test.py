#!/usr/bin/python3
"""Tests of scripts/torch and bench/torch_steps. Rows must be well formed; their numbers are not judged."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import unittest
from pathlib import Path

import runner

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from torch_steps.report import report  # noqa: E402


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


class ScriptTest(unittest.TestCase):
    def test_help(self) -> None:
        done = run(ROOT / "scripts/torch", "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("usage: scripts/torch", done.stdout)

    def test_wrong_options(self) -> None:
        for arguments, words in ((("--models", "mlp,vgg"), "has 'vgg', expected mlp, autoencoder, recommender"),
                                 (("--scenes", ""), "has '', expected 1gbit, 200mbit, pair, alone"),
                                 (("--rounds", "0"), "is '0', expected a whole number above 0")):
            done = run(ROOT / "scripts/torch", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(words, done.stderr)


@unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
class ProgramTest(unittest.TestCase):
    def test_rows(self) -> None:
        losses = []
        for way in ("plain", "attach"):
            done = run(sys.executable, ROOT / "bench/torch_steps/program.py", "lstm", way, "2")
            self.assertEqual(done.returncode, 0, done.stderr)
            row = json.loads(done.stdout)
            self.assertEqual(len(row["seconds"]), 2)
            self.assertGreater(row["peak_mib"], 1)
            self.assertTrue(all(len(row[name]) == 2 for name in ("utime", "stime", "minflt", "nvcsw", "nivcsw")), row)
            self.assertEqual("lstm.weight_hh_l0 2048x512: dense, multiplied at once" in row["how"], way == "attach", row["how"])
            losses.append(row["loss"])
        self.assertAlmostEqual(losses[0], losses[1], places=4)


class ReportTest(unittest.TestCase):
    def test_ratios_are_of_rounds(self) -> None:
        rows = [{"where": "here", "model": "mlp", "way": way, "round": number, "seconds": [9, seconds, 0], "peak_mib": peak,
                 "loss": 1 / 2**number, "how": f"by factors, {number}" if way == "attach" else ""}
                for number, pair in enumerate([((1, 10), (8, 20)), ((2, 30), (2, 5)), ((4, 20), (12, 7))])
                for way, (seconds, peak) in zip(("attach", "ddp"), pair)]
        shown, *told = report(rows, {"mlp": "a net"}).split("\n\n")
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.split("\n")]
        self.assertEqual(lines[2:], [["here", "a net", "attach", "2000 (1000 to 4000)", "", "30", "0.25000"],
                                     ["here", "a net", "ddp", "8000 (2000 to 9000)", "2.25 (1 to 8)", "20", "0.25000"]])
        self.assertEqual(told, ["here, mlp, attach:", "by factors, 2"])


if __name__ == "__main__":
    runner.main(sys.argv[:1])
