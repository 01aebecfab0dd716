#!/usr/bin/python3
"""The Python package on ranks that are threads: results that are exact, and errors that all ranks raise."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock
from collections.abc import Callable
from typing import Any

import numpy as np

import dsop
from dsop._table import FUNCTIONS

RANKS = [1, 2, 3, 4, 5, 7]
FAMILIES = {name: [a["name"] for a in dsop.algorithms(name) if "mpi" not in a["name"]]
            for name in ("outer-product", "dense", "broadcast", "reduce", "sparse", "topk")}
Body = Callable[[dsop.Communicator], Any]


def whole_numbers(rank: int, *shape: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(rank + 1).integers(-4, 5, shape).astype(dtype)


def pairs_of(rank: int) -> int:
    return (3 * rank) % 4


class PythonTest(unittest.TestCase):
    def on_ranks(self, body: Body, ranks: list[int] | None = None) -> None:
        for number in ranks or RANKS:
            with self.subTest(ranks=number):
                dsop.run_on_threads(number, body)

    def raises_on_all(self, words: str, body: Body, ranks: int = 3) -> None:
        """`body` raises ArgumentError with these words on every rank, and the communicator can be used again."""
        def on_rank(comm: dsop.Communicator) -> str:
            try:
                body(comm)
            except dsop.ArgumentError as error:
                values = np.ones(3)
                dsop.allreduce(values, comm)
                self.assertEqual(values[0], comm.size)
                return str(error)
            return "nothing was raised"
        texts = dsop.run_on_threads(ranks, on_rank)
        self.assertEqual(len(set(texts)), 1)
        self.assertIn(words, texts[0])

    def test_examples_in_docstrings(self) -> None:
        for name in ("_arrays", "_collectives", "_communicators", "_info", "_machine", "_mpi", "_outer_products", "_sparse",
                     "_stores", "_synchronizer", "_topk"):
            module = importlib.import_module(f"dsop.{name}")
            self.assertEqual(doctest.testmod(module, extraglobs={"dsop": dsop, "np": np, "tempfile": tempfile}).failed, 0)
        for name in dsop.__all__:
            if name in ("Error", "ArgumentError", "TransportError", "__version__"):
                continue
            public = getattr(dsop, name)
            self.assertIn(">>>", public.__doc__, f"{name} shows no example")
            for member, value in vars(public).items() if isinstance(public, type) else ():
                if not member.startswith("_") and isinstance(value, (types.FunctionType, classmethod, property)):
                    self.assertIn(">>>", value.__doc__ or "", f"{name}.{member} shows no example")

    def test_outer_products_by_every_algorithm(self) -> None:
        for algorithm in ["auto", *FAMILIES["outer-product"]]:
            for dtype in (np.float32, np.float64):
                def body(comm: dsop.Communicator, algorithm: str = algorithm, dtype: Any = dtype) -> None:
                    a = [whole_numbers(r, pairs_of(r), 5, dtype=dtype) for r in range(comm.size)]
                    b = [whole_numbers(r + 50, pairs_of(r), 3, dtype=dtype) for r in range(comm.size)]
                    expected = 2 * sum(x.T @ y for x, y in zip(a, b))
                    own = a[comm.rank], b[comm.rank]
                    try:
                        got = dsop.outer_product(*own, comm=comm, scale=2, algorithm=algorithm)
                    except dsop.ArgumentError as error:
                        self.assertIn("can't be used", str(error))
                        return
                    self.assertEqual(got.tobytes(), (expected + 0 * got).tobytes())
                    strided = np.full((5, 7), 9, dtype)
                    dsop.outer_product(*own, out=strided[:, 2:5], comm=comm, accumulate=True, algorithm=algorithm,
                                       factor_wire="bf16" if dtype == np.float32 else "full")
                    self.assertTrue((strided[:, 2:5] == expected / 2 + 9).all())
                    self.assertTrue((strided[:, :2] == 9).all() and (strided[:, 5:] == 9).all())
                self.on_ranks(body, [1, 3, 4])

    def test_one_row_of_any_stride_and_no_rows(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            one = np.broadcast_to(np.ones(4), (1, 4))
            self.assertTrue((dsop.outer_product(one, one, comm=comm) == comm.size).all())
            none = np.broadcast_to(np.ones(4), (0, 4))
            self.assertTrue((dsop.outer_product(none, none, comm=comm) == 0).all())
        self.on_ranks(body, [1, 2])

    def test_layer(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            layer = dsop.OuterProduct(6, 4, 3, np.float64, comm)
            a = [whole_numbers(r, pairs_of(r), 6) for r in range(comm.size)]
            b = [whole_numbers(r + 9, pairs_of(r), 4) for r in range(comm.size)]
            expected = sum(x.T @ y for x, y in zip(a, b))
            own = a[comm.rank], b[comm.rank]
            self.assertTrue((layer.run(*own) == expected).all())
            out = np.empty((6, 4))
            pending = layer.start(*own, out)
            pending.wait()
            self.assertTrue((out == expected).all() and pending.test())
            bounds = layer.row_bounds
            mine = slice(int(bounds[comm.rank]), int(bounds[comm.rank + 1]))
            self.assertTrue((layer.run_sharded(*own) == expected[mine]).all())
            one_hot = dsop.SparseMatrix((2, 6), np.arange(3), np.array([1, comm.rank % 6]), np.ones(2))
            indices, rows = layer.run_rows(one_hot, np.ones((2, 4)))
            self.assertEqual(list(indices), sorted({1, *(r % 6 for r in range(comm.size))}))
            self.assertEqual(rows.sum(), 8 * comm.size)
            self.assertIn("6 x 4", layer.plan)
            self.assertTrue(layer.algorithm)
        self.on_ranks(body)

    def test_collectives_by_every_algorithm(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            root = comm.size - 1
            all_values = [whole_numbers(r, 3, 5) for r in range(comm.size)]
            every_sum: list[Any] = [dsop.allreduce, lambda *a, **o: dsop.start_allreduce(*a, **o).wait()]
            every_reduce: list[Any] = [dsop.reduce, lambda *a, **o: dsop.start_reduce(*a, **o).wait()]
            for name in ["auto", *FAMILIES["dense"]]:
                for sums in every_sum:
                    values = all_values[comm.rank].copy()
                    sums(values, comm, algorithm=name)
                    self.assertTrue((values == sum(all_values)).all(), name)
            for name in ["auto", *FAMILIES["broadcast"]]:
                values = all_values[comm.rank].copy()
                dsop.broadcast(values, root, comm, algorithm=name)
                dsop.start_broadcast(values, root, comm, algorithm=name).wait()
                self.assertTrue((values == all_values[root]).all(), name)
            for name in ["auto", *FAMILIES["reduce"]]:
                for reduces in every_reduce:
                    values = all_values[comm.rank].copy()
                    reduces(values, root, comm, algorithm=name)
                    self.assertTrue(comm.rank != root or (values == sum(all_values)).all(), name)
        self.on_ranks(body, [1, 3, 4])

    def test_sparse_and_top_k(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            mine = [np.where(whole_numbers(r, 40) > 2, whole_numbers(r, 40), 0) for r in range(comm.size)]
            own = mine[comm.rank]
            where = np.flatnonzero(own)
            sparse = dsop.SparseVector(40, where, own[where])
            layer = dsop.SparseAllreduce(np.float64, comm)
            for name in ["auto", *FAMILIES["sparse"]]:
                try:
                    got = dsop.sparse_allreduce(sparse, comm, algorithm=name)
                except dsop.ArgumentError as error:
                    self.assertIn("can't be used", str(error))
                    continue
                self.assertTrue((got.dense() == sum(mine)).all(), name)
            self.assertTrue((layer.run(own).dense() == sum(mine)).all())
            started = [dsop.start_sparse_allreduce(sparse, comm), layer.start(own)]
            for pending in reversed(started):
                self.assertTrue((pending.wait().dense() == sum(mine)).all() and pending.test())
            for name in FAMILIES["topk"]:
                top, values = dsop.TopKAllreduce(40, np.float64, comm, algorithm=name), own.copy()
                top.run(values, 5)
                again = dsop.TopKAllreduce(40, np.float64, comm, algorithm=name, state=top.state)
                got_both = top.run(values.copy(), 5), again.start(values.copy(), 5).wait()
                self.assertEqual(*(got.dense().tobytes() for got in got_both))
                self.assertEqual(*(got.took_part.tobytes() for got in got_both))
                self.assertEqual(*((got.evaluated_local, got.evaluated_global) for got in got_both))
                self.assertTrue(got_both[0].evaluated_local in (True, False))
        self.on_ranks(body, [1, 3, 4])

    def test_synchronizer(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            def make() -> dsop.Synchronizer:
                model = dsop.Synchronizer(np.float64, comm)
                model.add("w", (5, 3), max_pairs=4)
                model.add("bias", 3, "dense")
                model.add("embedding", (6, 2), "sparse")
                model.add("wide", (4, 4), "topk:0.25")
                return model

            def step(model: dsop.Synchronizer, number: int) -> list[Any]:
                gradients = [np.zeros((5, 3)), whole_numbers(comm.rank, 3), np.zeros((6, 2)),
                             whole_numbers(comm.rank + number, 4, 4)]
                model.begin(scale=0.5)
                model.give_gradient("wide", gradients[3])
                model.give_vector("embedding", dsop.SparseVector(12, np.array([comm.rank]), np.ones(1)), gradients[2])
                model.give_gradient("bias", gradients[1])
                model.give_factors("w", whole_numbers(comm.rank, 2, 5), whole_numbers(comm.rank, 2, 3), gradients[0])
                model.finish()
                return gradients

            model = make()
            first = step(model, 0)
            self.assertTrue((first[0] == 0.5 * sum(whole_numbers(r, 2, 5).T @ whole_numbers(r, 2, 3)
                                                   for r in range(comm.size))).all())
            self.assertTrue((first[1] == 0.5 * sum(whole_numbers(r, 3) for r in range(comm.size))).all())
            self.assertEqual(first[2].sum(), 0.5 * comm.size)
            self.assertEqual(model.residual("wide").size, 16)
            self.assertEqual(model.last_step("wide")["target"], 4)
            self.assertEqual(model.last_step("wide")["predicted"], model.last_step("wide")["chosen"])
            self.assertGreaterEqual(model.last_step("wide")["selection_seconds"], 0)
            resumed = make()
            resumed.load(model.save())
            for left, right in zip(step(model, 1), step(resumed, 1)):
                self.assertEqual(left.tobytes(), right.tobytes())
            self.assertFalse(model.last_step("wide")["evaluated_global"])
            weights = np.full((5, 3), 7.0)
            embedding = np.full((6, 2), 7.0)
            model.begin()
            model.give_vector("embedding", np.ones(12), embedding, alpha=2, beta=-1)
            model.give_factors("w", np.ones((1, 5)), np.ones((1, 3)), weights, alpha=-0.5, beta=1)
            model.finish()
            self.assertTrue((weights == 7 - 0.5 * comm.size).all() and (embedding == 2 * comm.size - 7).all())
            model.set_policy("wide", "dense")
            self.assertIn("wide", model.describe())
        self.on_ranks(body, [1, 2, 4])

    def test_failed_step(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            model = dsop.Synchronizer(np.float64, comm)
            model.add("w", (2, 2), "dense")
            gradient = np.ones((2, 2))
            every_wrong: list[Any] = [np.ones((2, 2), np.float32), np.ones((2, 3)), np.ones(4)[::2], "much", None]
            for wrong in every_wrong:
                model.begin()
                if comm.rank > 0:
                    model.give_gradient("w", gradient)
                elif wrong is None:
                    model.fail("backward raised", "w")
                elif isinstance(wrong, str):
                    model.give_vector("w", np.ones(4), gradient, beta=wrong)  # type: ignore[arg-type]
                else:
                    model.give_gradient("w", wrong)
                with self.assertRaisesRegex(dsop.ArgumentError, "w"):
                    model.finish()
            gradient[:] = 1
            model.begin()
            model.give_gradient("w", gradient)
            model.finish()
            self.assertEqual(gradient[0, 0], comm.size)
        self.on_ranks(body, [1, 2, 3])

    def test_wrong_arguments_of_one_rank_are_errors_on_all(self) -> None:
        good = {"a": np.ones((2, 4)), "b": np.ones((2, 3)), "out": np.zeros((4, 3))}
        read_only = np.zeros((4, 3))
        read_only.flags.writeable = False
        compressed_columns = types.SimpleNamespace(shape=(2, 2), indptr=np.arange(3), indices=np.arange(2), data=np.ones(2),
                                                   format="csc")
        cases: list[tuple[str, dict[str, Any]]] = [
            ("a.dtype is int64", {"a": np.ones((2, 4), int)}),
            ("b.dtype is float32", {"b": np.ones((2, 3), np.float32)}),
            ("a.ndim is 1", {"a": np.ones(4)}),
            ("a is list", {"a": [[1.0]]}),
            ("a.strides", {"a": np.ones((2, 8))[:, ::2]}),
            ("a.strides", {"a": np.ones((2, 4))[::-1]}),
            ("a.strides", {"a": np.broadcast_to(np.ones(4), (2, 4))}),
            ("a.strides", {"a": np.broadcast_to(np.ones(1), (2, 1))}),
            ("out.strides", {"out": np.lib.stride_tricks.as_strided(np.zeros(3), (4, 3), (0, 8))}),
            ("a.format is csc", {"a": compressed_columns}),
            ("out is read-only", {"out": read_only}),
            ("overlaps", {"out": np.zeros((4, 3)), "b": None}),
            ("columns", {"b": np.ones((2, 5))}),
            ("b.rows", {"b": np.ones((3, 3))}),
            ("rows", {"out": np.zeros((5, 3))}),
            ("algorithm", {"algorithm": "no such"}),
            ("scale", {"scale": float("nan")}),
            ("scale is many", {"scale": "many"}),
            ("alpha", {"alpha": float("inf")}),
            ("beta", {"beta": 1}),
            ("wire is thin", {"wire": "thin"}),
            ("factor_wire is bf16", {"factor_wire": "bf16"}),
            ("machine", {"machine": "/no/such/file"}),
        ]
        for words, wrong in cases:
            def body(comm: dsop.Communicator, wrong: dict[str, Any] = wrong) -> None:
                given: dict[str, Any] = {key: value.copy() for key, value in good.items()}
                if comm.rank == 1:
                    given.update(wrong)
                    if given["b"] is None:
                        given["b"] = given["out"].reshape(-1)[:6].reshape(2, 3)
                dsop.outer_product(**given, comm=comm)
            with self.subTest(words=words):
                self.raises_on_all(words, body)

    def test_ranks_that_differ(self) -> None:
        self.raises_on_all("data type", lambda comm: dsop.allreduce(
            np.ones(3, np.float32 if comm.rank == 0 else np.float64), comm))
        self.raises_on_all("data.size()", lambda comm: dsop.allreduce(np.ones(3 + comm.rank), comm))
        self.raises_on_all("root", lambda comm: dsop.broadcast(np.ones(3), comm.rank, comm))
        self.raises_on_all("the operation", lambda comm: dsop.allreduce(np.ones(3), comm) if comm.rank else
                           dsop.broadcast(np.ones(3), 0, comm))

    def test_wrong_objects(self) -> None:
        self.raises_on_all("an option is sclae", lambda comm: dsop.OuterProduct(3, 2, 1, comm=comm, sclae=1))
        self.raises_on_all("dtype is int64", lambda comm: dsop.OuterProduct(3, 2, 1, int, comm=comm))
        self.raises_on_all("policy", lambda comm: dsop.Synchronizer(comm=comm).add("w", (2, 2), "no such"))
        self.raises_on_all("algorithm", lambda comm: dsop.TopKAllreduce(4, np.float64, comm, algorithm="no such").run(
            np.ones(4), 2))
        self.raises_on_all("k", lambda comm: dsop.TopKAllreduce(4, np.float64, comm).run(np.ones(4), 5))
        self.raises_on_all("indices", lambda comm: dsop.sparse_allreduce(
            dsop.SparseVector(5, np.array([3, 1]), np.ones(2)), comm))

        with self.assertRaisesRegex(dsop.ArgumentError, "expected None"):
            dsop.communicator(17)
        with self.assertRaisesRegex(dsop.ArgumentError, "latency_seconds"):
            dsop.Machine(latency_seconds=-1)
        with self.assertRaisesRegex(dsop.Error, "no/such"):
            dsop.Machine("/no/such/file")
        machine = dsop.Machine()
        for name in ("inner_levels[0].nodes", "inner_levels[0].latency_seconds", "inner_levels[", "inner_levels[0]",
                     "ring_step_seconds[6]", "ring_step_seconds", "ring_step_seconds[1]x", "flops"):
            with self.assertRaisesRegex(dsop.ArgumentError, f"name is {re.escape(name)}, expected one of latency_seco"):
                machine[name] = 1
        self.assertEqual(dsop.Machine.of()["latency_seconds"], 10e-6)
        machine["inner_levels"] = 2
        machine["inner_levels[1].nodes"] = 4
        machine["inner_levels[1].ring_step_seconds[5]"] = 0.5
        self.assertEqual([machine["inner_levels"], machine["inner_levels[1].nodes"],
                          machine["inner_levels[1].ring_step_seconds[5]"]], [2, 4, 0.5])
        for name, number in (("inner_levels", -1), ("inner_levels", 65), ("inner_levels[1].nodes", 1.5),
                             ("inner_levels[1].nodes", float("nan"))):
            with self.assertRaisesRegex(dsop.ArgumentError, f"{re.escape(name)} is .*, expected a whole number from 0"):
                machine[name] = number
        with self.assertRaisesRegex(dsop.ArgumentError, "ranks is 0"):
            dsop.run_on_threads(0, lambda comm: None)

    def test_wrong_objects_of_one_rank(self) -> None:
        anything: Any = dsop  # what mypy would refuse

        def model_of(comm: dsop.Communicator) -> Any:
            model = dsop.Synchronizer(np.float64, comm)
            model.add("w", (2, 2), "dense")
            return model

        def step(comm: dsop.Communicator, name: Any = "w", scale: Any = 1.0) -> None:
            model = model_of(comm)
            model.begin(scale)
            model.give_gradient(name, np.ones((2, 2)))
            model.finish()

        cases: list[tuple[str, Callable[[dsop.Communicator, Any], Any], Any, Any]] = [
            ("root is str", lambda comm, root: anything.broadcast(np.ones(3), root, comm), 0, "first"),
            ("root is float", lambda comm, root: anything.reduce(np.ones(3), root, comm), 0, 0.5),
            ("root is 4294967296", lambda comm, root: dsop.start_broadcast(np.ones(3), root, comm).wait(), 0, 2**32),
            ("root is NoneType", lambda comm, root: dsop.start_reduce(np.ones(3), root, comm).wait(), 0, [None]),
            ("name is int", lambda comm, name: model_of(comm).add(name, (2, 2)), "v", 5),
            ("policy is None", lambda comm, policy: model_of(comm).add("v", (2, 2), policy), "dense", [None]),
            ("name is int", lambda comm, name: model_of(comm).set_policy(name, "sparse"), "w", 5),
            ("policy is int", lambda comm, policy: model_of(comm).set_policy("w", policy), "sparse", 5),
            ("name is int", lambda comm, name: step(comm, name), "w", 5),
            ("scale", lambda comm, scale: step(comm, scale=scale), 1.0, "half"),
            ("data is None", lambda comm, data: model_of(comm).load(data), model_of(dsop.communicator()).save(), [None]),
            ("saved state", lambda comm, data: model_of(comm).load(data), model_of(dsop.communicator()).save(), b""),
            ("dtype is int64", lambda comm, dtype: dsop.TopKAllreduce(3, dtype, comm).run(np.ones(3), 1), float, int),
            ("state is int", lambda comm, state: anything.TopKAllreduce(3, float, comm, state=state).run(np.ones(3), 1),
             None, 5),
            ("no semicolon", lambda comm, wire: dsop.TopKAllreduce(3, float, comm, wire=wire).run(np.ones(3), 1), "full",
             "full;wire=bf16"),
            ("dtype is int64", lambda comm, dtype: dsop.SparseAllreduce(dtype, comm).run(np.ones(3)), float, int),
            ("an option is wier", lambda comm, name: dsop.SparseAllreduce(float, comm, **{name: "full"}).run(np.ones(3)),
             "wire", "wier"),
            ("no semicolon", lambda comm, wire: dsop.SparseAllreduce(float, comm, wire=wire).run(np.ones(3)), "full",
             "full; "),
            ("no semicolon", lambda comm, machine: dsop.allreduce(np.ones(3), comm, machine=machine), None, "a;b"),
        ]
        for words, call, right, wrong in cases:
            with self.subTest(words=words, wrong=wrong):
                of_rank_1 = None if wrong == [None] else wrong
                self.raises_on_all(words, lambda comm: call(comm, of_rank_1 if comm.rank == 1 else right))

    def test_communicator_of_threads_that_have_ended(self) -> None:
        left = []
        dsop.run_on_threads(2, lambda comm: left.append((comm, dsop.OuterProduct(2, 2, 1, np.float64, comm))))
        for comm, layer in left:
            with self.assertRaises(dsop.ArgumentError):
                dsop.allreduce(np.ones(3), comm)
            with self.assertRaises(dsop.ArgumentError):
                layer.run(np.ones((1, 2)), np.ones((1, 2)))

    def test_started_sums_that_fail_or_are_dropped(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            indices = np.array([3, 1] if comm.rank == 1 else [1, 3])
            pending = dsop.start_sparse_allreduce(dsop.SparseVector(5, indices, np.ones(2)), comm)
            for _ in range(2):
                with self.assertRaisesRegex(dsop.Error, "rank 1|failed"):
                    pending.wait()
            top, values = dsop.TopKAllreduce(4, np.float64, comm), np.array([5, 0.5, -7, 0.25])
            pending_top = top.start(values, 2)
            with self.assertRaisesRegex(dsop.ArgumentError, "expected dsop_wait"):
                top.run(values, 2)
            del pending_top
            self.assertEqual(list(values), [0, 0.5, 0, 0.25])
            self.assertEqual(top.run(values, 2).chosen, 2)
        self.on_ranks(body, [2, 3])

    def test_first_exception_of_threads_is_raised(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            if comm.rank == 1:
                raise KeyError("mine")
            dsop.allreduce(np.ones(3), comm)
        with self.assertRaises(KeyError):
            dsop.run_on_threads(3, body)

    def test_traffic_and_stalls(self) -> None:
        is_told = threading.Event()

        def body(comm: dsop.Communicator) -> None:
            counting = comm.counting()
            dsop.allreduce(np.ones(100), counting, algorithm="ring")
            self.assertEqual(counting.traffic()["payload_messages"], 2)
            heard: list[str] = []
            comm.set_stall_watch(0.2, heard.append, throws=True)
            if comm.rank == 0:
                with self.assertRaisesRegex(dsop.TransportError, "missing: "):
                    dsop.allreduce(np.ones(100), comm)
                self.assertEqual(len(heard), 1)
                is_told.set()
            is_told.wait(10)
        dsop.run_on_threads(2, body)

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
assert len(heard) == 1 and heard[0].category is RuntimeWarning, heard
print(heard[0].message)
"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", program, folder + "/libomp.so.5"], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("two OpenMP runtimes are loaded", done.stdout)
            self.assertIn(folder, done.stdout)

    def import_with(self, library: str) -> str:
        """What the ImportError says."""
        done = subprocess.run([sys.executable, "-c", "try:\n    import dsop\nexcept ImportError as error:\n    print(error)"],
                              capture_output=True, text=True, timeout=60, check=True,
                              env={**os.environ, "DSOP_LIBRARY": library})
        return done.stdout

    def test_library_that_is_missing(self) -> None:
        said = self.import_with("/no/such")
        self.assertIn("dsop needs libdsop_c.so.1, which could not be loaded (/no/such: ", said)
        self.assertIn("DSOP_LIBRARY", said)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_library_of_another_version(self) -> None:
        others = [f"void {name}(void) {{}}" for name in FUNCTIONS if name != "dsop_version"]
        version = 'const char* dsop_version(void) { return "9.9.0"; }'
        for functions, expected in ((others, "libdsop_c.so.1 is of dsop 9.9.0, expected 0.1.0, as this package"),
                                    (others[1:], f"libdsop_c.so.1 has no {others[0][5:].split('(')[0]}: expected that of")):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder + "/stub.so"], text=True, check=True,
                               input="\n".join([version, *functions]))
                self.assertIn(expected, self.import_with(folder + "/stub.so"))

    def test_mpi4py_of_another_mpi_is_warned_of_and_refused(self) -> None:
        other = types.SimpleNamespace(Get_library_version=lambda: "Other MPI 7.0\nbuilt somewhere", Is_finalized=bool)
        comm = types.SimpleNamespace(py2f=lambda: 0)
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
