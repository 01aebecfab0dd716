"""Who takes part: mpi4py's communicators, everybody, or threads."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, byref, c_int, c_size_t, c_uint64, c_void_p
from types import TracebackType
from typing import Any, TypeVar

from dsop import _table
from dsop._library import (ArgumentError, Error, Owned, TransportError, check, library, new_handle, text_of,
                           watch_signals)

Result = TypeVar("Result")


class Communicator(Owned):
    """Ranks that make calls together; what every function's `comm` may be.

    Made by `communicator()`; `run_on_threads()` hands one to each rank.

    Attributes
    ----------
    rank : int
        This rank, 0 .. size - 1.
    size : int
        How many ranks there are.

    Examples
    --------
    >>> all_ranks = dsop.communicator()
    >>> all_ranks.rank, all_ranks.size
    (0, 1)
    """

    _free = "dsop_communicator_free"

    def __init__(self, handle: int, owned: bool = True) -> None:
        rank, size = c_int(), c_int()
        check(library.dsop_communicator_rank(handle, byref(rank), byref(size)))
        self.handle, self.rank, self.size = handle, rank.value, size.value
        self._handle = handle if owned else 0
        self._on_stall: Any = None

    def fail(self, error: str) -> None:
        """Raise `ArgumentError` on all ranks, in place of the call that they make."""
        check(library.dsop_communicator_fail(self.handle, error.encode()))

    def counting(self) -> Communicator:
        """Another that counts what passes through this one; see `traffic()`."""
        counting = Communicator(new_handle(library.dsop_communicator_count_traffic, self.handle))
        return counting

    def traffic(self) -> dict[str, int]:
        """What this rank has sent through a communicator that counts: messages and bytes of payload and agreement.

        Examples
        --------
        >>> counting = dsop.communicator().counting()
        >>> dsop.allreduce(np.ones(3), counting)
        >>> counting.traffic()["payload_bytes"]  # there is one rank
        0
        """
        names = ("payload_messages", "payload_bytes", "agreement_messages", "agreement_bytes")
        numbers = [c_size_t() for _ in names]
        check(library.dsop_communicator_traffic(self.handle, *map(byref, numbers)))
        return {name: number.value for name, number in zip(names, numbers)}

    def set_stall_watch(self, limit_seconds: float, on_stall: Callable[[str], None] | None = None,
                        throws: bool = False) -> None:
        """Say what is done about waits of more than so many seconds (0: nothing).

        Parameters
        ----------
        limit_seconds : float
            Each wait for a message has so long.
        on_stall : callable, optional
            Called with one sentence that names who is missing, by the thread that waits.
        throws : bool
            Whether the wait then ends with `TransportError`.
        """
        def tell(text: bytes, _: object) -> None:
            if on_stall is not None:
                on_stall(text.decode())
        kind = CFUNCTYPE(None, ctypes.c_char_p, c_void_p)
        callback = kind(tell) if on_stall is not None else ctypes.cast(0, kind)
        check(library.dsop_set_stall_watch(self.handle, limit_seconds, callback, None, int(throws)))
        self._on_stall = callback


_world: Communicator | None = None
_of_mpi4py_is_checked = False


def _check_mpi4py() -> None:
    """The MPI that mpi4py and dsop use is one: a communicator of another is a number without a meaning."""
    global _of_mpi4py_is_checked
    ours = _built_and_runs()["mpi"]
    theirs = sys.modules["mpi4py.MPI"].Get_library_version()
    if ours is None or not theirs.startswith(ours):
        raise ArgumentError(f"mpi4py is built for {theirs.splitlines()[0]}, expected dsop's {ours}")
    _of_mpi4py_is_checked = True


def _end_job_at_exception() -> None:
    before = sys.excepthook
    if getattr(before, "ends_job", False):
        return

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        before(kind, error, traceback)
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(0.2)  # launchers lose what was written last
        library.dsop_abort(130 if issubclass(kind, KeyboardInterrupt) else 1)
    hook.ends_job = True  # type: ignore[attr-defined]
    sys.excepthook = hook


def _prepare_mpi(ranks: int) -> None:
    if ranks > 1:
        _end_job_at_exception()


def watch_main_thread() -> None:
    if threading.current_thread() is threading.main_thread():
        watch_signals()


def init() -> None:
    """Start MPI, where a launcher has started this program and nobody has started MPI.

    Done by the first call with ``comm=None``. What this starts ends with the program. Without a launcher MPI is never
    touched. Where there are several ranks, an exception that ends this rank's program from then on ends the others'
    too, at once.

    Raises
    ------
    ArgumentError
        MPI has been finalized.

    Examples
    --------
    >>> dsop.init()
    """
    check(library.dsop_init())
    atexit.unregister(library.dsop_finalize)
    atexit.register(library.dsop_finalize)


def _all_ranks() -> Communicator:
    from dsop._torchrun import connect_workers, under_torchrun  # noqa: PLC0415 - it uses this module
    init()
    made = Communicator(new_handle(library.dsop_communicator_world))
    if made.size == 1 and under_torchrun():
        return connect_workers()
    _prepare_mpi(made.size)
    return made


def communicator(comm: Any = None) -> Communicator:
    """What dsop makes of `comm`.

    Parameters
    ----------
    comm : None, mpi4py.MPI.Comm or Communicator
        None is everybody: all ranks that mpirun, srun or torchrun has started, or this process alone. An object with `py2f()` is
        an MPI communicator, which dsop duplicates on first use.

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
    if comm is None:
        if _world is None:
            watch_main_thread()
            _world = _all_ranks()
        return _world
    if isinstance(comm, Communicator):
        return comm
    if not hasattr(comm, "py2f"):
        raise ArgumentError(f"comm is {type(comm).__name__}, expected None, an mpi4py communicator or a Communicator")
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None:
        if mpi4py.Is_finalized():  # then py2f() ends the program
            raise ArgumentError("MPI is finalized, expected a call before")
        if not _of_mpi4py_is_checked:
            _check_mpi4py()
    watch_main_thread()
    made = Communicator(new_handle(library.dsop_communicator_from_mpi, comm.py2f()))
    _prepare_mpi(made.size)
    return made


