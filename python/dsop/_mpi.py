"""Whose calls they are: everybody's, or those of a communicator of mpi4py; and starting MPI."""

from __future__ import annotations

import atexit
import sys
from typing import Any

from dsop._communicators import Communicator, of_programs, watch_main_thread
from dsop._info import built_and_runs
from dsop._job_end import at_exit, end_job_at_exception
from dsop._library import ArgumentError, check, library, new_handle, whole_number
from dsop._started import connect_group, connect_started

_world: Communicator | None = None
_QUEUE_OF_WORLD = "MPI_COMM_WORLD"
_of_mpi4py_is_checked = False


def _others_run_over_mpi4py() -> bool:
    mpi4py = sys.modules.get("mpi4py.MPI")
    return bool(mpi4py is not None and mpi4py.Is_initialized() and not mpi4py.Is_finalized()
                and mpi4py.COMM_WORLD.Get_size() > 1)


# Before the first call of dsop's, too: mpi4py would wait in MPI_Finalize for ranks that wait for this one.
if built_and_runs()["mpi_launcher"]:
    end_job_at_exception(_others_run_over_mpi4py)


def _check_mpi4py() -> None:
    """The MPI that mpi4py and dsop use is one: a communicator of another is a number without a meaning."""
    global _of_mpi4py_is_checked
    ours = built_and_runs()["mpi"]
    theirs = sys.modules["mpi4py.MPI"].Get_library_version()
    if ours is None or not theirs.startswith(ours):
        raise ArgumentError(f"mpi4py is built for {theirs.splitlines()[0]}, expected dsop's {ours}")
    _of_mpi4py_is_checked = True


def _start() -> Communicator:
    check(library.dsop_init())
    atexit.unregister(library.dsop_finalize)
    at_exit(library.dsop_finalize)
    return of_programs(new_handle(library.dsop_communicator_world), _QUEUE_OF_WORLD)


def init() -> None:
    """Start MPI, where a launcher has started this program and nobody has started MPI.

    All ranks call it. Done by the first call with ``comm=None``. What this starts ends with the program. Without a
    launcher MPI is never touched. Where there are several ranks, an exception that ends this rank's program from then on
    ends the others' too, at once; under mpi4py it does so once dsop is imported.

    Raises
    ------
    ArgumentError
        MPI has been finalized.

    Examples
    --------
    >>> dsop.init()
    """
    _start()


def _all_ranks() -> Communicator:
    found = built_and_runs()
    started = None if found["mpi_initialized"] else found["started_without_mpi"]
    return (connect_started(started["rank"], started["ranks"]) if started else None) or _start()


def communicator(comm: Any = None) -> Communicator:
    """What dsop makes of `comm`.

    Parameters
    ----------
    comm : None, mpi4py.MPI.Comm, torch.distributed.ProcessGroup, DeviceMesh or Communicator
        None is everybody: all ranks that mpirun, srun, torchrun or the like has started, or this process alone. An object with
        `py2f()` and `Barrier()` is an MPI communicator, which dsop duplicates on first use. The ranks of a
        ProcessGroup, or of a DeviceMesh of one dimension, connect over TCP, through the group's store, by the first call.

    Raises
    ------
    ArgumentError
        It is none of these, or a null or inter-communicator, or of another MPI library than dsop's.

    Examples
    --------
    >>> dsop.communicator().size
    1
    """
    global _world
    watch_main_thread()  # perhaps another thread came first
    if comm is None:
        if _world is None:
            _world = _all_ranks()
        return _world
    if isinstance(comm, Communicator):
        return comm
    of_torch = connect_group(comm)
    if of_torch is not None:
        return of_torch
    if not hasattr(comm, "py2f") or not hasattr(comm, "Barrier"):  # groups, requests and files have a py2f() too
        raise ArgumentError(f"comm is {type(comm).__name__}, expected None, a Communicator, or an mpi4py "
                            "communicator or a process group of torch's")
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None:
        if mpi4py.Is_finalized():  # then py2f() ends the program
            raise ArgumentError("MPI is finalized, expected a call before")
        if not _of_mpi4py_is_checked:
            _check_mpi4py()
    of_mpi = whole_number(comm.py2f(), "comm.py2f()")
    is_world = mpi4py is not None and of_mpi == mpi4py.COMM_WORLD.py2f()
    return of_programs(new_handle(library.dsop_communicator_from_mpi, of_mpi),
                       _QUEUE_OF_WORLD if is_world else ("MPI", of_mpi))
