#!/usr/bin/python3
"""Files that dsop wrote at commit 81734dd, in stored/: what then was saved is loaded now.

Usage: stored_test.py DSOP_TRAIN [MPIRUN], with the Python package and libdsop_c where Python finds them.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import dsop
import runner

STORED = Path(__file__).resolve().parent / "stored"
TRAIN, *MPIRUN = os.path.abspath(sys.argv[1]), *sys.argv[2:]

# Says what each rank has held back, of two parameters. What is saved again, in a newer version, loads and is saved the same.
LOADED = f"""
import sys
import numpy as np
import dsop
ranks = dsop.communicator()
model = dsop.Synchronizer(np.float64, ranks)
model.add("dense", (2, 3), "dense")
model.add("top", (1, 4), "topk:0.25")
model.add("ok", (1, 4), "ok-topk(2):0.5")
model.add("factors", (2, 2), "dsop", max_pairs=1)
with open(f"{STORED}/synchronizer.rank{{ranks.rank}}", "rb") as file:
    saved = file.read()
model.load(saved)
again = model.save()
model.load(again)
assert model.save() == again
with open(f"{STORED}/topk_state.rank{{ranks.rank}}") as file:
    state = file.read()
sums = dsop.TopKAllreduce(6, np.float64, ranks, algorithm="ok-topk(2)", state=state)
assert sums.state == state
sums.run(np.arange(6.0), 2)
left = [int(x) for name in ("top", "ok") for x in model.residual(name).ravel()]
sys.stdout.write(" ".join(map(str, [ranks.rank, *left])) + "\\n")  # at once: ranks write at one time
"""


def run_in(folder: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([TRAIN, *arguments], cwd=folder, capture_output=True, text=True, timeout=100)


class StoredTest(unittest.TestCase):
    def test_machine(self) -> None:
        machine = dsop.Machine(STORED / "machine.json")
        self.assertEqual([machine["latency_seconds"], machine["ring_step_seconds"][5], len(machine["inner_levels"]),
                          machine["inner_levels"][0]["nodes"], machine["inner_levels"][0]["latency_seconds"]],
                         [3e-6, 1e-5 * 6, 1, 1, 1e-6])

    @unittest.skipIf(not MPIRUN, "ranks are processes of MPI's")
    def test_states_of_ranks(self) -> None:
        done = subprocess.run([*MPIRUN, "-n", "2", sys.executable, "-c", LOADED], capture_output=True, text=True,
                              timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 8 0 6 3 3 0 0 9", "1 0 5 6 3 3 0 0 9"])

    def test_checkpoint_of_a_model(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows"
            done = run_in(str(STORED), "lstm", "text.txt", "--task", "characters", "--ranks", "2", "--embedding", "2",
                          "--hidden", "3", "--window", "8", "--batch", "2", "--steps", "6", "--sync", "ok-topk:0.5",
                          "--resume", "characters.checkpoint", "--out", str(rows))
            self.assertEqual(done.returncode, 0, done.stderr)
            kinds = [json.loads(line) for line in rows.read_text().splitlines()]
        self.assertEqual(kinds[0]["resumed_after_step"], 4)
        self.assertEqual([row["step"] for row in kinds if row["kind"] == "step"], [5, 6])

    def test_checkpoint_of_a_linear_model(self) -> None:
        done = run_in(str(STORED), "linear", "samples.txt", "--ranks", "2", "--epochs", "3", "--resume",
                      "linear.checkpoint")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r"^ +(\d+) ", done.stdout, re.MULTILINE), ["3"])


if __name__ == "__main__":
    runner.main(sys.argv[:1])
