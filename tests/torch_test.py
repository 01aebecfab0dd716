#!/usr/bin/python3
"""dsop.torch on 5 ranks by mpirun, 2 by torchrun, and on one: gradients that are those of plain torch.

See the programs that it runs. With DSOP_TEST_ALL set it runs 5, 3, 2 and 1 by both.

Usage: torch_test.py MPIRUN [TestCases|TestTorch2|TestPrograms[.NAME]...]
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import runner
from torchrun import HAS_TORCHRUN, WITHOUT, torchrun

MPIRUN = sys.argv[1]
TESTS = Path(__file__).parent

PROGRAM, LOADER = TESTS / "torch_program.py", TESTS / "torch_loader_program.py"
TIMEOUT_SECONDS = 300  # of one that hangs; they take up to half a minute


def run_bounded(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired as hung:
        raise AssertionError(f"{command} hangs, and has said: {hung.stderr!r}") from None


def run_ranks(ranks: int, *program: str | Path) -> subprocess.CompletedProcess[str]:
    return run_bounded([MPIRUN, "-n", str(ranks), sys.executable, *program])


def torch_version() -> str:
    """Without importing it, which takes seconds; empty: it is not installed."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


TORCH = torch_version()


class RanksTest(unittest.TestCase):
    def setUp(self) -> None:
        if not TORCH:
            self.skipTest("torch is not installed")

    def check(self, ranks: int, done: subprocess.CompletedProcess[str]) -> None:
        """So many ranks have said that all has passed."""
        said = re.sub(r"^\[default\d\]:", "", done.stdout, flags=re.MULTILINE)  # which torchrun puts before
        self.assertEqual((done.returncode, said), (0, "all passed\n" * ranks), f"{done.args}: {done.stderr}")


class TestCases(RanksTest):
    def test_programs(self) -> None:
        runs: list[tuple[int, list[str | Path]]] = []  # how many ranks should say that all has passed
        by_mpirun, by_torchrun = ((5, 3, 2, 1), (5, 3, 2, 1)) if "DSOP_TEST_ALL" in os.environ else ((5,), (2,))
        runs += [(ranks, [MPIRUN, "-n", str(ranks), sys.executable, PROGRAM]) for ranks in by_mpirun]
        runs += [(ranks, [*torchrun(ranks), PROGRAM]) for ranks in by_torchrun]
        runs += [(2, [MPIRUN, "-n", "2", sys.executable, LOADER])]
        if not HAS_TORCHRUN:
            runs = [run for run in runs if run[1][0] == MPIRUN]
        for ranks, command in runs:  # the first that fails is the last: what hangs would do so again and again
            self.check(ranks, run_bounded(command))
        with ThreadPoolExecutor() as pool:  # what is alone waits for nobody
            for done in pool.map(run_bounded, ([sys.executable, program] for program in (PROGRAM, LOADER))):
                self.check(1, done)


class TestTorch2(RanksTest):
    def test_program(self) -> None:
        if tuple(map(int, TORCH.split(".")[:2])) < (2, 1):
            self.skipTest(f"torch is {TORCH}, expected 2.1 or newer")
        for ranks in (3, 1):
            self.check(ranks, run_ranks(ranks, TESTS / "torch2_program.py"))


