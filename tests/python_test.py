#!/usr/bin/python3
"""The Python package on ranks that are threads: results that are exact."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import sys
import tempfile
import types
import unittest
from typing import Any

import numpy as np

import dsop
import runner
from python_cases import FAMILIES, ThreadsTest, pairs_of, whole_numbers


class PythonTest(ThreadsTest):
    def test_examples_in_docstrings(self) -> None:
        for name in ("_arrays", "_collectives", "_communicators", "_info", "_machine", "_mpi", "_outer_products", "_sparse",
                     "_stores", "_synchronizer", "_topk"):
            module = importlib.import_module(f"dsop.{name}")
            self.assertEqual(doctest.testmod(module, extraglobs={"dsop": dsop, "np": np, "tempfile": tempfile}).failed, 0)
        for name in dsop.__all__:
            if name in ("Error", "ArgumentError", "TransportError", "__version__"):
                continue
            public = getattr(dsop, name)
            self.check_docstring(name, public)
            for member, value in vars(public).items() if isinstance(public, type) else ():
                if not member.startswith("_") and isinstance(value, (types.FunctionType, classmethod, property)):
                    self.check_docstring(f"{name}.{member}", value)

    def check_docstring(self, name: str, public: Any) -> None:
        """It has an example, and sections for parameters and errors where there are any."""
        text = public.__doc__ or ""
        self.assertIn(">>>", text, f"{name} shows no example")
        function = public.__func__ if isinstance(public, classmethod) else public
        if isinstance(function, property) or name == "Pending":  # which calls return
            return
        takes_arguments = bool(set(inspect.signature(function).parameters) - {"self", "cls"})
        if takes_arguments:
            self.assertRegex(text, r"(Parameters|Attributes)\n *---", name)
        is_plain = isinstance(function, type) and (hasattr(function, "_fields") or dataclasses.is_dataclass(function)
                                                   or name == "Communicator")  # which are returned, or can't fail
        if takes_arguments and not is_plain or name.split(".")[-1] in ("wait", "test", "save", "describe"):
            self.assertRegex(text, r"Raises\n *---", name)

    def test_numbers_of_numpy_are_what_they_are(self) -> None:
        """The shortest text of a float32 is that of another double."""
        ones = np.ones((1, 1))
        for scale in (np.float32(1 / 3), np.float16(0.1), np.array(1 / 3, np.float32), np.int32(3), 1 / 3):
            self.assertEqual(dsop.outer_product(ones, ones, scale=scale)[0, 0], float(scale))
            self.assertEqual(dsop.outer_product(ones, ones, np.full((1, 1), 2.0), alpha=scale, beta=1)[0, 0],
                             2 + float(scale))

    def test_machine_of_threads(self) -> None:
        machines = [dsop.Machine(), dsop.Machine(on_threads=True), dsop.Machine(on_threads=True, latency_seconds=1)]
        self.assertGreater(machines[0]["gap_per_byte_seconds"], machines[1]["gap_per_byte_seconds"])
        self.assertEqual(machines[2]["latency_seconds"], 1)
        with self.assertRaisesRegex(dsop.ArgumentError, "on_threads with the file 'x', expected one of both"):
            dsop.Machine("x", on_threads=True)

    def test_what_a_selection_tells(self) -> None:
        selector = dsop.Selector("exact", np.float64)
        self.assertEqual(selector.last, {})
        selector.select(np.array([1.0, np.nan, -3.0, np.inf, 2.0]), k=3)
        self.assertEqual(selector.last, {"chosen": 3, "threshold": 3, "nans": 1, "infinities": 1, "evaluated": False,
                                         "predicted": 3})
        reusing = dsop.Selector("threshold-reuse", np.float64)
        for evaluated in (True, False):
            reusing.select(np.arange(100.0), k=10)
            self.assertEqual(reusing.last["evaluated"], evaluated)

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
                    dsop.outer_product(*own, out=strided[:, 2:5], comm=comm, beta=1, algorithm=algorithm,
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


if __name__ == "__main__":
    runner.main(sys.argv)
