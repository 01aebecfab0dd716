"""Ranks that make calls together, and ranks that are threads."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator
from ctypes import CFUNCTYPE, byref, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from dsop._job_end import end_job_at_exception
from dsop._library import (ArgumentError, Owned, TransportError, check, decoded, error_text, library, new_handle,
                           raise_later, real_number, watch_signals, whole_number)

Result = TypeVar("Result")
_callbacks: list[Any] = []  # the library calls them for as long as the ranks live, which other objects may be of too


class Arrivals(NamedTuple):
    """How late ranks come to calls; see `Communicator.arrivals()`.

    Attributes
    ----------
    calls : int
        How many are counted: all but the last.
    last_seconds, mean_seconds : list of float
        By rank: how long after the first it came to the last of them, and on average.
    came_last : list of int
        By rank: to how many it came after all others.

    Examples
    --------
    >>> dsop.communicator().arrivals().mean_seconds  # there is one rank
    [0.0]
    """

    calls: int
    last_seconds: list[float]
    mean_seconds: list[float]
    came_last: list[int]


def _always() -> bool:
    return True


def _tell(on_stall: Callable[[str], None]) -> Generator[int, bytes | None, None]:
    while True:  # a generator, so that signals are heard within `try`: see _watch()
        try:
            text = yield 0
            if text is not None:
                on_stall(decoded(text))
        except GeneratorExit:
            return
        except BaseException as error:
            raise_later(error)


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

    def __init__(self, handle: int, owned: bool = True, queue: object = None) -> None:
        rank, size = c_int(), c_int()
        check(library.dsop_communicator_rank(handle, byref(rank), byref(size)))
        self.handle, self.rank, self.size = handle, rank.value, size.value
        self._handle = handle if owned else 0
        self.queue = queue or handle  # equal for all whose calls must be in one order

    def fail(self, error: str | BaseException) -> None:
        """Raise `ArgumentError` on all ranks, in place of the call that they make.

        Parameters
        ----------
        error : str or exception
            What the error says.

        Raises
        ------
        ArgumentError
            On all ranks, with this rank and text.

        Examples
        --------
        >>> try:
        ...     dsop.communicator().fail("no data")
        ... except dsop.ArgumentError as error:
        ...     print(error)
        rank 0: no data
        """
        check(library.dsop_communicator_fail(self.handle, error_text(error)))

    def counting(self) -> Communicator:
        """Another that counts what passes through this one; see `traffic()`.

        Examples
        --------
        >>> dsop.communicator().counting().size
        1
        """
        return Communicator(new_handle(library.dsop_communicator_count_traffic, self.handle), queue=self.queue)

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

    def arrivals(self) -> Arrivals:
        """How late each rank came to the calls so far, to see whom the others wait for. Sends nothing.

        Returns
        -------
        Arrivals

        Examples
        --------
        >>> dsop.communicator().arrivals().came_last  # there is one rank
        [0]
        """
        calls, last, mean, came = c_uint64(), c_double(), c_double(), c_uint64()
        found = Arrivals(0, [], [], [])
        for rank in range(self.size):
            check(library.dsop_arrivals(self.handle, rank, byref(calls), byref(last), byref(mean), byref(came)))
            found.last_seconds.append(last.value)
            found.mean_seconds.append(mean.value)
            found.came_last.append(came.value)
        return found._replace(calls=calls.value)

    def last_plan(self) -> str:
        """The plan of the last `outer_product` on this communicator, and what such calls took. Sends nothing.

        Raises
        ------
        ArgumentError
            There was none.

        Examples
        --------
        >>> a, b = np.ones((1, 3)), np.ones((1, 2))
        >>> _ = dsop.outer_product(a, b)
        >>> "3 x 2" in dsop.communicator().last_plan()
        True
        """
        text = c_char_p()
        check(library.dsop_last_plan(self.handle, byref(text)))
        return decoded(text.value)

    def set_stall_watch(self, limit_seconds: float, on_stall: Callable[[str], None] | None = None,
                        throws: bool = False) -> None:
        """Say what is done about waits of more than so many seconds (0: nothing).

        Parameters
        ----------
        limit_seconds : float
            Each wait for a message has so long.
        on_stall : callable, optional
            Called with one sentence that names who is missing, by the thread that waits. What it raises ends the wait;
            that of a call which was started goes on, and it is printed.
        throws : bool
            Whether the wait then ends with `TransportError`.

        Raises
        ------
        ArgumentError
            An argument makes no sense.

        Examples
        --------
        >>> dsop.communicator().set_stall_watch(60, on_stall=print)
        >>> dsop.communicator().set_stall_watch(0)
        """
        limit = real_number(limit_seconds, "limit_seconds")
        if on_stall is not None and not callable(on_stall):
            raise ArgumentError(f"on_stall is {type(on_stall).__name__}, expected something to call, or None")
        kind = CFUNCTYPE(None, ctypes.c_char_p, c_void_p)
        callback = ctypes.cast(0, kind)
        if on_stall is not None:
            tell = _tell(on_stall)
            next(tell)
            callback = kind(partial(max, key=tell.send))  # which gives each of C's two arguments to send()
            _callbacks.append(callback)
        check(library.dsop_set_stall_watch(self.handle, limit, callback, None, int(bool(throws))))


def of_programs(handle: int, queue: object = None) -> Communicator:
    """Ranks that are programs: from now on an exception that ends this one ends the others' too."""
    made = Communicator(handle, queue=queue)
    if made.size > 1:
        end_job_at_exception(_always)
    return made


def watch_main_thread() -> None:
    if threading.current_thread() is threading.main_thread():
        watch_signals()


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
        ranks or omp_threads is no whole number, or below 1.
    Exception
        The first that a body raised. Ranks that waited for it have raised `TransportError`.

    Examples
    --------
    >>> def double(comm):
    ...     values = np.full(3, comm.rank + 1.0)
    ...     dsop.allreduce(values, comm=comm)
    ...     return float(values[0])
    >>> dsop.run_on_threads(2, double)
    [3.0, 3.0]
    """
    numbers = whole_number(ranks, "ranks"), whole_number(omp_threads, "omp_threads")
    results: list[Any] = [None] * max(numbers[0], 0)
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

    failures_of_call: list[BaseException] = []
    all_ended = threading.Event()  # join() that a signal has interrupted takes the thread for ended, in CPython 3.11

    def run_all() -> None:
        kind = CFUNCTYPE(c_int, c_uint64, c_void_p)
        try:
            check(library.dsop_run_on_threads(numbers[0], kind(run_rank), None, numbers[1]))
        except BaseException as failure:
            failures_of_call.append(failure)
        finally:
            all_ended.set()

    runner = threading.Thread(target=run_all)  # so that this thread hears signals
    runner.start()
    try:
        all_ended.wait()
    except BaseException:
        ended.set()
        all_ended.wait()
        raise
    for failure in sorted(failures, key=lambda failure: isinstance(failure, TransportError)):
        raise failure
    for failure in failures_of_call:
        raise failure
    return results


class SaidToAll:
    """What is found wrong within is raised on all ranks, which are in the call that this rank would have made."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, Exception):
            try:
                self._comm.fail(error)
            except ArgumentError as agreed:
                raise agreed from None
