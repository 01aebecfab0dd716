#!/usr/bin/python3
"""Runs the simulated dsop-bench: options into SimGrid's flags, and what was simulated into the output."""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/bench/simulated/dsop-bench.so"
PLATFORMS = {"euler3": "euler3", "ethernet": "ethernet-1gbit", "fat-tree": "fat-tree-100gbit"}

COMMANDS = ("outer-product", "sparse-allreduce", "allreduce", "broadcast", "reduce", "tune")
SELECTORS = {
    "openmpi-4.1": ["smpi/coll-selector:ompi"],
    "openmpi-4.0.2": ["smpi/coll-selector:ompi"],  # its MPI_Allreduce is chosen at each call
}
LATENCY_FACTORS = {
    "default": [],
    "neutral": ["--cfg=smpi/bw-factor:0:0.94", "--cfg=smpi/lat-factor:0:1", "--cfg=network/crosstraffic:0"],
}
FLAGS = [
    "--cfg=smpi/test:0",  # a rank tests between two pieces of work, which take time enough
    "--cfg=smpi/simulate-computation:no",  # only what is charged takes time
    "--cfg=smpi/host-speed:1Gf",
    "--cfg=smpi/privatization:dlopen",
    "--cfg=smpi/finalization-barrier:1",  # else ranks that leave early end the late messages of others
    "--cfg=smpi/shared-malloc-blocksize:67108864",  # else mappings of 1 MiB run into vm.max_map_count
    "--log=root.thres:warning",
    "--log=res_network.thres:error",  # a link within a host is quicker than a coarse resolution
    "--log=smpi_kernel.thres:error",  # a rank that ends with an error has said so itself
    "--log=smpi_pmpi.thres:error",  # communicators that end in MPI_Finalize look for messages, which SMPI then refuses
    "--log=smpi_mpi.thres:error",
]


class BadOption(Exception):
    pass


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"is {text}, expected a number above 0")
    return number


