"""bench/training.py on rows as dsop-train writes them: tables, ratios, pictures, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runner

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "bench/training.py"
sys.path.insert(0, str(ROOT / "bench"))

from training_parts.pictures import look_of  # noqa: E402  (from bench/)


def step(number: int, seconds: float, **more: object) -> dict[str, object]:
    return {"kind": "step", "step": number, "epoch": 1, "loss": 1 / number, "samples": 8, "seconds": seconds,
            "arithmetic_seconds": [0.1, 0.2], "communication_seconds": [seconds - 0.1, seconds - 0.2], **more}


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PROGRAM), str(folder)], capture_output=True, text=True, check=False)


class Training(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def test_ratios_are_of_medians_without_the_first_step(self) -> None:
        for policy, seconds in (("dense:mpi", 4.0), ("dense:ring", 2.0), ("dsop", 0.5)):
            for number in (1, 2):
                write(self.folder / "speed/mlp/1gbit" / policy / f"{number}.jsonl",
                      [step(1, 100.0), step(2, seconds), step(3, seconds)])
        result = run(self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| `dsop` | 0.5000 | 0.2000 | 0.4000 | 8.00 (8.00 to 8.00) | 4.00 (4.00 to 4.00) | 0.33333 |",
                      result.stdout)

    def test_chosen_elements_stand_beside_k_and_pictures_are_drawn(self) -> None:
        epoch = {"kind": "epoch", "epoch": 1, "step": 2, "loss": 0.5, "seconds": 1.0, "accuracy": 0.75}
        write(self.folder / "curves/dense.jsonl", [step(1, 1.0), step(2, 1.0), epoch])
        write(self.folder / "curves/ok-topk:0.01.jsonl",
              [step(n, 1.0, target=100, chosen=110, in_sum=50, **({"xi": 1.5} if n == 2 else {})) for n in (1, 2)] + [epoch])
        write(self.folder / "curves/gaussian-k:0.01.jsonl",
              [step(n, 1.0, target=100, chosen=90, in_sum=150, predicted=100 * n) for n in (1, 2)] + [epoch])
        result = run(self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| `ok-topk:0.01` | 0.5000 | 0.7500 | - | +10.0% | -50.0% |", result.stdout)
        self.assertIn("| `gaussian-k:0.01` | 0.5000 | 0.7500 | +50.0% | -10.0% | +50.0% |", result.stdout)
        self.assertIn("| `dense` | 0.5000 | 0.7500 | - | - | - |", result.stdout)
        self.assertIn("`ok-topk:0.01`: xi in 1 steps has the median 1.50, the mean 1.50, at most 1.50. Steps are off k by "
                      "10.0% (rank 0) and 50.0% (sum)", result.stdout)
        for picture in ("curves.png", "chosen.png", "xi.png"):
            self.assertTrue((self.folder / picture).read_bytes().startswith(b"\x89PNG"))

    def test_parts_of_a_step_add_up_to_it(self) -> None:
        def parts(number: int, selection: float) -> dict[str, object]:
            return step(number, 4.0, arithmetic_seconds=[1.0, 2.0], selection_seconds=[selection, selection],
                        communication_seconds=[3.0 - selection, 2.0 - selection])

        write(self.folder / "speed/mlp/1gbit/dsop/1.jsonl", [parts(1, 0.0), parts(2, 0.0)])
        write(self.folder / "speed/mlp/1gbit/topk:0.01/1.jsonl", [parts(1, 1.0), parts(2, 0.5)])
        write(self.folder / "scaling/topk:0.01/4/1.jsonl", [parts(1, 0.0), parts(2, 0.25)])
        write(self.folder / "scaling/topk:0.01/2/1.jsonl", [step(1, 1.0), step(2, 1.0)])
        result = run(self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in ("**Where a step's seconds go, mlp, 1gbit, 8 hosts**", "| `dsop` | 1.5000 | 0.0000 | 2.5000 |",
                     "| `topk:0.01` | 1.5000 | 0.5000 | 2.0000 |", "**Where a step's seconds go, P = 4**",
                     "| `topk:0.01` | 1.5000 | 0.2500 | 2.2500 |"):
            self.assertIn(line, result.stdout)
        for picture in ("parts-mlp-1gbit.png", "scaling-parts.png"):
            self.assertTrue((self.folder / picture).read_bytes().startswith(b"\x89PNG"))

    def test_a_step_over_ranks_is_the_median_of_its_rounds(self) -> None:
        for ranks, seconds in ((2, 1.0), (8, 3.0)):
            for number in (1, 2):
                write(self.folder / f"scaling/dsop/{ranks}/{number}.jsonl", [step(1, 100.0), step(2, number * seconds)])
        write(self.folder / "scaling/none/8/1.jsonl", [step(1, 100.0), step(2, 0.25)])
        result = run(self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| `--sync` | P = 2 | P = 8 |", result.stdout)
        self.assertIn("| `dsop` | 1.5000 | 4.5000 |", result.stdout)
        self.assertIn("| `none` | - | 0.2500 |", result.stdout)
        self.assertTrue((self.folder / "scaling.png").read_bytes().startswith(b"\x89PNG"))

    def test_simulated_steps_add_up_their_parameters_where_all_are_there(self) -> None:
        def row(algorithm: str, ranks: int, seconds: list[float], **more: object) -> dict[str, object]:
            shape = {"size": 6} if "density" in more else {"rows": 2, "columns": 3}
            return {"algorithm": algorithm, "used": algorithm, "ranks": ranks, "seconds": [seconds], **shape, **more}

        for layer in ("layer1", "layer2"):
            for ranks in (8, 16):
                write(self.folder / f"simulated/mlp/{layer}/{ranks}-exact.jsonl",
                      [row("allreduce-ring", ranks, [1.0, ranks / 4]), row("auto", ranks, [0.5, 0.25], used="allgather")])
        write(self.folder / "simulated/mlp/layer1/8-selected.jsonl", [row("topk", 8, [0.125], density=0.01)])
        write(self.folder / "simulated/mlp/layer2/8-selected.jsonl", [row("topk", 8, [0.25], density=0.01)])
        write(self.folder / "simulated/mlp/layer2/16-selected.jsonl", [row("topk", 16, [0.25], density=0.01)])
        for layer in ("layer1", "layer2"):
            write(self.folder / f"simulated/mlp/{layer}/8-topk(allgather).jsonl",
                  [row("topk(allgather)", 8, [0.5], density=0.01)])
        result = run(self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| `dense:ring` | 4.0000 | 8.0000 |", result.stdout)
        self.assertIn("| `dsop` | 1.0000 | 1.0000 |", result.stdout)
        self.assertIn("| `topk:0.01` | 0.3750 | - |", result.stdout)
        self.assertIn("| `topk(allgather):0.01` | 1.0000 | - |", result.stdout)
        self.assertIn("- P = 8: layer1 `allgather`, layer2 `allgather`", result.stdout)
        self.assertTrue((self.folder / "simulated-mlp.png").read_bytes().startswith(b"\x89PNG"))

    def test_policies_that_select_look_apart(self) -> None:
        of_vectors = ["topk", "gaussian-k", "expected-k", "expected-k-clipped", "expected-k-threshold"]
        policies = [*of_vectors, *(f"{policy}-per-bucket" for policy in of_vectors), "topk(allgather)", "topk(topk-dsa)",
                    "ok-topk", "ok-topk-published", "ok-topk-adapting", "gtopk", "a policy that is not known"]
        self.assertEqual(len({look_of(f"{policy}:0.01").colour for policy in policies}), len(policies))
        for policy, with_numbers in (("ok-topk-published", "ok-topk-published(4,8):0.01, sum"),
                                     ("expected-k-per-bucket", "expected-k-per-bucket(256):0.1")):
            self.assertEqual(look_of(with_numbers), look_of(policy))

    def test_what_can_not_be_used_is_refused(self) -> None:
        result = run(self.folder)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("no rows", result.stderr)
        path = self.folder / "accuracy/digits.jsonl"
        path.parent.mkdir()
        for line in ("{", "[" * 100_000 + "]" * 100_000):
            path.write_text(line, encoding="utf-8")
            result = run(self.folder)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("digits.jsonl:1: not a row of dsop-train or dsop-bench", result.stderr)


if __name__ == "__main__":
    runner.main(sys.argv[:1])
