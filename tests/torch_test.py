#!/usr/bin/python3
"""dsop.torch on 1, 2 and 3 ranks: gradients that are those of plain torch. See torch_program.py.

Usage: torch_test.py MPIRUN
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import unittest
from pathlib import Path

MPIRUN = sys.argv[1]
TESTS = Path(__file__).parent


@unittest.skipUnless(importlib.util.find_spec("torch"), "no torch")
class TorchTest(unittest.TestCase):
    def run_ranks(self, ranks: int, *program: str | Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([MPIRUN, "-n", str(ranks), sys.executable, *program], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_alone(self) -> None:
        done = subprocess.run([sys.executable, TESTS / "torch_program.py"], capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.stdout, "all passed\n", done.stderr)

    def test_on_ranks(self) -> None:
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                self.assertEqual(self.run_ranks(ranks, TESTS / "torch_program.py").stdout, "all passed\n" * ranks)

    def test_example(self) -> None:
        losses = {self.run_ranks(ranks, TESTS.parent / "examples/torch_mlp.py").stdout for ranks in (1, 2)}
        self.assertTrue(all("loss" in text for text in losses), losses)

    def test_uncaught_exception_ends_all(self) -> None:
        done = subprocess.run([MPIRUN, "-n", "3", sys.executable, "-c", """
import torch, dsop, dsop.torch
model = torch.nn.Linear(3, 2)
dsop.torch.attach(model)
if dsop.communicator().rank == 1:
    raise KeyError("mine")
model(torch.ones(4, 3)).sum().backward()
"""], capture_output=True, text=True, timeout=30, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("KeyError: 'mine'", done.stderr)

    def test_exit_after_an_exception_is_said_to_others(self) -> None:
        done = self.run_ranks(3, "-c", """
import sys, torch, dsop, dsop.torch
model = torch.nn.Linear(3, 2)
dsop.torch.attach(model)
def fail(grad):
    raise KeyError("mine")
output = model(torch.ones(4, 3))
try:
    if dsop.communicator().rank == 1:
        model.bias.register_hook(fail)
    output.sum().backward()
except KeyError:
    sys.exit()
except dsop.ArgumentError as error:
    print(error)
""")
        self.assertEqual(done.stdout.count("rank 1: a backward pass ended in an exception"), 2, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
