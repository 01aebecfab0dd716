#!/usr/bin/python3
"""The Python package and its process: which libraries are loaded, forked children, threads, and wrong numbers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dsop
import runner
from dsop._library import library
from dsop._table import DSOP_ERROR_MEMORY, FUNCTIONS


class PythonLibraryTest(unittest.TestCase):
    @unittest.skipUnless(dsop.info()["openmp_runtimes"], "dsop has threads of its own")
    def test_info_warns_of_two_openmp_runtimes(self) -> None:
        program = """
import ctypes, shutil, sys, warnings
import dsop
ours = dsop.info()["openmp_runtimes"]
assert len(ours) == 1, ours
shutil.copy(ours[0], sys.argv[1])
ctypes.CDLL(sys.argv[1])
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    assert len(dsop.info()["openmp_runtimes"]) == 2
told = [warning for warning in heard if "OpenMP" in str(warning.message)]
assert len(told) == 1 and told[0].category is RuntimeWarning, heard
print(told[0].message)
"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", program, folder + "/libomp.so.5"], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("two OpenMP runtimes are loaded", done.stdout)
            self.assertIn(folder, done.stdout)

    @unittest.skipIf(dsop.info()["instruction_set"] == "baseline", "no AVX2")
    def test_info_warns_of_a_core_of_openblas_without_avx(self) -> None:
        program = "import dsop; info = dsop.info(); print(info['blas_core'], info['blas_keeps_up'])"
        done = subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, timeout=60,
                              check=True, env={**os.environ, "OPENBLAS_CORETYPE": "Prescott"})
        if done.stdout.split()[0] != "Prescott":
            self.skipTest(f"OpenBLAS has no core but {done.stdout.split()[0]}")
        self.assertEqual(done.stdout.split()[1], "False")
        self.assertIn("RuntimeWarning: OpenBLAS runs its kernels for Prescott, without avx", done.stderr)

    def import_with(self, library: str, **environment: str) -> str:
        """What the ImportError says."""
        done = subprocess.run([sys.executable, "-c", "try:\n    import dsop\nexcept ImportError as error:\n    print(error)"],
                              capture_output=True, text=True, timeout=60, check=True,
                              env={**os.environ, "DSOP_LIBRARY": library, **environment})
        return done.stdout

    def test_library_that_is_missing(self) -> None:
        said = self.import_with("/no/such")
        self.assertIn("dsop needs libdsop_c.so.1, which could not be loaded (/no/such: ", said)
        self.assertIn("DSOP_LIBRARY", said)

    def test_library_of_its_own_comes_before_the_system_s(self) -> None:
        """What LD_LIBRARY_PATH names, as here, is for a package that has none."""
        package = Path(dsop.__file__).parent
        for installed, lib in (("lib/python3/dist-packages", "lib/x86_64-linux-gnu"),
                               ("lib/python3.11/site-packages", "lib64"),
                               ("lib/python3.11/site-packages", "lib/python3.11/site-packages/dsop/lib"),
                               ("python", "lib")):
            with self.subTest(installed=installed, lib=lib), tempfile.TemporaryDirectory() as folder:
                shutil.copytree(package, f"{folder}/{installed}/dsop")
                own = Path(folder) / lib / "libdsop_c.so.1"
                own.parent.mkdir(parents=True, exist_ok=True)
                own.write_text("no library")
                said = self.import_with("", PYTHONPATH=f"{folder}/{installed}")
                self.assertEqual(f"could not be loaded ({own}: " in said, installed != "python", said)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_library_of_another_version(self) -> None:
        others = [f"void {name}(void) {{}}" for name in FUNCTIONS if name != "dsop_version"]
        version = 'const char* dsop_version(void) { return "9.9.0"; }'
        for functions, expected in ((others, "stub.so is of dsop 9.9.0, expected 0.1.0, as this package"),
                                    (others[1:], f"stub.so has no {others[0][5:].split('(')[0]}: expected that of")):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder + "/stub.so"], text=True, check=True,
                               input="\n".join([version, *functions]))
                self.assertIn(expected, self.import_with(folder + "/stub.so"))

    def test_mpi4py_of_another_mpi_is_warned_of_and_refused(self) -> None:
        other = types.SimpleNamespace(Get_library_version=lambda: "Other MPI 7.0\nbuilt somewhere", Is_finalized=bool)
        comm = types.SimpleNamespace(py2f=lambda: 0, Barrier=lambda: None)
        with unittest.mock.patch.dict(sys.modules, {"mpi4py.MPI": other}):
            with self.assertWarnsRegex(RuntimeWarning, "mpi4py is built for Other MPI 7.0, dsop for"):
                dsop.info()
            with self.assertRaisesRegex(dsop.ArgumentError, "mpi4py is built for Other MPI 7.0, expected dsop's"):
                dsop.communicator(comm)

    def test_forked_child_gets_an_error_and_frees_nothing(self) -> None:
        layer = dsop.OuterProduct(2, 2, 1, np.float64)
        model = dsop.Synchronizer(np.float64)
        model.add("w", 3, "dense-overlapped")
        model.begin()
        model.give_gradient("w", np.ones(3))
        values = np.ones(3)
        owned = [layer, model, dsop.SparseAllreduce(), dsop.TopKAllreduce(4), dsop.Machine(), dsop.Selector(),
                 dsop.communicator().counting(), dsop.start_allreduce(values), dsop.start_sparse_allreduce(values)]
        calls: list[Callable[[], Any]] = [lambda: layer.run(np.ones((1, 2)), np.ones((1, 2))), model.finish, dsop.info,
                                          lambda: dsop.allreduce(values), lambda: dsop.run_on_threads(2, lambda comm: None)]
        child = os.fork()
        if child == 0:
            refused = 0
            for call in calls:
                try:
                    call()
                except dsop.Error as error:
                    refused += "forked" in str(error)
            for thing in owned:
                thing.__del__()  # type: ignore[attr-defined]
            os._exit(len(calls) - refused)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        model.finish()
        self.assertEqual(layer.run(np.ones((1, 2)), np.ones((1, 2)))[0, 0], 1)

    def test_signals_are_heard_where_another_thread_came_first(self) -> None:
        program = """
import threading, dsop
from dsop import _library
first = threading.Thread(target=dsop.communicator)
first.start()
first.join()
dsop.communicator()
assert _library._raised.callback
"""
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

    def test_threads_that_can_not_start(self) -> None:
        wrong: list[tuple[str, Any, Any]] = [
            ("ranks is 0", 0, 1), ("ranks is float", 2.0, 1), ("omp_threads is 0", 1, 0),
            ("omp_threads is float", 2, 1.5), ("omp_threads is 4294967297", 2, 2**32 + 1)]
        for words, ranks, omp_threads in wrong:
            with self.subTest(words=words), self.assertRaisesRegex(dsop.ArgumentError, words):
                dsop.run_on_threads(ranks, lambda comm: None, omp_threads)
        every_failing: list[dict[str, Any]] = [{"return_value": DSOP_ERROR_MEMORY}, {"side_effect": MemoryError}]
        for failing in every_failing:
            with unittest.mock.patch.object(library, "dsop_run_on_threads", **failing), self.assertRaises(MemoryError):
                dsop.run_on_threads(2, lambda comm: None)

    def test_interrupted_threads_have_ended_and_objects_are_freed(self) -> None:
        program = """
import os, signal, threading, time
import numpy as np
import dsop
from dsop._library import check, library

ended = []

def body(comm):
    if comm.rank == 1:
        time.sleep(1)
        return ended.append(1)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    dsop.allreduce(np.ones(3), comm)

def is_freed():
    layer = dsop.OuterProduct(2, 2, 1)
    handle = layer._handle
    del layer
    try:
        check(library.dsop_outer_product_plan(handle, None, None))
    except dsop.ArgumentError as error:
        return "is dead" in str(error)

try:
    dsop.run_on_threads(2, body)
except KeyboardInterrupt:
    print(ended, is_freed())
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stdout, "[1] True\n", done.stderr)

    def test_plans_know_nodes(self) -> None:
        alone, in_pairs = ("hierarchical  " + " " * 32 + "not possible: needs ranks that share a node", "on 4 ranks of 2 nodes")
        without = dsop.plan_outer_products((1000, 1000), [4] * 4)[0]
        with_nodes = dsop.plan_outer_products((1000, 1000), [4] * 4, nodes=[0, 0, 2, 2])[0]
        self.assertEqual([(alone in plan, in_pairs in plan) for plan in (without, with_nodes)],
                         [(True, False), (False, True)], without + with_nodes)

    def test_wrong_numbers(self) -> None:
        given: Any = dsop  # what mypy would refuse
        vector = np.ones(4, np.float32)
        offsets, one = np.array([0, 1, 1]), (np.array([0]), np.ones(1))

        def model() -> Any:
            return dsop.Synchronizer()

        cases: list[tuple[str, Callable[[], Any]]] = [
            ("ranks is 4294967297, ", lambda: dsop.plan_topk(100, 1, 2**32 + 1)),
            ("k is -1, ", lambda: dsop.plan_topk(100, -1, 4)),
            ("elements is float, ", lambda: given.plan_sparse(9.0, [1])),
            ("nonzeros[1] is -1, ", lambda: dsop.plan_sparse(9, [1, -1])),
            ("pairs is int, ", lambda: given.plan_outer_products((3, 3), 5)),
            ("nodes.size() is 2, ", lambda: dsop.plan_outer_products((3, 3), [5] * 3, nodes=[0, 0])),
            ("nodes[2] is 1, ", lambda: dsop.plan_sparse(9, [5] * 3, nodes=[0, 0, 1])),
            ("shape is (3, 3, 3), ", lambda: given.plan_outer_products((3, 3, 3), [5])),
            ("own.dimension is 18446744073709551620, ",
             lambda: dsop.sparse_allreduce(dsop.SparseVector(2**64 + 4, *one))),
            ("a.shape[0] is float, ",
             lambda: dsop.outer_product(given.SparseMatrix((2.0, 3), offsets, *one), np.ones((2, 2)))),
            ("elements is -1, ", lambda: dsop.TopKAllreduce(-1)),
            ("k is -1, ", lambda: dsop.TopKAllreduce(4).run(vector, -1)),
            ("k is 18446744073709551617, ", lambda: dsop.Selector().select(vector, 2**64 + 1)),
            ("room is -1, ", lambda: dsop.Selector().select(vector, 1, -1)),
            ("values.dtype is float64, ", lambda: dsop.Selector().select(np.ones(4), 1)),
            ("seed is -1, ", lambda: dsop.Selector(seed=-1)),
            ("threshold is str, ", lambda: given.Selector(threshold="x")),
            ("algorithm is int, ", lambda: given.Selector(5)),
            ("rows is -1, ", lambda: dsop.OuterProduct(-1, 3, 4)),
            ("columns is float, ", lambda: given.OuterProduct(3, 3.0, 4)),
            ("shape is -3, ", lambda: model().add("w", -3)),
            ("shape is (3,), ", lambda: model().add("w", (3,))),
            ("max_pairs is -1, ", lambda: model().add("w", 3, max_pairs=-1)),
            ("name is NoneType, ", lambda: model().residual(None)),
            ("size_bytes is -1, ", lambda: dsop.Machine().seconds(-1)),
            ("n is nan, ", lambda: dsop.Machine().seconds(1, float("nan"))),
            ('latency_seconds is "x", ', lambda: given.Machine(latency_seconds="x")),
            ("name is int, ", lambda: given.Machine()[5]),
            ("on_stall is int, ", lambda: given.communicator().set_stall_watch(1, 5)),
            ("limit_seconds is str, ", lambda: given.communicator().set_stall_watch("x")),
            ("limit_seconds is str, ", lambda: given.connect("/no/such", 0, 1, limit_seconds="x")),
            ("family is nonsense, ", lambda: dsop.algorithms("nonsense")),
        ]
        for words, call in cases:
            with self.subTest(words=words), self.assertRaisesRegex(dsop.ArgumentError, re.escape(words) + "expected"):
                call()
        for shape in (np.prod((3, 4)), np.array((3, 4))):
            model().add("w", shape)


if __name__ == "__main__":
    runner.main(sys.argv)