def run_on_threads(ranks: int, body: Callable[[Communicator], Result], omp_threads: int = 1) -> list[Result]:
    """Run `body` on threads, each a rank: no launcher needed.

    Python's interpreter lock is free while a rank communicates or multiplies.

    Parameters
    ----------
    ranks : int
        How many, at least 1.
    body : callable
        Called with each rank's `Communicator`, which ends when it returns.
    omp_threads : int
        OpenMP threads of each rank's products.

    Returns
    -------
    list
        What body returned, by rank.

    Raises
    ------
    ArgumentError
        ranks or omp_threads is below 1.
    Exception
        The first that a body raised. Ranks that waited for it have raised `TransportError`.

    Examples
    --------
    >>> def double(comm):
    ...     values = np.full(3, comm.rank + 1.0)
    ...     dsop.allreduce(values, comm=comm)
    ...     return values[0]
    >>> dsop.run_on_threads(2, double)
    [3.0, 3.0]
    """
    results: list[Any] = [None] * max(ranks, 0)
    failures: list[BaseException] = []
    ended = threading.Event()

    def run_rank(handle: int, _: object) -> int:
        try:
            watch_signals(ended.is_set)
            comm = Communicator(handle, owned=False)
            results[comm.rank] = body(comm)
            return 0
        except BaseException as failure:  # raised again below
            failures.append(failure)
            return 1

    status: list[Any] = []

    def run_all() -> None:
        kind = CFUNCTYPE(c_int, c_uint64, c_void_p)
        try:
            check(library.dsop_run_on_threads(ranks, kind(run_rank), None, omp_threads))
        except Error as error:
            status.append(error)

    runner = threading.Thread(target=run_all)  # so that this thread hears signals
    runner.start()
    try:
        runner.join()
    except BaseException:
        ended.set()
        runner.join()
        raise
    for failure in sorted(failures, key=lambda failure: isinstance(failure, TransportError)):
        raise failure
    for error in status:
        raise error
    return results


def _openmp_runtimes() -> list[str]:
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) == 6}
    except OSError:
        return []
    return sorted(path for path in paths if os.path.basename(path).startswith(("libgomp", "libomp", "libiomp5")))


def _built_and_runs() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(library.dsop_info))
    return found


def info() -> dict[str, Any]:
    """What was built and what runs. Warns of what makes programs slow or wrong.

    Returns
    -------
    dict
        version, mpi (the library's, or None), mpi_initialized, blas, blas_core, instruction_set, threads (OpenMP's of a
        product), openmp_runtimes (those that this process has loaded).

    Warns
    -----
    RuntimeWarning
        Two OpenMP runtimes are loaded, each of which takes all cores; or mpi4py is built for another MPI than dsop.

    Examples
    --------
    >>> dsop.info()["version"]
    '0.1.0'
    """
    found = _built_and_runs()
    found["openmp_runtimes"] = _openmp_runtimes()
    if len(found["openmp_runtimes"]) > 1:
        warnings.warn("two OpenMP runtimes are loaded, each of which takes all cores: "
                      + ", ".join(found["openmp_runtimes"]), RuntimeWarning, stacklevel=2)
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None and not mpi4py.Get_library_version().startswith(found["mpi"] or "no MPI"):
        warnings.warn(f"mpi4py is built for {mpi4py.Get_library_version().splitlines()[0]}, dsop for {found['mpi']}: "
                      "its communicators can't be used", RuntimeWarning, stacklevel=2)
    return found


def algorithms(family: str | None = None) -> Sequence[dict[str, str]]:
    """List the algorithms.

    Parameters
    ----------
    family : str, optional
        Of this one alone: "outer-product", "dense", "broadcast", "reduce", "sparse", "topk", "selection", ...

    Returns
    -------
    list of dict
        family, name, summary and source of each.

    Examples
    --------
    >>> [a["name"] for a in dsop.algorithms("reduce")][0]
    'mpi'
    """
    count = c_size_t()
    check(library.dsop_algorithm_count(byref(count)))
    lines = []
    for index in range(count.value):
        texts = [ctypes.c_char_p() for _ in range(4)]
        check(library.dsop_algorithm_describe(index, *map(byref, texts)))
        lines.append({key: (text.value or b"").decode()
                      for key, text in zip(("family", "name", "summary", "source"), texts)})
    return [line for line in lines if family in (None, line["family"])]


VERSION = _table.VERSION


class SaidToAll:
    """What is found wrong within is raised on all ranks, which are in the call that this rank would have made."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, Exception):
            try:
                self._comm.fail(str(error))
            except ArgumentError as agreed:
                raise agreed from None
