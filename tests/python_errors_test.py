#!/usr/bin/python3
"""What is wrong on one rank that is a thread is the same Python error on all of them."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import re
import sys
import tempfile
import threading
import types
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import dsop
import runner
from python_cases import ThreadsTest


class PythonErrorsTest(ThreadsTest):
    def test_failed_step(self) -> None:
        def body(comm: dsop.Communicator) -> None:
            model = dsop.Synchronizer(np.float64, comm)
            model.add("w", (2, 2), "dense")
            gradient = np.ones((2, 2))
            no_matrix = types.SimpleNamespace(indptr=np.arange(2))
            every_wrong: list[Any] = [np.ones((2, 2), np.float32), np.ones((2, 3)), np.ones(4)[::2], "much", None, no_matrix]
            for wrong in every_wrong:
                model.begin()
                if comm.rank > 0:
                    model.give_gradient("w", gradient)
                elif wrong is None:
                    model.fail("backward raised", "w")
                elif wrong is no_matrix:
                    model.give_factors("w", wrong, np.ones((1, 2)), gradient)
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

    def test_any_exception_can_be_said_to_all(self) -> None:
        cases: list[tuple[str, str | Exception]] = [("no data", ValueError("no data")), ("'x'", KeyError("x")),
                                                    ("AssertionError", AssertionError()), (r"a\udc80b", "a\udc80b"),
                                                    (r"a\udc80b", OSError("a\udc80b"))]
        for words, error in cases:
            def step(comm: dsop.Communicator, error: str | Exception = error) -> None:
                model = dsop.Synchronizer(np.float64, comm)
                model.begin()
                if comm.rank == 1:
                    model.fail(error, "w\udc80")
                model.finish()

            def call(comm: dsop.Communicator, error: str | Exception = error) -> None:
                if comm.rank == 1:
                    comm.fail(error)
                dsop.allreduce(np.ones(3), comm)
            for body in (step, call):
                place = "parameter w\\udc80: " if body is step else ""
                with self.subTest(words=words, place=place):
                    self.raises_on_all(f"rank 1: {place}{words}", body)

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
            ("a is MaskedArray", {"a": np.ma.masked_less(np.ones((2, 4)), 2)}),
            ("a.strides", {"a": np.ones((2, 8))[:, ::2]}),
            ("a.strides", {"a": np.ones((2, 4))[::-1]}),
            ("a.strides", {"a": np.broadcast_to(np.ones(4), (2, 4))}),
            ("a.strides", {"a": np.broadcast_to(np.ones(1), (2, 1))}),
            ("out.strides", {"out": np.lib.stride_tricks.as_strided(np.zeros(3), (4, 3), (0, 8))}),
            *[("a is not aligned to its elements", {"a": np.frombuffer(memory, np.float64, 8, 1).reshape(2, 4)})
              for memory in (bytes(8 * 8 + 1), bytearray(8 * 8 + 1))],  # the second may be written to
            ("a.format is csc", {"a": compressed_columns}),
            ("out is read-only", {"out": read_only}),
            ("overlaps", {"out": np.zeros((4, 3)), "b": None}),
            ("columns", {"b": np.ones((2, 5))}),
            ("b.rows", {"b": np.ones((3, 3))}),
            ("rows", {"out": np.zeros((5, 3))}),
            ("algorithm", {"algorithm": "no such"}),
            ("algorithm is 'auto\\x00', expected no NUL", {"algorithm": "auto\0"}),
            (r"algorithm is '\udc80', expected a text", {"algorithm": "\udc80"}),
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

    def test_what_the_library_holds_has_no_copies(self) -> None:
        ranks = dsop.communicator()
        for held in (ranks, dsop.Machine(), dsop.OuterProduct(3, 2, 1)):
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "can't be copied or pickled"):
                    copied(held)
        gc.collect()
        dsop.allreduce(np.ones(3), ranks)

    def test_wrong_objects(self) -> None:
        self.raises_on_all("an option is sclae", lambda comm: dsop.OuterProduct(3, 2, 1, comm=comm, sclae=1))
        self.raises_on_all("dtype is int64", lambda comm: dsop.OuterProduct(3, 2, 1, int, comm=comm))
        self.raises_on_all("policy", lambda comm: dsop.Synchronizer(comm=comm).add("w", (2, 2), "no such"))
        self.raises_on_all("algorithm", lambda comm: dsop.TopKAllreduce(4, np.float64, comm, algorithm="no such").run(
            np.ones(4), 2))
        self.raises_on_all("k", lambda comm: dsop.TopKAllreduce(4, np.float64, comm).run(np.ones(4), 5))
        self.raises_on_all("indices", lambda comm: dsop.sparse_allreduce(
            dsop.SparseVector(5, np.array([3, 1]), np.ones(2)), comm))

        for no_communicator in (17, types.SimpleNamespace(py2f=lambda: 0, Get_rank=lambda: 0)):  # as mpi4py's groups have them
            with self.assertRaisesRegex(dsop.ArgumentError, "expected None"):
                dsop.communicator(no_communicator)
        with self.assertRaisesRegex(dsop.ArgumentError, "latency_seconds"):
            dsop.Machine(latency_seconds=-1)
        paths: list[tuple[Any, str]] = [("/no/such/file", "no/such"), ("/no/\udc80", r"no/\\x80"), (7, "path is 7, expected a path"),
                                        ("/dev/null\0", "path is '/dev/null.x00', expected no NUL")]
        for path, words in paths:
            with self.assertRaisesRegex(dsop.Error, words):
                dsop.Machine(path)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write('{"latency_seconds": ' + "[" * 100_000 + "]" * 100_000 + "}")
            file.flush()
            with self.assertRaisesRegex(dsop.Error, "is nested in more than 16 levels"):
                dsop.Machine(file.name)
        for number in (10**5000, -10**300):  # Python itself does not write the first
            with self.assertRaisesRegex(dsop.ArgumentError, "root is .{,220}, expected a number of 32 bits"):
                dsop.broadcast(np.ones(3), number, dsop.communicator())
        with self.assertRaisesRegex(dsop.ArgumentError, "^name is 'x{199}[.]{3}, expected one of version, latency"):
            dsop.Machine()["x" * 1_000_000]
        with self.assertRaisesRegex(dsop.ArgumentError, r"name is '\\x1b\[31m', expected"):
            dsop.Machine()["\x1b[31m"]
        machine = dsop.Machine()
        for name, value, words in (
                ("flops", 1, "unknown field flops"), ("inner_levels", 2, "inner_levels is 2, expected a list"),
                ("inner_levels", [{"nodes": 1.5}], r"inner_levels\[0\].nodes is 1.5, expected a whole number from 1"),
                ("ring_step_seconds", [1], "ring_step_seconds is .1., expected 6 numbers"),
                ("latency_seconds", math.nan, "latency_seconds: expected what JSON has"),
                ("latency_seconds", machine, "latency_seconds: expected what JSON has")):
            with self.assertRaisesRegex(dsop.ArgumentError, words):
                machine[name] = value
        self.assertEqual(machine["inner_levels"], [])
        self.assertEqual(dsop.Machine.of()["latency_seconds"], 10e-6)
        machine["inner_levels"] = [{"nodes": 1}, {"nodes": 4, "ring_step_seconds": [np.float32(0.5)] * 6}]
        self.assertEqual([machine["inner_levels"][1]["nodes"], machine["inner_levels"][1]["ring_step_seconds"][5]], [4, 0.5])

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
                for refused in (lambda: dsop.allreduce(np.ones(100), comm), lambda: dsop.OuterProduct(2, 2, 1, comm=comm),
                                lambda: dsop.start_allreduce(np.ones(100), comm).wait(),
                                lambda: dsop.Synchronizer(comm=comm), lambda: comm.fail("no data")):
                    with self.assertRaisesRegex(dsop.TransportError, "^this communicator has failed in call 2, allreduce "
                                                "100 x 1 f64: .*missing: rank 1; expected a new one$"):
                        refused()
                is_told.set()
            is_told.wait(10)
        dsop.run_on_threads(2, body)

    def test_exception_of_on_stall_ends_the_wait(self) -> None:
        def refuse(text: str) -> None:
            raise KeyError(text)

        for throws in (False, True):
            has_raised = threading.Event()

            def body(comm: dsop.Communicator, throws: bool = throws, has_raised: threading.Event = has_raised) -> None:
                comm.set_stall_watch(0.1, refuse, throws)
                if comm.rank == 0:
                    with self.assertRaisesRegex(KeyError, "missing: "):
                        dsop.allreduce(np.ones(100), comm)
                    with self.assertRaisesRegex(dsop.TransportError, "has failed in call 1, allreduce 100 x 1 f64: "):
                        dsop.allreduce(np.ones(100), comm)
                    has_raised.set()
                has_raised.wait(10)
            with self.subTest(throws=throws):
                dsop.run_on_threads(2, body)

    def test_on_stall_must_not_call(self) -> None:
        is_told = threading.Event()

        def body(comm: dsop.Communicator) -> None:
            if comm.rank == 0:
                comm.set_stall_watch(0.1, lambda text: dsop.allreduce(np.ones(100), comm))
                with self.assertRaisesRegex(dsop.ArgumentError, "is within call 1, allreduce 100 x 1 f64, which on_stall"):
                    dsop.allreduce(np.ones(100), comm)
                is_told.set()
            is_told.wait(10)
        dsop.run_on_threads(2, body)

    def test_a_stall_watch_outlives_the_object_that_set_it(self) -> None:
        is_told = threading.Event()

        def body(comm: dsop.Communicator) -> None:
            heard: list[str] = []
            comm.counting().set_stall_watch(0.2, heard.append)
            gc.collect()
            if comm.rank == 1:
                is_told.wait(10)
            else:
                threading.Timer(0.6, is_told.set).start()
            dsop.allreduce(np.ones(100), comm)
            self.assertEqual(len(heard), 1 - comm.rank)
        dsop.run_on_threads(2, body)


if __name__ == "__main__":
    runner.main(sys.argv)
