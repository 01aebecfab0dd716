#!/usr/bin/python3
"""Processes that something other than MPI has started with others, and processes whose standard descriptors are closed.

Usage: started_test.py DSOP_BENCH DSOP_TRAIN DSOP_DATA
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest.mock import patch

import dsop
import torchrun  # noqa: F401 which sets what torch needs
from dsop import _started

DSOP_BENCH, DSOP_TRAIN, DSOP_DATA = map(os.path.abspath, sys.argv[1:4])
HAS_TORCH = importlib.util.find_spec("torch") is not None
LIMIT_SECONDS = 120
SUMS = """
import numpy as np
import dsop
comm = dsop.communicator()
values = np.full(3, 1.0 + comm.rank)
dsop.allreduce(values)
print(comm.rank, comm.size, values[0], dsop.info()["mpi_initialized"])
"""
WITHOUT_TORCH = "import sys\nsys.modules['torch'] = None\n"
Environment = Mapping[str, str]


def free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def by_rank(ranks: int) -> Callable[[int], Environment]:
    """As deepspeed's launcher, and scripts."""
    common = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    return lambda rank: {**common, "RANK": str(rank)}


def by_slurm(ranks: int) -> Callable[[int], Environment]:
    """As srun --mpi=none."""
    common = {"SLURM_STEP_NUM_TASKS": str(ranks), "SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "0",
              "SLURM_STEP_NODELIST": "127.0.0.1"}
    return lambda rank: {**common, "SLURM_PROCID": str(rank)}


class StartedTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_ranks(self, ranks: int, environment_of: Callable[[int], Environment], *command: str) -> list[tuple[int, str, str]]:
        """Exit code, stdout and stderr of each rank."""
        pipe = subprocess.PIPE
        processes = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=self.folder,
                                      env={**os.environ, **environment_of(rank)}) for rank in range(ranks)]
        ended = [process.communicate(timeout=LIMIT_SECONDS) for process in processes]
        return [(process.returncode, *texts) for process, texts in zip(processes, ended)]

    @unittest.skipUnless(HAS_TORCH, "no torch")
    def test_python_meets_in_a_store_of_torch(self) -> None:
        for environment_of in (by_rank(3), by_slurm(3)):
            ended = self.run_ranks(3, environment_of, sys.executable, "-c", SUMS)
            self.assertEqual([(code, out) for code, out, _ in ended],
                             [(0, f"{rank} 3 6.0 False\n") for rank in range(3)], ended)

    @unittest.skipUnless(HAS_TORCH, "no torch")
    def test_a_process_group_has_the_same_port_before_and_after(self) -> None:
        group = "import torch\nfrom torch import distributed\ndistributed.init_process_group('gloo')\n"
        for program in (group + SUMS, SUMS + group):
            ended = self.run_ranks(2, by_rank(2), sys.executable, "-c", program + "distributed.barrier()\n"
                                   "distributed.destroy_process_group()\n")
            self.assertEqual([(code, out) for code, out, _ in ended],
                             [(0, f"{rank} 2 3.0 False\n") for rank in range(2)], ended)

    def test_python_that_can_not_meet_says_so(self) -> None:
        for environment_of, names in ((by_rank(2), "RANK and WORLD_SIZE"),
                                      (by_slurm(2), "SLURM_PROCID and SLURM_STEP_NUM_TASKS")):
            for code, out, err in self.run_ranks(2, environment_of, sys.executable, "-c", WITHOUT_TORCH + SUMS):
                self.assertEqual((code, out), (1, ""))
                self.assertIn(f"dsop._library.ArgumentError: {names} say that this process is rank ", err)
                self.assertIn("in Python comm=dsop.connect(store, rank, size)", err)

    def test_an_mpi_launcher_goes_first(self) -> None:
        program = "import dsop; found = dsop.info(); print(found['mpi_launcher'], found['started_without_mpi'])"
        for more, expected in (({"OMPI_COMM_WORLD_SIZE": "2"}, "True None\n"),
                               ({"OMPI_COMM_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"},
                                "False {'rank': 0, 'ranks': 2, 'names': 'RANK and WORLD_SIZE'}\n")):
            ended = self.run_ranks(1, lambda rank, more=more: {**by_rank(2)(rank), **more}, sys.executable, "-c", program)
            self.assertEqual(ended[0][:2], (0, expected), ended)

    def test_hosts_of_a_step(self) -> None:
        for nodes, first in (("h[03-05,9],k1", "h03"), ("login", "login"), ("r[1-2]n[7,9]x,a", "r1n7x"), ("a,b[1-3]", "a")):
            with patch.dict(os.environ, {**by_slurm(2)(0), "SLURM_STEP_NODELIST": nodes}):
                address = _started._address()
                assert address is not None
                self.assertEqual(address[0], first)
                self.assertIn(address[1], range(10000, 30000))

    def test_a_torch_that_was_built_without_libuv(self) -> None:
        class Distributed:
            @staticmethod
            def TCPStore(*arguments: object, use_libuv: bool = True, **_: object) -> tuple[object, ...]:  # noqa: N802
                if use_libuv:
                    raise RuntimeError("use_libuv was requested but PyTorch was built without libuv support")
                return arguments
        self.assertEqual(_started._server(Distributed, "h0", 29500, True), ("h0", 29500))

    def test_a_port_that_is_none(self) -> None:
        with patch.dict(os.environ, {**by_rank(2)(0), "MASTER_PORT": "any"}):
            self.assertRaisesRegex(dsop.ArgumentError, "MASTER_PORT is 'any', expected a number", _started._address)

    def test_programs_take_their_place_from_the_environment(self) -> None:
        for environment_of, store in ((by_rank(3), "ranks"), (by_slurm(3), "steps")):
            ended = self.run_ranks(3, environment_of, DSOP_BENCH, "allreduce", "--size", "100", "--algorithm", "ring",
                                   "--iterations", "2", "--transport", "tcp", "--store", f"file:{store}")
            self.assertEqual([code for code, _, _ in ended], [0, 0, 0], ended)
            self.assertIn("3 ranks (tcp)", ended[0][1])

    def test_programs_that_would_be_alone_say_so(self) -> None:
        command = [DSOP_BENCH, "info"]
        for code, out, err in self.run_ranks(2, by_rank(2), *command):
            self.assertEqual((code, out), (1, ""))
            self.assertIn("and no MPI launcher has started it, expected --transport tcp --store file:PATH with", err)
        self.assertEqual([code for code, _, _ in self.run_ranks(2, by_rank(2), *command, "--ranks", "2")], [0, 0])

    def test_the_names_of_before(self) -> None:
        program = "import dsop\ntry:\n    dsop.info()['gloo']\nexcept KeyError as error:\n    print(error)"
        code, out, err = self.run_ranks(1, lambda rank: {}, sys.executable, "-c", program)[0]
        self.assertEqual((code, out), (0, "'gloo: dsop.connect() sends over TCP of its own, which every build has'\n"), err)
        header = Path(__file__).resolve().parent.parent / "include/dsop/gloo.hpp"
        self.assertRegex(header.read_text(encoding="utf-8"), "#error .*dsop/tcp.hpp.*connect_over_tcp")

    def shell(self, *command: str, redirections: str) -> tuple[int, str, str]:
        done = subprocess.run(["sh", "-c", shlex.join(command) + redirections], capture_output=True, text=True,
                              timeout=LIMIT_SECONDS, check=False, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def test_closed_descriptors_are_not_a_socket(self) -> None:
        """Rank 0 can't print; the messages are whole, so the ranks end, and the others well."""
        table = self.folder / "table"
        table.write_text("".join(f"{1 if i % 2 else -1} 1:{i % 7} 2:{1 + i % 2}\n" for i in range(40)))
        line = shlex.join([DSOP_TRAIN, "linear", str(table), "--epochs", "2", "--transport", "tcp", "--store", "file:store"])
        ended = self.run_ranks(3, by_rank(3), "sh", "-c", line + " <&- >&-")
        self.assertEqual([code for code, _, _ in ended], [1, 0, 0], ended)
        self.assertIn("error: standard output can't be written\n", ended[0][2])
        ended = self.run_ranks(3, by_slurm(3), "sh", "-c", line + " <&- >&- 2>&-")
        self.assertEqual([code for code, _, _ in ended], [1, 0, 0], ended)

    def test_closed_output_leaves_files_as_they_are(self) -> None:
        code, _, err = self.shell(DSOP_BENCH, "allreduce", "--size", "100", "--ranks", "2", "--iterations", "2",
                                  "--algorithm", "ring", "--out", "rows", redirections=" >&-")
        self.assertEqual((code, err.splitlines()[-1]), (1, "error: standard output can't be written"))
        rows = [json.loads(line) for line in (self.folder / "rows").read_text().splitlines()]
        self.assertEqual({row["algorithm"] for row in rows}, {"ring"})
        (self.folder / "texts").write_text("spam\tto you\nham\tfor me\n")
        hashing = [DSOP_DATA, "hash-trigrams", "texts", "--bits", "4"]
        self.assertEqual(self.shell(*hashing, "--out", "features", redirections=" <&- >&- 2>&-")[0], 0)
        self.assertEqual((self.folder / "features").read_text(), self.shell(*hashing, redirections="")[1])
        self.assertEqual(self.shell(*hashing, redirections=" >&-"), (1, "", "error: stdout can't be written\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