class TestPrograms(RanksTest):
    def run_well(self, ranks: int, *program: str | Path) -> str:
        done = run_ranks(ranks, *program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @unittest.skipUnless(HAS_TORCHRUN, WITHOUT)
    def test_process_groups_after_dsop_under_torchrun(self) -> None:
        """Rank 0's store serves both, at the one port that torchrun names."""
        program = """
import torch, dsop
from torch import distributed
rank = dsop.communicator().rank
distributed.init_process_group("gloo")
ones = torch.ones(3)
distributed.all_reduce(ones)
print(f"{ones[0].item():g}")
distributed.destroy_process_group()  # without it torch 2.13 aborts at the end of one run in ten, with dsop and without
"""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(program)
            file.flush()
            done = run_bounded([*torchrun(2), file.name])
        self.assertEqual((done.returncode, done.stdout.count(":2\n")), (0, 2), done.stdout + done.stderr)

    def test_minimal_program(self) -> None:
        for ranks in (1, 4):
            self.assertEqual(self.run_well(ranks, TESTS.parent / "examples/torch_minimal.py"),
                             f"every element is {(ranks - 1) / 2:g}\n")

    def test_examples(self) -> None:
        for name in ("torch_mlp.py", "torch_recommender.py"):
            for ranks in (1, 2):
                with self.subTest(name=name, ranks=ranks):
                    self.assertIn("loss", self.run_well(ranks, TESTS.parent / "examples" / name))
        losses = [re.findall("^loss (.*) after", self.run_well(1, TESTS.parent / "examples/torch_mlp.py", *arguments))
                  for arguments in ((), ("--ddp",))]  # on one rank: more may hang while Gloo ends
        self.assertEqual(losses[0], losses[1])

    def test_queries_example(self) -> None:
        """With queries of its own; by DistributedDataParallel, too, on one rank: more may hang while Gloo ends."""
        words = [("from", "O"), ("boston", "from.city"), ("to", "O"), ("denver", "to.city")]
        with tempfile.NamedTemporaryFile("w") as file:
            for first in range(40):
                query = [words[(first + i) % 4] for i in range(2 + first % 5)]
                file.write("BOS " + " ".join(word for word, _ in query) + " EOS\t"
                           "O " + " ".join(tag for _, tag in query) + " flight\n")
            file.flush()
            program = TESTS.parent / "examples/torch_lstm_atis.py"
            arguments: list[str | Path] = [program, file.name, "--steps", "40", "--hidden", "16"]
            for ranks in (1, 2):
                self.assertIn("100.0 % of tags are right", self.run_well(ranks, *arguments))
            self.assertIn("100.0 % of tags are right", self.run_well(1, *arguments, "--ddp"))

    def test_resumed_program(self) -> None:
        """Model and optimizer from rank 0's file, the attachment from each rank's own: the bits of a run that went on."""
        program = """
import hashlib, os, sys
os.environ["DSOP_MACHINE"] = "probe"  # finds other numbers in each program
import torch, dsop, dsop.torch
folder, first = sys.argv[1], int(sys.argv[2])
rank = dsop.communicator().rank
torch.manual_seed(first)  # the resumed program's first weights are others
model = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.Tanh(), torch.nn.Linear(40, 7))
optimizer = torch.optim.Adam(model.parameters())
attachment = dsop.torch.attach(model, policies={"2.weight": "ok-topk:0.1"})

def digest():
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()

if first:
    saved = torch.load(folder + "/model.pt")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    attachment.load_state_dict(torch.load(f"{folder}/dsop-{rank}.pt"))
at_first = digest()
for step in range(first, 6):
    if step == 3 and not first:
        if rank == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder + "/model.pt")
        torch.save(attachment.state_dict(), f"{folder}/dsop-{rank}.pt")
        at_first = digest()
    batch = torch.randn(4 + rank, 30, generator=torch.Generator().manual_seed(10 * step + rank))
    model(batch).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
sys.stdout.write(f"{at_first} {digest()}\\n")
"""
        with tempfile.TemporaryDirectory() as folder:
            went_on, resumed = (self.run_well(2, "-c", program, folder, first).splitlines() for first in ("0", "3"))
        self.assertEqual(went_on, [went_on[0]] * 2)
        self.assertEqual(resumed, went_on)
        self.assertEqual(len({*went_on[0].split()}), 2)

    def test_processes_of_a_group_that_dsop_was_not_told_of(self) -> None:
        """torch.multiprocessing.spawn() sets no variables that dsop could read."""
        program = """
import os, sys, torch
from torch import distributed, multiprocessing, nn

def work(rank, folder):
    import dsop, dsop.torch
    distributed.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    model = nn.Linear(3, 2)
    try:
        dsop.torch.attach(model)
    except dsop.ArgumentError as error:
        sys.stdout.write(f"{error}\\n")
    dsop.torch.attach(model, dsop.connect(folder + "/ranks", rank, 2))
    (model(torch.ones(1, 3)) * (rank + 1)).sum().backward()
    sys.stdout.write(f"{model.weight.grad[0, 0]:g}\\n")
    sys.stdout.flush()
    distributed.barrier()
    os._exit(0)  # torch 1.13's Gloo now and then hangs while it ends

if __name__ == "__main__":
    multiprocessing.spawn(work, (sys.argv[1],), 2)
"""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "program.py"
            file.write_text(program)
            done = run_bounded([sys.executable, file, folder])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("torch.distributed has 2 ranks and dsop 1, expected as many"), 2, done.stdout)
        self.assertEqual(done.stdout.splitlines().count("1.5"), 2, done.stdout)

    def test_uncaught_exception_ends_all(self) -> None:
        done = run_ranks(3, "-c", """
import torch, dsop, dsop.torch
model = torch.nn.Linear(3, 2)
dsop.torch.attach(model)
if dsop.communicator().rank == 1:
    raise KeyError("mine")
model(torch.ones(4, 3)).sum().backward()
""")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("KeyError: 'mine'", done.stderr)

    def test_describe_without_threads_of_mpi(self) -> None:
        said = self.run_well(2, "-c", """
import sys
import torch, dsop
from dsop._library import library as mpi  # which has the MPI library that it was built with
mpi.MPI_Init(None, None)  # not for several threads
import dsop.torch
model = torch.nn.Linear(3, 2)
attachment = dsop.torch.attach(model)
for step in range(2):
    model(torch.ones(4, 3)).sum().backward()
sys.stdout.write(attachment.describe() + "\\n")
del model, attachment
mpi.MPI_Finalize()
""")
        self.assertEqual(said.count("when backward has ended: MPI lacks MPI_THREAD_MULTIPLE"), 4, said)
        self.assertNotIn("while backward goes on", said)

    def test_exit_after_an_exception_is_said_to_others(self) -> None:
        said = self.run_well(3, "-c", """
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
        self.assertEqual(said.count("rank 1: backward() raised an exception"), 2, said)

    def test_program_ends_after_a_step_that_failed(self) -> None:
        said = self.run_well(3, "-c", """
import sys, torch, dsop, dsop.torch
model = torch.nn.Sequential(torch.nn.Embedding(9, 4), dsop.torch.LSTM(4, 3))
dsop.torch.attach(model)
def fail(grad):
    raise KeyError("mine")
for fails in (False, True, False):
    output = model(torch.arange(6).reshape(3, 2))[0].sum()
    hook = model[1].bias_ih_l0.register_hook(fail) if fails and dsop.communicator().rank == 1 else None
    try:
        output.backward()
    except (KeyError, dsop.ArgumentError):
        assert fails
    else:
        assert not fails and model[0].weight.grad is not None
    if hook:
        hook.remove()
sys.stdout.write("ends\\n")
""")
        self.assertEqual(said, "ends\n" * 3)

    def test_program_that_ends_takes_others_along(self) -> None:
        program = """
import sys, time, torch, dsop, dsop.torch
rank = dsop.communicator().rank
models = [torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2).double())]
for model in models:
    dsop.torch.attach(model)
for step in range(1 if rank == 1 else 3):
    CALL
sys.stdout.write(f"rank {rank} is done at {time.time()}\\n")
"""
        call = "models[0](torch.ones(4, 3)).sum().backward()"
        done = run_ranks(3, "-c", program.replace("CALL", call))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 1: its program has ended", done.stderr)
        said = self.run_well(3, "-c", program.replace("CALL", f"""
    try:
        {call}
    except dsop.ArgumentError as error:
        sys.stdout.write(f"{{error}}\\n")"""))
        self.assertEqual(said.count("rank 1: its program has ended"), 4, said)  # two steps of two ranks
        done_at = dict(re.findall(r"rank (\d) is done at ([\d.]+)", said))
        self.assertEqual(len(done_at), 3, said)
        self.assertLess(max(map(float, done_at.values())) - float(done_at["1"]), 10)  # seconds


if __name__ == "__main__":
    runner.main([sys.argv[0], *sys.argv[2:]])
