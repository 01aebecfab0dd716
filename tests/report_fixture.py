"""Benchmark rows with numbers that can be worked out by hand, for the tests of bench/report.py, whose parts can be
imported after this."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))

# Seconds of six jobs: a job's observation is the middle of its three iterations, each the slower of its ranks.
BASE_OBSERVATIONS = [0.020, 0.025, 0.030, 0.035, 0.040, 0.080]
SPEEDUPS = {"allgather": 10.0, "auto": 9.5, "generalized-rabenseifner": 2.0, "allreduce-ring": 1.25}


def host(rate: str = "100mbit") -> dict[str, Any]:
    return {"hostname": "bench01", "cpu": "A processor", "cores": 2, "mpi": "Open MPI 4.1.4", "blas": "OpenBLAS 0.3.21",
            "threads": 1, "commit": "abc1234", "date": "2025-03-01T12:00:00", "cluster": f"name=default hosts=8 rate={rate}"}


def row(algorithm: str = "allgather", observation: float = 0.01, **changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "family": "outer-product", "algorithm": algorithm, "rows": 100, "columns": 100, "pairs": 2, "ranks": 4,
        "dtype": "f32", "transport": "mpi", "bytes_sent": 4800, "messages_sent": 6, "flops": 160000, "wrong": 0,
        "predicted_seconds": 0.01, "auto_choice": "allgather", "repetition": 0, "host": host()}
    fields |= changes
    faster_ranks = [observation / 2] * (fields["ranks"] - 1)
    fields.setdefault("seconds", [[observation * factor] + faster_ranks for factor in (1.5, 1.0, 0.75)])
    return fields


def fixture() -> list[dict[str, Any]]:
    """Two rates, two rank counts, at one rate two pair counts, two sizes, four algorithms, six jobs."""
    rows = []
    for rate in ("100mbit", "1gbit"):
        for ranks in (2, 4):
            for pairs in (2, 16) if rate == "100mbit" else (2,):
                for size in (100, 400):
                    problem = {"ranks": ranks, "pairs": pairs, "rows": size, "columns": size, "host": host(rate)}
                    for job, base in enumerate(BASE_OBSERVATIONS):
                        here = problem | {"repetition": job}
                        rows.append(row("allreduce-mpi", base, bytes_sent=None, messages_sent=None, **here))
                        # The speedups of the six jobs are 0.8, 1.0, 1.2, 1.4, 1.6 and 3.2 times the nominal one.
                        rows += [row(name, 0.025 / speedup, **here) for name, speedup in SPEEDUPS.items()]
    return rows
