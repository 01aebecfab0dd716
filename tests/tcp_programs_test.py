#!/usr/bin/python3
"""Ranks over TCP as processes: the programs, Python, torch's stores and torchrun, and ranks that end before the others.

Usage: tcp_programs_test.py DSOP_BENCH DSOP_TRAIN
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

import dsop
import runner
from torchrun import HAS_TORCHRUN, WITHOUT, torchrun

DSOP_BENCH, DSOP_TRAIN = sys.argv[1:3]
HAS_TORCH = importlib.util.find_spec("torch") is not None
LIMIT_SECONDS = 60
WAITS = """
import sys
import numpy as np
import dsop
rank = int(sys.argv[2])
comm = dsop.connect(sys.argv[1], rank, 3)
values = np.full(5, 1.0 + rank)
dsop.allreduce(values, comm)
assert values[0] == 6, values
print("connected", flush=True)
if rank == 1:
    sys.stdin.read()
try:
    dsop.allreduce(np.zeros(200000), comm)
except dsop.TransportError as error:
    print(error)
"""


class Memory:
    """A store that is no file, no torch's and of no other library."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._changed = threading.Condition()

    def set(self, key: str, value: str) -> None:
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()

    def get(self, key: str) -> str:
        return self._values[key]

    def wait(self, keys: Sequence[str], timeout: timedelta) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: all(key in self._values for key in keys), timeout.total_seconds()):
                raise LookupError(f"no {keys}")


