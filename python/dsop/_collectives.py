"""Dense vectors, and calls that were started."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_int
from typing import Any, Generic, TypeVar

from dsop._arrays import TYPES, Array, address, vector_values
from dsop._communicators import Communicator, SaidToAll
from dsop._library import (Error, check, interrupt_again, let_go, library, new_handle, option_text, raise_later,
                           whole_number)
from dsop._mpi import communicator

Result = TypeVar("Result")


class Pending(Generic[Result]):
    """A call that was started, and goes on while the program does something else.

    On one rank, and over MPI without MPI_THREAD_MULTIPLE, it runs when it is waited for. Its arrays must be left alone
    until it is complete; it keeps them alive. To drop one waits for it.

    Examples
    --------
    >>> values = np.ones(3)
    >>> pending = dsop.start_allreduce(values)
    >>> pending.wait()
    >>> pending.test()
    True
    """

    def __init__(self, handle: int, take: Callable[[], Result], *held: Any) -> None:
        self._handle, self._take, self._held = handle, take, held
        self._result: list[Result] = []

    def wait(self) -> Result:
        """Return what the call gives, None if nothing, when it is complete.

        Raises
        ------
        ArgumentError, TransportError
            As the call without `start`, on all ranks.
        Error
            It has raised that before.

        Examples
        --------
        >>> dsop.start_sparse_allreduce(np.ones(3)).wait().dense()
        array([1., 1., 1.])
        """
        handle, self._handle = self._handle, 0
        if handle:
            self._end(library.dsop_wait(handle))
        if not self._result:
            raise Error("this call has failed, and has said why before")
        return self._result[0]

    def test(self) -> bool:
        """Whether the call is complete, without waiting; where `wait()` runs the call it is that.

        Raises
        ------
        ArgumentError, TransportError
            As `wait()`, once the call has failed.

        Examples
        --------
        >>> pending = dsop.start_allreduce(np.ones(3))
        >>> while not pending.test():
        ...     pass  # something else
        """
        complete = c_int(1)
        if self._handle:
            status = library.dsop_test(self._handle, byref(complete))
            if complete.value:
                self._handle = 0
                self._end(status)
        return bool(complete.value)

    def _end(self, status: int) -> None:
        take, self._take = self._take, _no_result
        let_go(self._held, status)
        self._held = ()
        check(status)
        self._result = [take()]

    def __del__(self) -> None:
        if self._handle:
            try:
                let_go(self._held, library.dsop_wait(self._handle))
                self._handle = 0
                interrupt_again()
            except BaseException as error:
                raise_later(error)


def _no_result() -> Any:
    return None


def _started(values: Array, function: Any, ranks: Communicator, *arguments: Any) -> Pending[None]:
    return Pending(new_handle(function, *arguments), _no_result, ranks, values)


def _given(values: Array, comm: Any, *roots: int, **options: Any) -> tuple[Communicator, tuple[Any, ...]]:
    ranks = communicator(comm)
    with SaidToAll(ranks):
        array = vector_values(values, "values")
        numbers = [whole_number(root, "root") for root in roots]
        return ranks, (ranks.handle, TYPES[array.dtype], address(array), array.size, *numbers, option_text(**options))
    raise AssertionError


def allreduce(values: Array, comm: Any = None, *, algorithm: str | None = None, machine: Any = None,
              allow_native: bool | None = None) -> None:
    """Make `values` the sum of all ranks' values, the same bits on each.

    Parameters
    ----------
    values : ndarray
        float32 or float64, contiguous, of any shape, the same on all ranks. Summed in place, nothing is copied.
    comm : None, mpi4py.MPI.Comm or Communicator
        None is everybody.
    algorithm : str, optional
        Of the family "dense", perhaps with its number; default: the cheapest.
    machine : Machine, optional
        To plan for; default: `Machine.of`.
    allow_native : bool, optional
        The cheapest may be MPI's own, which promises neither equal bits nor a stall watch.

    Raises
    ------
    ArgumentError
        On all ranks, if an argument is wrong on one or the ranks differ.
    TransportError
        A rank is lost.

    Examples
    --------
    >>> values = np.ones((2, 3))
    >>> dsop.allreduce(values)
    """
    _, arguments = _given(values, comm, algorithm=algorithm, machine=machine, allow_native=allow_native)
    check(library.dsop_allreduce(*arguments))


def broadcast(values: Array, root: int = 0, comm: Any = None, *, algorithm: str | None = None,
              machine: Any = None) -> None:
    """Make `values` those of rank `root`.

    Parameters
    ----------
    values : ndarray
        As for `allreduce`, but replaced.
    root : int
        The rank whose values they become, the same on all ranks.
    comm, algorithm, machine
        As for `allreduce`; algorithms are of the family "broadcast".

    Raises
    ------
    ArgumentError, TransportError
        As `allreduce`.

    Examples
    --------
    >>> dsop.broadcast(np.ones(3), root=0)
    """
    _, arguments = _given(values, comm, root, algorithm=algorithm, machine=machine)
    check(library.dsop_broadcast(*arguments))


def reduce(values: Array, root: int = 0, comm: Any = None, *, algorithm: str | None = None,
           machine: Any = None) -> None:
    """Make `values` of rank `root` the sum of all ranks' values; those of others hold anything afterwards.

    Parameters
    ----------
    values : ndarray
        As for `allreduce`.
    root : int
        The rank that gets the sum, the same on all ranks.
    comm, algorithm, machine
        As for `allreduce`; algorithms are of the family "reduce".

    Raises
    ------
    ArgumentError, TransportError
        As `allreduce`.

    Examples
    --------
    >>> dsop.reduce(np.ones(3), root=0)
    """
    _, arguments = _given(values, comm, root, algorithm=algorithm, machine=machine)
    check(library.dsop_reduce(*arguments))


def start_allreduce(values: Array, comm: Any = None, *, algorithm: str | None = None,
                    machine: Any = None, allow_native: bool | None = None) -> Pending[None]:
    """As `allreduce`, but returns at once: leave `values` alone until the call is complete.

    Parameters
    ----------
    values, comm, algorithm, machine, allow_native
        As for `allreduce`.

    Returns
    -------
    Pending
        Its `wait` returns None, and raises what the call raises.

    Raises
    ------
    ArgumentError, TransportError
        As `allreduce`.

    Examples
    --------
    >>> dsop.start_allreduce(np.ones(3)).wait()
    """
    ranks, arguments = _given(values, comm, algorithm=algorithm, machine=machine, allow_native=allow_native)
    return _started(values, library.dsop_start_allreduce, ranks, *arguments)


def start_broadcast(values: Array, root: int = 0, comm: Any = None, *, algorithm: str | None = None,
                    machine: Any = None) -> Pending[None]:
    """As `broadcast`, but returns at once.

    Parameters
    ----------
    values, root, comm, algorithm, machine
        As for `broadcast`.

    Returns
    -------
    Pending
        As of `start_allreduce`.

    Raises
    ------
    ArgumentError, TransportError
        As `broadcast`.

    Examples
    --------
    >>> dsop.start_broadcast(np.ones(3)).wait()
    """
    ranks, arguments = _given(values, comm, root, algorithm=algorithm, machine=machine)
    return _started(values, library.dsop_start_broadcast, ranks, *arguments)


def start_reduce(values: Array, root: int = 0, comm: Any = None, *, algorithm: str | None = None,
                 machine: Any = None) -> Pending[None]:
    """As `reduce`, but returns at once.

    Parameters
    ----------
    values, root, comm, algorithm, machine
        As for `reduce`.

    Returns
    -------
    Pending
        As of `start_allreduce`.

    Raises
    ------
    ArgumentError, TransportError
        As `reduce`.

    Examples
    --------
    >>> dsop.start_reduce(np.ones(3)).wait()
    """
    ranks, arguments = _given(values, comm, root, algorithm=algorithm, machine=machine)
    return _started(values, library.dsop_start_reduce, ranks, *arguments)
