"""What the tests of the Python package share: ranks that are threads."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import dsop

RANKS = [1, 2, 3, 4, 5, 7]
FAMILIES = {name: [a["name"] for a in dsop.algorithms(name) if "mpi" not in a["name"]]
            for name in ("outer-product", "dense", "broadcast", "reduce", "sparse", "topk")}
Body = Callable[[dsop.Communicator], Any]


def whole_numbers(rank: int, *shape: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(rank + 1).integers(-4, 5, shape).astype(dtype)


def pairs_of(rank: int) -> int:
    return (3 * rank) % 4


class ThreadsTest(unittest.TestCase):
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
