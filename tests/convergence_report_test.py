"""The tables and pictures of scripts/convergence, of rows as dsop-train writes them."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

import runner

ROOT = Path(__file__).resolve().parent.parent
_loader = SourceFileLoader("convergence", str(ROOT / "scripts/convergence"))
_spec = importlib.util.spec_from_loader("convergence", _loader)
assert _spec is not None
sys.dont_write_bytecode = True  # beside the script
convergence = importlib.util.module_from_spec(_spec)
sys.modules["convergence"] = convergence
_loader.exec_module(convergence)

RANKS = [4, 8]
SCHEMES = ["topk", "ok-topk", "gaussian-k"]
SHARES = {"topk": (100, 100, 600), "ok-topk": (100, 110, 90), "gaussian-k": (310, 95, 500)}  # predicted, chosen, in_sum of k = 100


class Convergence(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.task = convergence.task_of("digits", self.folder)
        self.runs = [convergence.Run(P, "dense", 1) for P in RANKS]
        self.runs += [convergence.Run(P, scheme, 0.01) for scheme in SCHEMES for P in RANKS]
        for run in self.runs:
            step = {"kind": "step", "loss": 1.0}
            if run.scheme in SHARES:
                step |= dict(zip(("predicted", "chosen", "in_sum"), SHARES[run.scheme]), target=100, local_evaluations=2,
                             global_evaluations=1)
            if run.scheme == "ok-topk":
                step["xi"] = 1.5
            last = {"kind": "epoch", "loss": 0.25, "accuracy": 0.85 if run.scheme == "topk" else 0.9}
            run.file(self.folder).write_text("".join(json.dumps(row) + "\n" for row in (step, step, last)), encoding="utf-8")

    def results(self) -> list:
        return [convergence.result_of(run, self.task, self.folder) for run in self.runs]

    def tables(self) -> str:
        return convergence.tables(self.results(), "accuracy", RANKS, [0.01], SCHEMES)

    def test_expected_k_by_a_threshold_is_among_the_schemes(self) -> None:
        self.assertIn("expected-k-threshold", convergence.SCHEMES.split(","))

    def test_the_last_table_has_dense_and_what_gaussian_k_predicted(self) -> None:
        text = self.tables()
        self.assertIn("| scheme | density | P | predicted | chosen | in the sum | local | of sums | loss |\n", text)
        for P in RANKS:
            self.assertIn(f"| `dense` | - | {P} | - | - | - | - | - | 0.250 |\n", text)
            self.assertIn(f"| `topk` | 1 % | {P} | - | 1.00 | 6.00 | 4 | 2 | 0.250 |\n", text)
            self.assertIn(f"| `ok-topk` | 1 % | {P} | - | 1.10 | 0.90 | 4 | 2 | 0.250 |\n", text)
            self.assertIn(f"| `gaussian-k` | 1 % | {P} | 3.10 | 0.95 | 5.00 | 4 | 2 | 0.250 |\n", text)

    def test_accuracy_smallest_density_and_xi(self) -> None:
        text = self.tables()
        self.assertIn("| `dense` | 90.0 | 90.0 |\n| `topk` | 85.0 | 85.0 |\n| `ok-topk` | 90.0 | 90.0 |\n", text)
        self.assertIn("| `topk` | none | none |\n| `ok-topk` | 1 % | 1 % |\n", text)
        self.assertIn("| `ok-topk` | 1 % | 1.50, 1.50 | 1.50, 1.50 |\n", text)

    def test_a_run_that_diverged_says_so(self) -> None:
        file = self.runs[-1].file(self.folder)
        steps = file.read_text(encoding="utf-8").splitlines()[:2]
        file.write_text("\n".join([*steps, json.dumps({"kind": "diverged"})]) + "\n", encoding="utf-8")
        self.assertIn("| `gaussian-k` | 90.0 | diverges |\n", self.tables())

    def test_pictures_tell_all_schemes_apart(self) -> None:
        convergence.draw(self.results(), "accuracy", RANKS, [0.01], SCHEMES, self.folder / "accuracy.png")
        convergence.draw_xi([result for result in self.results() if result.xi], RANKS, self.folder / "xi.png")
        for picture in ("accuracy.png", "xi.png"):
            self.assertTrue((self.folder / picture).read_bytes().startswith(b"\x89PNG"))
        self.assertGreaterEqual(len(set(convergence.MARKERS)), len(convergence.SCHEMES.split(",")))


if __name__ == "__main__":
    runner.main(sys.argv)
