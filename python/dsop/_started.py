"""Ranks that torchrun, deepspeed, Slurm or a script has started without MPI: they meet in one of torch's stores."""

from __future__ import annotations

import importlib
import os
import re
import sys
import weakref
import zlib
from typing import Any

from dsop._communicators import Communicator
from dsop._library import ArgumentError, TransportError
from dsop._stores import connect

_LIMIT_SECONDS = 300.0  # ranks may load data before they come here
_TORCHS_PORT = 29500
_of_group: weakref.WeakKeyDictionary[Any, Communicator] = weakref.WeakKeyDictionary()  # torch's process groups
_stores: list[Any] = []  # rank 0 has the server, which others may have come to as init_process_group() does


def _slurm_step() -> str | None:
    job, step = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_STEP_ID")
    return f"{job}.{step}" if job and step else None


def _port(default: int) -> int:
    text = os.environ.get("MASTER_PORT", str(default))
    if not text.isdecimal():
        raise ArgumentError(f"MASTER_PORT is {text!r}, expected a number")
    return int(text)


def _address() -> tuple[str, int] | None:
    """Where rank 0's server is: as MASTER_ADDR says, or on the first host of Slurm's step, at a port of the step's."""
    step, hosts = _slurm_step(), os.environ.get("SLURM_STEP_NODELIST")
    if "MASTER_ADDR" in os.environ:
        return os.environ["MASTER_ADDR"], _port(_TORCHS_PORT)
    if step is None or hosts is None:
        return None
    first = re.sub(r"\[(\w+)[^]]*]", r"\1", hosts).split(",")[0]  # of "h[3-5,9],k1"
    return first, _port(10000 + zlib.crc32(step.encode()) % 20000)


def _server(distributed: Any, host: str, port: int, is_master: bool) -> Any:
    # One server may serve init_process_group() too, which comes to the same port.
    try:
        return distributed.TCPStore(host, port, is_master=is_master, multi_tenant=True)
    except RuntimeError as error:
        if "libuv" not in str(error):
            raise
        return distributed.TCPStore(host, port, is_master=is_master, multi_tenant=True, use_libuv=False)


def _store(rank: int) -> Any:
    try:
        distributed: Any = importlib.import_module("torch.distributed")
    except ImportError:
        return None
    if not distributed.is_available():
        return None
    if distributed.is_initialized():
        return distributed.distributed_c10d._get_default_store()
    address = _address()
    if address is None:
        return None
    agents = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    try:
        return _server(distributed, *address, is_master=not agents and rank == 0)
    except RuntimeError as error:
        raise TransportError("rank 0's store, on host {}, port {}: {}".format(*address, error)) from error


def connect_started(rank: int, ranks: int) -> Communicator | None:
    """All ranks, over TCP; None where there is no store. The launcher's name of the run keeps runs apart."""
    store = _store(rank)
    if store is None:
        return None
    _stores.append(store)
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if not restart.isdecimal():
        raise ArgumentError(f"TORCHELASTIC_RESTART_COUNT is {restart!r}, expected a number")
    run = os.environ.get("TORCHELASTIC_RUN_ID") or _slurm_step() or "run"
    return connect(store, rank, ranks, run="dsop/" + run,
                   restart=int(restart), limit_seconds=_LIMIT_SECONDS)


def connect_group(comm: Any) -> Communicator | None:
    """The ranks of a ProcessGroup, or of a DeviceMesh of one dimension, over TCP; None where `comm` is neither.

    All of them call it. Raises ArgumentError where the mesh has more dimensions or the group has no store.
    """
    meshes = sys.modules.get("torch.distributed.device_mesh")
    if isinstance(comm, getattr(meshes, "DeviceMesh", ())):
        if comm.ndim != 1:
            raise ArgumentError(f"comm is a DeviceMesh of {comm.ndim} dimensions, expected one, as mesh[NAME] has")
        comm = comm.get_group()
    distributed: Any = sys.modules.get("torch.distributed")
    if not isinstance(comm, getattr(distributed, "ProcessGroup", ())):
        return None
    if comm not in _of_group:
        c10d = distributed.distributed_c10d
        _, store = c10d._pg_map.get(comm, (None, None))
        if store is None:
            raise ArgumentError("comm is a ProcessGroup without a store, as one that is destroyed, or MPI's, expected one that "
                                "has it, as Gloo's, or an mpi4py communicator")
        run, size = f"dsop/{c10d._pg_names[comm]}", distributed.get_world_size(comm)
        # A store may outlive its groups, and those of later ones have their names.
        earlier = (store.add(f"{run}/calls", 1) - 1) // size
        _of_group[comm] = connect(store, distributed.get_rank(comm), size, run=run, restart=earlier,
                                  limit_seconds=_LIMIT_SECONDS)
    return _of_group[comm]
