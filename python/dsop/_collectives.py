"""Dense vectors, and calls that were started."""

from __future__ import annotations

from ctypes import byref, c_int
from typing import Any

from dsop._arrays import TYPES, Array, address, vector_values
from dsop._communicators import Communicator, SaidToAll, communicator
from dsop._library import check, library, new_handle, option_text


class Pending:
    """A call that was started, and goes on while the program does something else.

    Its arrays must be left alone until it is complete; it keeps them alive. To drop one waits for it.
    """

    def __init__(self, handle: int, *held: Any) -> None:
        self._handle, self._held = handle, held

    def wait(self) -> None:
        """Return when the call is complete; raises what the call raises, once."""
        handle, self._handle = self._handle, 0
        if handle:
            check(library.dsop_wait(handle))
        self._held = ()

    def test(self) -> bool:
        """Whether the call is complete, without waiting; raises as `wait()`."""
        complete = c_int(1)
        if self._handle:
            status = library.dsop_test(self._handle, byref(complete))
            if complete.value:
                self._handle, self._held = 0, ()
            check(status)
        return bool(complete.value)

    def __del__(self) -> None:
        if self._handle:
            library.dsop_wait(self._handle)
            self._handle = 0


def _given(values: Array, comm: Any, options: dict[str, Any]) -> tuple[Communicator, tuple[Any, ...], bytes]:
    ranks = communicator(comm)
    with SaidToAll(ranks):
        array = vector_values(values, "values")
        return ranks, (ranks.handle, TYPES[array.dtype], address(array), array.size), option_text(**options)
    raise AssertionError


def allreduce(values: Array, comm: Any = None, *, algorithm: str | None = None, machine: Any = None) -> None:
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
        To plan for.

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
    _, arguments, options = _given(values, comm, {"algorithm": algorithm, "machine": machine})
    check(library.dsop_allreduce(*arguments, options))


def broadcast(values: Array, root: int = 0, comm: Any = None, *, algorithm: str | None = None,
              machine: Any = None) -> None:
    """Make `values` those of rank `root`.

    Arguments and errors are as those of `allreduce`; algorithms are of the family "broadcast".

    Examples
    --------
    >>> dsop.broadcast(np.ones(3), root=0)
    """
    _, arguments, options = _given(values, comm, {"algorithm": algorithm, "machine": machine})
    check(library.dsop_broadcast(*arguments, root, options))


def reduce(values: Array, root: int = 0, comm: Any = None, *, algorithm: str | None = None,
           machine: Any = None) -> None:
    """Make `values` of rank `root` the sum of all ranks' values; those of others hold anything afterwards.

    Arguments and errors are as those of `allreduce`; algorithms are of the family "reduce".

    Examples
    --------
    >>> dsop.reduce(np.ones(3), root=0)
    """
    _, arguments, options = _given(values, comm, {"algorithm": algorithm, "machine": machine})
    check(library.dsop_reduce(*arguments, root, options))


def start_allreduce(values: Array, comm: Any = None, *, algorithm: str | None = None,
                    machine: Any = None) -> Pending:
    """As `allreduce`, but returns at once: leave `values` alone until the call is complete.

    Examples
    --------
    >>> dsop.start_allreduce(np.ones(3)).wait()
    """
    ranks, arguments, options = _given(values, comm, {"algorithm": algorithm, "machine": machine})
    return Pending(new_handle(library.dsop_start_allreduce, *arguments, options), ranks, values)


def start_broadcast(values: Array, root: int = 0, comm: Any = None, *, algorithm: str | None = None,
                    machine: Any = None) -> Pending:
    """As `broadcast`, but returns at once.

    Examples
    --------
    >>> dsop.start_broadcast(np.ones(3)).wait()
    """
    ranks, arguments, options = _given(values, comm, {"algorithm": algorithm, "machine": machine})
    return Pending(new_handle(library.dsop_start_broadcast, *arguments, root, options), ranks, values)


def start_reduce(values: Array, root: int = 0, comm: Any = None, *, algorithm: str | None = None,
                 machine: Any = None) -> Pending:
    """As `reduce`, but returns at once.

    Examples
    --------
    >>> dsop.start_reduce(np.ones(3)).wait()
    """
    ranks, arguments, options = _given(values, comm, {"algorithm": algorithm, "machine": machine})
    return Pending(new_handle(library.dsop_start_reduce, *arguments, root, options), ranks, values)
