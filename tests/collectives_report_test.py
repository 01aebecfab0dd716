"""bench/collectives.py on rows as dsop-bench writes them, by every algorithm that scripts/collectives names."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import runner

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import collectives  # noqa: E402  (from bench/)

ALGORITHMS = re.findall(r'algorithms="(.*)"', (ROOT / "scripts/collectives").read_text(encoding="utf-8"))
BY_FAMILY = {"broadcast": ALGORITHMS[0].split(","), "reduce": ALGORITHMS[0].split(","), "allreduce": ALGORITHMS[1].split(",")}


class Collectives(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.rows = Path(temporary.name, "rows.jsonl")
        self.picture = Path(temporary.name, "picture.png")
        self.write([{"platform": "euler3"}])

    def write(self, simulations: list[dict[str, str] | None]) -> None:
        """What host.simulated is in the rows, by turns; none: they were measured."""
        lines: list[dict[str, object]] = [
            {"family": family, "ranks": ranks, "size": size, "dtype": "f32", "algorithm": algorithm,
             "seconds": [[1e-3 * place * ranks, 5e-4]]}
            for family, algorithms in BY_FAMILY.items() for ranks in (4, 8) for size in (1024, 1048576)
            for place, algorithm in enumerate(algorithms, 1)]
        for line, simulated in zip(lines, itertools.cycle(simulations)):
            line["host"] = {"cpu": "any"} | ({} if simulated is None else {"simulated": simulated})
        self.rows.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def test_tables_hold_every_algorithm_mpi_too(self) -> None:
        result = subprocess.run([ROOT / "bench/collectives.py", self.rows, "--picture", self.picture], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        for family, algorithms in BY_FAMILY.items():
            self.assertEqual(algorithms[-1], "mpi")
            of_mpi = len(algorithms)  # times the pipeline's
            self.assertIn(f"| `mpi` | {4.0 * of_mpi:.1f} ({of_mpi}.00) | {8.0 * of_mpi:.1f} ({of_mpi}.00) | 2.000 |", result.stdout)
            head = "| message | " + " | ".join(f"`{algorithm}`" for algorithm in algorithms) + " |"
            self.assertIn(f"\n{family}, P = 8, ms:\n\n{head}\n", result.stdout)
        self.assertTrue(self.picture.read_bytes().startswith(b"\x89PNG"))

    def test_every_algorithm_has_a_curve_and_a_marker_of_its_own(self) -> None:
        collectives.draw(*collectives.read(self.rows), self.picture)
        panels = collectives.plt.gcf().axes
        self.assertEqual(len(panels), 6)
        for panel, algorithms in zip(panels, list(BY_FAMILY.values()) * 2):
            self.assertEqual([line.get_label() for line in panel.lines], algorithms)
            self.assertEqual(len({line.get_marker() for line in panel.lines}), len(algorithms))

    def test_times_are_called_simulated_where_they_are(self) -> None:
        for simulated, label in (({"platform": "euler3"}, "ms, simulated"), (None, "ms")):
            self.write([simulated])
            collectives.draw(*collectives.read(self.rows), self.picture)
            self.assertEqual(collectives.plt.gcf().axes[0].get_ylabel(), label)
        self.write([{"platform": "euler3"}, None])
        with self.assertRaises(collectives.Refused) as refused:
            collectives.read(self.rows)
        self.assertIn("some rows are simulated and some measured", str(refused.exception))


if __name__ == "__main__":
    runner.main(sys.argv)