class TcpTest(unittest.TestCase):
    def setUp(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.file = Path(self._folder.name) / "store"

    def started(self, ranks: int, command: Callable[[int], Sequence[str]]) -> list[subprocess.Popen[str]]:
        pipe = subprocess.PIPE
        return [subprocess.Popen(command(rank), stdin=pipe, stdout=pipe, stderr=pipe, text=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                for rank in range(ranks)]

    def interrupted(self, ranks: int, program: str) -> list[subprocess.Popen[str]]:
        """Ranks that have connected, through a store of their own; rank 0 was interrupted within its call."""
        self.file = self.file.with_name("again" + self.file.name)
        processes = self.started(ranks, lambda rank: [sys.executable, "-c", program, str(self.file), str(rank)])
        for process in processes:
            assert process.stdout is not None
            self.assertEqual(process.stdout.readline(), "connected\n")
        time.sleep(0.3)  # until it waits within the call
        processes[0].send_signal(signal.SIGINT)
        return processes

    def over_tcp(self, rank: int, ranks: int) -> list[str]:
        return ["--transport", "tcp", "--store", f"file:{self.file}", "--rank", str(rank), "--ranks", str(ranks)]

    def run_ranks(self, ranks: int, *command: str) -> list[tuple[int, str, str]]:
        """Exit code, stdout and stderr of each rank."""
        processes = self.started(ranks, lambda rank: [*command, *self.over_tcp(rank, ranks)])
        ended = [process.communicate(timeout=LIMIT_SECONDS) for process in processes]
        return [(process.returncode, *texts) for process, texts in zip(processes, ended)]

    def on_threads(self, stores: Sequence[Any], **options: Any) -> list[str]:
        """Ranks that connect and sum, each with its store: what went wrong on each."""
        errors = [""] * len(stores)

        def body(rank: int) -> None:
            try:
                comm = dsop.connect(stores[rank], rank, len(stores), **options)
                values = np.full(3, 1.0)
                dsop.allreduce(values, comm)
                errors[rank] = "" if values[0] == len(stores) else f"the sum is {values}"
            except Exception as error:
                errors[rank] = f"{type(error).__name__}: {error}"
        threads = [threading.Thread(target=body, args=[rank]) for rank in range(len(stores))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return errors

    def test_dsop_bench(self) -> None:
        for _ in range(2):  # the file serves again
            ended = self.run_ranks(3, DSOP_BENCH, "outer-product", "--rows", "40", "--iterations", "2", "--algorithm",
                                   "auto,allgather,allreduce-ring", "--verify")
            self.assertEqual([code for code, _, _ in ended], [0, 0, 0], ended)
            self.assertIn("3 ranks (tcp)", ended[0][1])
            self.assertEqual([out for _, out, _ in ended[1:]], ["", ""])

    def test_dsop_train(self) -> None:
        table = Path(self._folder.name) / "table"
        table.write_text("".join(f"{1 if i % 2 else -1} 1:{i % 7} 2:{1 + i % 2}\n" for i in range(40)))
        ended = self.run_ranks(2, DSOP_TRAIN, "linear", str(table), "--epochs", "2")
        self.assertEqual([code for code, _, _ in ended], [0, 0], ended)

    def test_store_whose_wait_can_not_be_called(self) -> None:
        """That is no time-out, after which the key would not be there."""
        class Other(Memory):
            def wait(self, keys: Sequence[str]) -> None:  # type: ignore[override]
                pass

        class Gone(Memory):
            def wait(self, keys: Sequence[str], timeout: timedelta) -> None:
                raise ConnectionRefusedError("the server refuses")
        for store, words, cause in ((Other(), "could not wait for", TypeError),
                                    (Gone(), "could not wait for", ConnectionRefusedError),
                                    (Memory(), "rank 1 of 2 has not come", LookupError)):
            with self.assertRaisesRegex(dsop.TransportError, words) as caught:
                dsop.connect(store, 0, 2, limit_seconds=0.5)
            self.assertIsInstance(caught.exception.__cause__, cause)

    def test_options_that_make_no_sense(self) -> None:
        bench = [DSOP_BENCH, "info"]
        for options, words in [(["--transport", "tcp"], "requires --store"),
                               (["--transport", "tcp", "--store", "file:x", "--ranks", "3"], "needs --rank and --ranks"),
                               (["--store", "file:x"], "requires --transport"),
                               (["--transport", "udp", "--store", "x"], "udp is no transport, expected tcp"),
                               (["--transport", "gloo", "--ranks", "1", "--store", "x", "--rank", "0"],
                                "gloo is not there any more, expected tcp"),
                               ([*self.over_tcp(3, 3)], "rank is 3, expected 0 to 2"),
                               (["--transport", "tcp", "--ranks", "1", "--store", "x", "--rank", "0"],
                                '--store is "x", expected file:PATH')]:
            done = subprocess.run([*bench, *options], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertNotEqual(done.returncode, 0)

    def test_a_rank_that_is_killed_is_named(self) -> None:
        processes = self.started(3, lambda rank: [sys.executable, "-c", WAITS, str(self.file), str(rank)])
        for process in processes:
            assert process.stdout is not None
            self.assertEqual(process.stdout.readline(), "connected\n")
        time.sleep(0.3)  # until the others wait within the call
        processes[1].send_signal(signal.SIGKILL)
        for rank in (0, 2):
            out, err = processes[rank].communicate(timeout=LIMIT_SECONDS)
            self.assertRegex(out, "rank 1 failed: |closed connections: ranks? .*[1-]", err)
            self.assertEqual(processes[rank].returncode, 0, err)
        processes[1].communicate(timeout=LIMIT_SECONDS)

    def test_interrupt_of_one_rank_ends_it_and_the_others_hear_of_it(self) -> None:
        for wait in ("dsop.allreduce(np.zeros(200000), comm)", "dsop.start_allreduce(np.zeros(200000), comm).wait()"):
            program = WAITS.replace("dsop.allreduce(np.zeros(200000), comm)", wait)
            processes = self.interrupted(3, program)
            _, err = processes[0].communicate(timeout=LIMIT_SECONDS)
            self.assertIn("KeyboardInterrupt", err)
            self.assertEqual(processes[0].returncode, 130, err)
            for rank in (1, 2):  # communicate() ends what rank 1 waits for
                out, err = processes[rank].communicate(timeout=LIMIT_SECONDS)
                self.assertRegex(out, "failed: |closed connections: ranks? ", err)

    def test_interrupt_that_the_program_catches_lets_it_end(self) -> None:
        """What waited goes on in the background; nothing that frees it waits again."""
        program = """
import sys
import numpy as np
import dsop
rank = int(sys.argv[2])
comm = dsop.connect(sys.argv[1], rank, 2)
model = dsop.Synchronizer(np.float64, comm)
model.add("w", (300, 300), "dense")
layer = dsop.OuterProduct(300, 300, max_pairs=1, comm=comm)
print("connected", flush=True)
if rank == 1:
    sys.stdin.read()
    sys.exit()
gradient, a = np.ones((300, 300)), np.ones((1, 300), np.float32)
try:
    CALL
except KeyboardInterrupt:
    del model, layer
    sys.exit(3)
"""
        for call in ("model.begin(); model.give_gradient('w', gradient); model.finish()",
                     "layer.start(a, a, gradient.astype(np.float32)).wait()"):
            processes = self.interrupted(2, program.replace("CALL", call))
            _, err = processes[0].communicate(timeout=LIMIT_SECONDS)
            self.assertEqual(processes[0].returncode, 3, err)
            processes[1].communicate(timeout=LIMIT_SECONDS)

    def test_a_store_ends_with_its_last_owner(self) -> None:
        gc.disable()
        self.addCleanup(gc.enable)
        store = Memory()
        left = weakref.ref(store)
        dsop.connect(store, 0, 1)
        del store
        self.assertIsNone(left())

    def test_any_store_with_set_get_and_wait(self) -> None:
        self.assertEqual(self.on_threads([Memory()] * 3), [""] * 3)
        self.assertEqual(self.on_threads([self.file] * 3), [""] * 3)

    @unittest.skipUnless(HAS_TORCH, "no torch")
    def test_stores_of_torch(self) -> None:
        from torch.distributed import FileStore, HashStore, PrefixStore, TCPStore  # noqa: PLC0415
        self.assertEqual(self.on_threads([HashStore()] * 2), [""] * 2)
        self.assertEqual(self.on_threads([FileStore(str(self.file) + str(2), 2) for _ in range(2)]), [""] * 2)
        form: dict[str, Any] = {"wait_for_workers": False, **({} if HAS_TORCHRUN else {"use_libuv": False})}
        server = TCPStore("127.0.0.1", 0, is_master=True, **form)
        clients = [PrefixStore("dsop", TCPStore("127.0.0.1", server.port, is_master=False, **form)) for _ in range(3)]
        for run in ("first", "second"):
            self.assertEqual(self.on_threads(clients, run=run), [""] * 3)

    def test_a_server_that_is_gone_is_no_rank_that_does_not_come(self) -> None:
        """As torch's stores say it, where they do not end the process: torch 1.13's may."""
        class Ends(Memory):
            def wait(self, keys: list[str], limit: timedelta) -> None:
                raise RuntimeError("Connection reset by peer")
        with self.assertRaises(dsop.TransportError) as caught:
            dsop.connect(Ends(), 0, 2, limit_seconds=60)
        self.assertNotIn("have not come", str(caught.exception))

    def test_what_a_store_raises_is_the_cause(self) -> None:
        class Fails(Memory):
            def get(self, key: str) -> str:
                raise KeyError("gone")
        with self.assertRaises(dsop.TransportError) as caught:
            dsop.connect(Fails(), 0, 1)
        self.assertIsInstance(caught.exception.__cause__, KeyError)

    def test_bad_arguments(self) -> None:
        for words, call in [
                ("rank is 2, expected 0 to 1", lambda: dsop.connect(Memory(), 2, 2)),
                ("store is dict, which lacks set and wait", lambda: dsop.connect({}, 0, 1)),
                ("limit_seconds is -1, expected more than 0", lambda: dsop.connect(Memory(), 0, 1, limit_seconds=-1)),
                ("rank is 4294967296, expected a number of 32 bits", lambda: dsop.connect(Memory(), 1 << 32, 2)),
                ("run is 'a;b', expected no semicolon", lambda: dsop.connect(Memory(), 0, 1, run="a;b"))]:
            with self.assertRaises(dsop.ArgumentError) as caught:
                call()
            self.assertIn(words, str(caught.exception))

    def test_a_rank_that_never_comes_is_named(self) -> None:
        with self.assertRaisesRegex(dsop.TransportError, "ranks 1-2 of 3 have not come to the store within 0.3 s"):
            dsop.connect(Memory(), 0, 3, limit_seconds=0.3)

    @unittest.skipUnless(HAS_TORCHRUN, WITHOUT)
    def test_torchrun(self) -> None:
        program = Path(self._folder.name) / "program.py"
        program.write_text("""
import os, sys
import numpy as np
import dsop
values = np.ones(2)
dsop.allreduce(values)
assert values[0] == 3 and dsop.communicator().rank == int(os.environ["RANK"]), values
assert not dsop.info()["mpi_initialized"]
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
    sys.exit("the first time it fails")
""")
        # Whoever has started torchrun may be a launcher of MPI's.
        environment = {**os.environ, "PMI_RANK": "0", "PMI_SIZE": "1", "PYTHONMALLOC": "default"}  # torchrun itself calls the store's compare_set()
        done = subprocess.run(torchrun(3, "--max_restarts", "1", program),
                              capture_output=True, text=True, timeout=5 * LIMIT_SECONDS, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the first time it fails", done.stderr)


if __name__ == "__main__":
    runner.main(sys.argv[:1])