def parse_command_line(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    own, separator, bench = (
        (arguments[: arguments.index("--")], "--", arguments[arguments.index("--") + 1 :])
        if "--" in arguments
        else (arguments, "", [])
    )
    parser = argparse.ArgumentParser(
        prog="scripts/simulate",
        usage="%(prog)s --platform PLATFORM --ranks P [OPTIONS] -- [COMMAND] ARGUMENTS OF dsop-bench COMMAND",
        description="Runs dsop-bench outer-product, or another command, on a simulated cluster. "
        "docs/programs/simulate.md says what is modelled and what is not.",
        allow_abbrev=False,
    )
    parser.add_argument("--platform", required=True, metavar="euler3|ethernet|fat-tree|FILE",
                        help="a platform of bench/platforms, or a SimGrid file X.xml with a machine description X.json")
    parser.add_argument("--ranks", required=True, type=int, metavar="P")
    parser.add_argument("--ranks-per-host", default=1, type=int, metavar="Q",
                        help="each on a core of its own; they send to each other at the platform's loopback rate (default: 1)")
    parser.add_argument("--flops", type=positive, metavar="RATE",
                        help="of a local product in f32, a second; f64 runs at half of it (default: the platform's)")
    parser.add_argument("--memory-bandwidth", type=positive, metavar="RATE",
                        help="bytes a second that local arithmetic reads and writes (default: the platform's)")
    parser.add_argument("--selector", default="openmpi-4.1", metavar="openmpi-4.1|openmpi-4.0.2|FLAGS",
                        help="whose rules choose the algorithm of MPI_Allreduce; FLAGS: SimGrid's own, as in "
                        "smpi/allreduce:lr (default: %(default)s)")
    parser.add_argument("--latency-factors", default="neutral", choices=sorted(LATENCY_FACTORS),
                        help="neutral: latency and 0.94 of the bandwidth, whatever the size; default: SimGrid's, fitted "
                        "to a cluster with 1 Gbit/s Ethernet (default: %(default)s)")
    parser.add_argument("--placement", default="in-order", metavar="in-order|random:SEED",
                        help="which hosts the ranks are on, ranks with neighbouring numbers on one (default: %(default)s)")
    parser.add_argument("--resolution", type=positive, metavar="SECONDS",
                        help="what happens nearer together happens at once: quicker where a thousand messages share links, and "
                        "less exact (default: SimGrid's)")
    parser.add_argument("--real", action="store_true",
                        help="move and compute real data, as --verify needs; for small problems")
    options = parser.parse_args(own)
    if not separator:
        parser.error("no -- before the arguments of dsop-bench")
    return options, bench


def platform_file(name: str) -> Path:
    path = ROOT / "bench/platforms" / f"{PLATFORMS[name]}.xml" if name in PLATFORMS else Path(name)
    if not path.is_file():
        raise BadOption(f"--platform is {name}, expected {', '.join(PLATFORMS)} or an existing file")
    return path


def parsed(platform: Path) -> ElementTree.ElementTree:
    try:
        return ElementTree.parse(platform)
    except ElementTree.ParseError as error:
        raise BadOption(f"--platform {platform}: {error}, expected XML as SimGrid reads it") from None


def hosts_of(platform: Path) -> list[str]:
    hosts: list[str] = []
    for element in parsed(platform).iter():
        if element.tag == "host":
            hosts.append(element.attrib["id"])
        if element.tag == "cluster":
            for part in element.attrib["radical"].split(","):
                first, _, last = part.partition("-")
                for number in range(int(first), int(last or first) + 1):
                    hosts.append(f"{element.attrib['prefix']}{number}{element.attrib['suffix']}")
    return hosts


def placed(hosts: list[str], options: argparse.Namespace) -> list[str]:
    """The host of each rank."""
    ranks, ranks_per_host = options.ranks, options.ranks_per_host
    if ranks_per_host < 1:
        raise BadOption(f"--ranks-per-host is {ranks_per_host}, expected 1 or more")
    if not 1 <= ranks <= len(hosts) * ranks_per_host:
        raise BadOption(f"--ranks is {ranks}, expected 1 to {len(hosts) * ranks_per_host}, {ranks_per_host} on each of the "
                        f"platform's {len(hosts)} hosts")
    seed = re.fullmatch(r"random:(\d+)", options.placement)
    if seed is None and options.placement != "in-order":
        raise BadOption(f"--placement is {options.placement}, expected in-order or random:SEED, a whole number")
    if seed is not None:
        hosts = random.Random(int(seed[1])).sample(hosts, math.ceil(ranks / ranks_per_host))
    return [hosts[rank // ranks_per_host] for rank in range(ranks)]


def cluster_attribute(platform: Path, name: str) -> str | None:
    """As the platform writes it; None where hosts stand one by one, or where it is not said."""
    clusters = [element.attrib.get(name) for element in ElementTree.parse(platform).iter("cluster")]
    return clusters[0] if clusters else None


def with_cores(platform: Path, cores: int, folder: Path) -> Path:
    """The same platform with so many cores a host."""
    tree = ElementTree.parse(platform)
    for element in tree.iter():
        if element.tag in ("host", "cluster"):
            element.set("core", str(cores))
    file = folder / platform.name
    text = ElementTree.tostring(tree.getroot(), encoding="unicode")
    file.write_text(f"<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n{text}\n")
    return file


def selector_flags(selector: str) -> list[str]:
    flags = SELECTORS.get(selector, selector.split())
    if not flags or not all(flag.startswith("smpi/") for flag in flags):
        raise BadOption(f"--selector is {selector}, expected {', '.join(SELECTORS)} or SimGrid flags (smpi/...)")
    return [f"--cfg={flag}" for flag in flags]


def machine_of(platform: Path, options: argparse.Namespace) -> dict[str, object]:
    description = platform.with_suffix(".json")
    if not description.is_file():
        raise BadOption(f"--platform {platform}: no {description} beside it, the machine that auto plans for")
    try:
        machine = json.loads(description.read_text())
    except (ValueError, RecursionError) as error:
        raise BadOption(f"--platform {platform}: {description}: {error}, expected JSON") from None
    if not isinstance(machine, dict):
        raise BadOption(f"--platform {platform}: {description} holds no object, expected a machine")
    if options.flops is not None:
        machine["flops_per_second"] = options.flops
    if options.memory_bandwidth is not None:
        machine["memory_bytes_per_second"] = options.memory_bandwidth
    for key, option in (("flops_per_second", "--flops"), ("memory_bytes_per_second", "--memory-bandwidth")):
        if not isinstance(machine.get(key), (int, float)):
            raise BadOption(f"--platform {platform}: {description} has no number {key}, expected one there or {option}")
    return machine


def given(bench: list[str], name: str) -> bool:
    return any(argument == name or argument.startswith(name + "=") for argument in bench)


def simgrid_version() -> str:
    answer = subprocess.run(["smpirun", "--version"], capture_output=True, text=True, check=True)
    return answer.stdout.split()[-1]


@dataclass(frozen=True)
class Request:
    """What a command line asks for."""

    options: argparse.Namespace
    command: str
    bench: list[str]  # the options after it
    platform: Path
    hosts: list[str]  # of each rank
    flags: list[str]
    machine: dict[str, object]


def checked(arguments: list[str]) -> Request:
    """Answers --help, and finds what is wrong about the arguments, without what has to be built."""
    options, bench = parse_command_line(arguments)
    command = bench.pop(0) if bench and not bench[0].startswith("-") else "outer-product"
    if command not in COMMANDS:
        raise BadOption(f"the command is {command}, expected {', '.join(COMMANDS)}: the others have no messages")
    if given(bench, "--verify") and not options.real:
        raise BadOption("--verify needs --real: without, the ranks share one memory and results are garbage")
    if given(bench, "--ranks"):
        raise BadOption("--ranks stands before the --, expected there only")
    platform = platform_file(options.platform)
    hosts = placed(hosts_of(platform), options)
    flags = FLAGS + selector_flags(options.selector) + LATENCY_FACTORS[options.latency_factors]
    if options.resolution is not None:
        flags.append(f"--cfg=surf/precision:{options.resolution}")
    return Request(options, command, bench, platform, hosts, flags, machine_of(platform, options))


def main() -> int:
    request = checked(sys.argv[1:])
    options, bench, platform, machine = request.options, request.bench, request.platform, request.machine
    facts = {
        "platform": options.platform,
        "link_rate": cluster_attribute(platform, "bw"),
        "ranks_per_host": options.ranks_per_host,
        "loopback_rate": cluster_attribute(platform, "loopback_bw"),
        "selector": options.selector,
        "latency_factors": options.latency_factors,
        "placement": options.placement,
        "resolution_seconds": options.resolution,
        "flops_per_second": machine["flops_per_second"],
        "memory_bytes_per_second": machine["memory_bytes_per_second"],
        "folded": not options.real,
        "simgrid": simgrid_version(),
    }
    with tempfile.TemporaryDirectory() as folder:
        host_file = Path(folder, "hosts")
        host_file.write_text("".join(f"{host}\n" for host in request.hosts))
        machine_file = Path(folder, "machine.json")
        machine_file.write_text(json.dumps(machine))
        if not given(bench, "--machine"):
            bench += ["--machine", str(machine_file)]
        if not given(bench, "--iterations"):
            bench += ["--iterations", "1"]  # simulated time has no noise
        hosts_with_cores = with_cores(platform, options.ranks_per_host, Path(folder))
        run = ["smpirun", "-quiet", "-np", str(options.ranks), "-platform", str(hosts_with_cores), "-hostfile",
                   str(host_file), *request.flags, str(PROGRAM), request.command, *bench]
        # One thread a rank: ranks are turns of one process, and their arithmetic is charged.
        return subprocess.run(run, env=os.environ | {"DSOP_SIMULATION": json.dumps(facts), "OMP_NUM_THREADS": "1"}).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadOption as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
