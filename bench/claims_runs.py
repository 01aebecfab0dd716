"""How the rows of docs/rows/ are measured: which programs, over which MPI, at which rate, in turns."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import provenance
from calls.commands import show
from calls.builds import ROOT, Refused
from calls.launch import emulated_hosts
from claims import AS_IT_COMES, Row

ROUNDS = 5


@dataclass(frozen=True)
class Mpi:
    """An MPI library: the build that links it, how the cluster starts it, and what its environment says."""

    name: str
    build: Path = ROOT / "build"
    run: tuple[str, ...] = ()  # options of `scripts/cluster run`
    environment: dict[str, str] = field(default_factory=dict)


OPEN_MPI = Mpi("Open MPI")
# Above this limit Open MPI asks the receiver before it sends; 64 KiB on TCP as it comes.
OPEN_MPI_EAGER = Mpi("Open MPI, btl_tcp_eager_limit raised", environment={"OMPI_MCA_btl_tcp_eager_limit": "33554432"})
MPICH = Mpi("MPICH 5", ROOT / "build-mpich5", ("--mpi", "mpich"),
            {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0", "PATH": f"{ROOT}/build-mpich5/venv/bin:{os.environ['PATH']}"})


def rows_of(command: list[str], environment: dict[str, str], out: Path) -> list[Row]:
    """What the program writes to --out, with the command as a reader would type it."""
    out.unlink(missing_ok=True)
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, env=os.environ | environment, check=False)
    if done.returncode != 0:
        raise Refused(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    variables = [f"{name}={value}" for name, value in environment.items() if name != "PATH"]
    words = re.sub(r" --name \S+", "", " ".join([*variables, *command]).replace(f"{ROOT}/", ""))
    return [json.loads(line) | {"words": words} for line in out.read_text(encoding="utf-8").splitlines()]


def on_hosts(mpi: Mpi, cluster: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    program, *rest = arguments
    return [str(ROOT / "scripts/cluster"), "--name", cluster, "run", *mpi.run, "--", str(mpi.build / program), *rest], mpi.environment


def slowest_rank(row: Row) -> float:
    return float(statistics.median(max(of_ranks) for of_ranks in row["seconds"]))


def contender(algorithm: str, mpi: Mpi) -> str:
    """The same sum over another MPI is another contender."""
    return AS_IT_COMES.replace("Open MPI", mpi.name) if algorithm in ("allreduce-mpi", "dense:mpi") else algorithm


def summary(case: str, name: str, run: int, seconds: float, row: Row) -> Row:
    host = row["host"]
    return {"case": case, "contender": name, "run": run, "seconds": float(f"{seconds:.6g}"), "commit": host["commit"],
            "cpu": host["cpu"], "date": host["date"], "command": row["words"]}


CALLS = ((OPEN_MPI, "auto,allreduce-ring-pipelined,allreduce-mpi,gloo-ring,gloo-halving-doubling"), (OPEN_MPI_EAGER, "allreduce-mpi"),
         (MPICH, "allreduce-mpi"))


def calls(rate: str, cluster: str, out: Path, run: int) -> Iterator[Row]:
    for mpi, algorithms in CALLS:
        command, environment = on_hosts(mpi, cluster, "bench/dsop-bench", "outer-product", "--rows", "1000", "--pairs", "1,32,128",
                                        "--algorithm", algorithms, "--iterations", "4")
        for row in rows_of(command, environment, out):
            yield summary(f"call-{rate}-{row['pairs']}", contender(row["algorithm"], mpi), run, slowest_rank(row), row)


STEPS = (("dsop", OPEN_MPI), ("dense:ring-pipelined", OPEN_MPI), ("dense:mpi", OPEN_MPI), ("dense:mpi", OPEN_MPI_EAGER), ("dense:mpi", MPICH))


def steps(rate: str, cluster: str, out: Path, run: int) -> Iterator[Row]:
    for policy, mpi in STEPS:
        command, environment = on_hosts(mpi, cluster, "src/learn/dsop-train", "mlp", "--hidden", "4096,4096", "--batch", "16",
                                        "--momentum", "0", "--steps", "4", "--sync", policy)
        head, *rows = rows_of(command, environment, out)
        seconds = statistics.median(row["seconds"] for row in rows[1:] if row["kind"] == "step")  # the first plans
        yield summary(f"step-{rate}", contender(policy, mpi), run, seconds, head)


# Of scripts/torch, with the environment of scripts/torch-tests. What sends gradients alone begins with "dense:" or "DDP".
TORCH_WAYS = {"attach": "attach()", "attach-tcp": "attach() over TCP", "attach-dense": "dense: attach() with policy dense",
              "ddp": "DDP over Gloo"}
TORCH = {"PYTHONPATH": str(ROOT / "python"), "LD_LIBRARY_PATH": str(ROOT / "build/src"), "OMP_WAIT_POLICY": "passive"}


def torch_steps(rate: str, cluster: str, _: Path, run: int) -> Iterator[Row]:
    python = ROOT / "build-torch/bin/python"
    if not python.exists():
        raise Refused(f"there is no {python}, expected the environment that scripts/torch-tests makes")
    for way, name in TORCH_WAYS.items():
        words = ("bench/torch_steps/program.py", "mlp", way, "5")
        command = [str(ROOT / "scripts/cluster"), "--name", cluster, "run", "-n", "8", "--", str(python), str(ROOT / words[0]), *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | TORCH, check=False)
        if done.returncode != 0:
            raise Refused(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
        row = json.loads(done.stdout.splitlines()[-1])
        host = {"commit": provenance.commit(), "cpu": provenance.cpu(), "date": time.strftime("%FT%TZ", time.gmtime())}
        yield summary(f"torch-{rate}", name, run, statistics.median(row["seconds"]),
                      {"host": host, "words": f"scripts/cluster run -n 8 -- build-torch/bin/python {' '.join(words)}"})


def simulated(factors: str, out: Path) -> Iterator[Row]:
    """Deterministic: its runs are the sizes."""
    command = [str(ROOT / "scripts/simulate"), "--platform", "euler3", "--ranks", "48", "--selector", "openmpi-4.0.2",
               "--latency-factors", factors, "--flops", "40e9", "--memory-bandwidth", "12e9", "--", "--rows", "1000:8000:1000",
               "--dtype", "f64", "--algorithm", "auto,allreduce-mpi,allreduce-ring"]
    for row in rows_of(command, {}, out):
        yield summary(f"simulated-48-{factors}", contender(row["algorithm"], OPEN_MPI), row["rows"], slowest_rank(row), row)


def kernel(out: Path, run: int) -> Iterator[Row]:
    command = [str(ROOT / "build/bench/dsop-bench"), "kernel", "--inner", "1,16,64"]
    names = {"product": "dsop's kernel", "openblas": "OpenBLAS's gemm"}
    for row in rows_of(command, {"OMP_NUM_THREADS": "1"}, out):
        if row["contender"] in names:
            yield summary(f"kernel-{row['type']}-{row['inner']}", names[row["contender"]], run, statistics.median(row["seconds"]), row)


def on_a_cluster(scene: Callable[[str, str, Path, int], Iterator[Row]], rate: str, out: Path) -> Iterator[Row]:
    with emulated_hosts("claims", rate) as hosts:
        cluster = hosts.launcher[hosts.launcher.index("--name") + 1]
        for run in range(1, ROUNDS + 1):
            show(f"{scene.__name__}, {rate}: round {run} of {ROUNDS}")
            yield from scene(rate, cluster, out, run)


def kernel_rounds(out: Path) -> Iterator[Row]:
    for run in range(1, ROUNDS + 1):
        show(f"kernel: round {run} of {ROUNDS}")
        yield from kernel(out, run)


# The name of a file under docs/rows/, the minutes that it takes on two cores, and how its rows are made.
SCENES: dict[str, tuple[int, Callable[[Path], Iterator[Row]]]] = {
    "calls-200mbit": (5, lambda out: on_a_cluster(calls, "200mbit", out)),
    "calls-1gbit": (2, lambda out: on_a_cluster(calls, "1gbit", out)),
    "steps-200mbit": (10, lambda out: on_a_cluster(steps, "200mbit", out)),
    "torch-1gbit": (10, lambda out: on_a_cluster(torch_steps, "1gbit", out)),
    "simulated-neutral": (1, lambda out: simulated("neutral", out)),
    "simulated-default": (1, lambda out: simulated("default", out)),
    "kernel": (2, kernel_rounds),
}
