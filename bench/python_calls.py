#!/usr/bin/python3
"""What a call of the Python package costs beside the same call in C++, on the ranks that mpirun started:

    meson devenv -C build mpirun -n 2 --bind-to core /usr/bin/python3 ../bench/python_calls.py bench/libpython-calls.so

f32, n x n. The ways take turns in batches of a millisecond or more, in an order drawn anew each round, so that what else the
machine does hits all alike; a batch's time is that of the slowest rank. Rank 0 prints a row for each way: median and its 95 %
interval, and the same of what it takes longer than C++, batch by batch.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

import dsop
from report_parts.intervals import order_estimate

BATCH_SECONDS = 1e-3
FEWEST_ROUNDS = 20
Way = Callable[[int], float]  # makes so many calls, and returns their seconds


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path, help="libpython-calls.so: the loops in C++")
    parser.add_argument("--sizes", type=numbers, default=[100, 2000],
                        help="n of n x n, several with commas between them (default: 100,2000)")
    parser.add_argument("--pairs", type=numbers, default=[1, 32],
                        help="pairs of each rank, several with commas between them (default: 1,32)")
    parser.add_argument("--seconds", type=float, default=5,
                        help="how long each size with each number of pairs is measured (default: 5)")
    parser.add_argument("--json", action="store_true", help="one JSON object a row instead of a table")
    return parser.parse_args()


def loops_in_cxx(path: Path) -> ctypes.CDLL:
    loops = ctypes.CDLL(str(path.resolve()))
    loops.python_calls_layer.argtypes = [*[ctypes.c_size_t] * 2, *[np.ctypeslib.ndpointer(np.float32, 2, flags="C")] * 3]
    loops.python_calls_layer.restype = ctypes.c_void_p
    for name in ("python_calls_by_function", "python_calls_by_object"):
        getattr(loops, name).argtypes = [ctypes.c_void_p, ctypes.c_int]
        getattr(loops, name).restype = ctypes.c_double
    loops.python_calls_slowest_rank.argtypes = [ctypes.c_double]
    loops.python_calls_slowest_rank.restype = ctypes.c_double
    return loops


def repeated(call: Callable[[], object]) -> Way:
    def way(runs: int) -> float:
        start = time.perf_counter()
        for _ in range(runs):
            call()
        return time.perf_counter() - start
    return way


def ways(n: int, pairs: int, loops: ctypes.CDLL) -> dict[str, tuple[Way, str]]:
    """By name, each with that of the way in C++ that it is compared with."""
    a, b, gradient = np.ones((pairs, n), np.float32), np.ones((pairs, n), np.float32), np.zeros((n, n), np.float32)
    layer = dsop.OuterProduct(n, n, pairs)
    in_cxx = loops.python_calls_layer(n, pairs, a, b, gradient)  # of the same memory
    return {
        "C++ dsop()": (lambda runs: float(loops.python_calls_by_function(in_cxx, runs)), ""),
        "dsop.outer_product": (repeated(lambda: dsop.outer_product(a, b, gradient)), "C++ dsop()"),
        "C++ OuterProduct::run": (lambda runs: float(loops.python_calls_by_object(in_cxx, runs)), ""),
        "dsop.OuterProduct.run": (repeated(lambda: layer.run(a, b, gradient)), "C++ OuterProduct::run"),
    }


def measured(all_ways: dict[str, tuple[Way, str]], loops: ctypes.CDLL, seconds: float) -> dict[str, npt.NDArray[np.float64]]:
    """Seconds of one call of each way, a batch each."""
    def time_batch(name: str, runs: int) -> float:
        way, _ = all_ways[name]
        way(1)  # not timed, so that memory is where this way leaves it
        loops.python_calls_meet()
        return float(loops.python_calls_slowest_rank(way(runs)))

    runs = dict.fromkeys(all_ways, 1)
    round_seconds = 0.0
    for name in all_ways:
        while (batch := time_batch(name, runs[name])) < BATCH_SECONDS:
            runs[name] *= 2
        round_seconds += batch
    samples: dict[str, list[float]] = {name: [] for name in all_ways}
    order = list(all_ways)
    drawn = random.Random(1)  # the same on all ranks
    for _ in range(max(FEWEST_ROUNDS, int(seconds / round_seconds))):
        drawn.shuffle(order)
        for name in order:
            samples[name].append(time_batch(name, runs[name]) / runs[name])
    return {name: np.array(of_way) for name, of_way in samples.items()}


def main() -> None:
    given = arguments()
    everybody = dsop.communicator()
    loops = loops_in_cxx(given.library)
    speaks = everybody.rank == 0
    if speaks and not given.json:
        print(f"# {'n x n':12} {'pairs':>5} {'call':22} {'ranks':>5} {'us':>10} {'95 % interval':>22} {'us beside C++':>14} "
              f"{'95 % interval':>20} {'% beside C++':>13}")
    for n, pairs in itertools.product(given.sizes, given.pairs):
        all_ways = ways(n, pairs, loops)
        seconds = measured(all_ways, loops, given.seconds)
        for name, (_, base) in all_ways.items():
            whole = order_estimate(seconds[name])
            row = {"n": n, "pairs": pairs, "call": name, "ranks": everybody.size, "seconds": whole.median,
                   "seconds_interval": [whole.low, whole.high], "batches": len(seconds[name])}
            line = (f"  {f'{n} x {n}':12} {pairs:5} {name:22} {everybody.size:5} {whole.median * 1e6:10.2f} "
                    f"{whole.low * 1e6:10.2f} to {whole.high * 1e6:8.2f}")
            if base:
                more = order_estimate(seconds[name] - seconds[base])
                percent = 100 * (float(np.median(seconds[name] / seconds[base])) - 1)
                row |= {"base": base, "more_seconds": more.median, "more_seconds_interval": [more.low, more.high],
                        "more_percent": percent}
                line += f" {more.median * 1e6:14.2f} {more.low * 1e6:8.2f} to {more.high * 1e6:8.2f} {percent:13.2f}"
            if speaks:
                print(json.dumps(row) if given.json else line, flush=True)


if __name__ == "__main__":
    main()
