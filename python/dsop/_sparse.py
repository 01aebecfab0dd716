"""Sparse allreduces."""

from __future__ import annotations

from ctypes import byref, c_char_p, c_uint64
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsop._arrays import DTYPES, Array, SparseVector, copied, type_of, vector
from dsop._collectives import Pending
from dsop._communicators import SaidToAll
from dsop._library import ArgumentError, Owned, check, decoded, library, new_handle, option_text
from dsop._mpi import communicator
from dsop._table import DSOP_F32, Vector


@dataclass
class SparseSum:
    """A sum over ranks, the same bits on all.

    Attributes
    ----------
    values : SparseVector or ndarray
        Sparse, or dense where that is smaller. A copy of what the library made.
    algorithm : str
        That made it, with its number.

    Examples
    --------
    >>> isinstance(dsop.sparse_allreduce(np.ones(3)), dsop.SparseSum)
    True
    """

    values: SparseVector | Array
    algorithm: str

    def dense(self) -> Array:
        """The sum with its zeros.

        Examples
        --------
        >>> dsop.sparse_allreduce(dsop.SparseVector(4, np.array([1]), np.array([5.0]))).dense()
        array([0., 5., 0., 0.])
        """
        if not isinstance(self.values, SparseVector):
            return self.values
        whole = np.zeros(self.values.dimension, self.values.values.dtype)
        whole[self.values.indices] = self.values.values
        return whole


class Sum(Owned):
    """What the library has made; it ends with the object."""

    _free = "dsop_sum_free"

    def __init__(self, handle: int) -> None:
        self._handle = self.handle = handle

    def values(self, dtype: Any) -> tuple[SparseVector | Array, str]:
        found, algorithm = Vector(), c_char_p()
        check(library.dsop_sum_get(self._handle, byref(found), byref(algorithm)))
        values = copied(found.values, found.count, dtype)
        name = decoded(algorithm.value)
        if found.indices is None and found.count == found.dimension:
            return values, name
        return SparseVector(found.dimension, copied(found.indices, found.count, np.uint32), values), name

    def sparse(self, dtype: Any) -> SparseSum:
        return SparseSum(*self.values(dtype))


def start_sum(function: Any, *arguments: Any) -> tuple[Sum, int]:
    """The sum that a call will make, and the call."""
    made, pending = c_uint64(), c_uint64()
    check(function(*arguments, byref(made), byref(pending)))
    return Sum(made.value), pending.value


def sparse_allreduce(own: Array | SparseVector, comm: Any = None, *, algorithm: str | None = None,
                     machine: Any = None, wire: str | None = None) -> SparseSum:
    """Sum vectors of which most elements are zero.

    Parameters
    ----------
    own : SparseVector or ndarray
        This rank's, float32 or float64, of at most 2**32 elements, as many on all ranks. Values are not copied.
    comm : None, mpi4py.MPI.Comm or Communicator
        None is everybody.
    algorithm : str, optional
        Of the family "sparse"; default: the cheapest.
    machine : Machine, optional
        To plan for.
    wire : {"full", "bf16"}, optional
        How values travel.

    Returns
    -------
    SparseSum

    Raises
    ------
    ArgumentError
        On all ranks, if an argument is wrong on one or the ranks differ.
    TransportError
        A rank is lost.

    Examples
    --------
    >>> own = dsop.SparseVector(1000, np.array([3, 70]), np.array([1.0, 2.0]))
    >>> dsop.sparse_allreduce(own).dense()[[3, 70]]
    array([1., 2.])
    """
    ranks = communicator(comm)
    with SaidToAll(ranks):
        given = vector(own, "own")
        options = option_text(algorithm=algorithm, machine=machine, wire=wire)
    made = Sum(new_handle(library.dsop_sum_sparse, ranks.handle, given.type, given.structure, options))
    return made.sparse(DTYPES[given.type])


def start_sparse_allreduce(own: Array | SparseVector, comm: Any = None, *, algorithm: str | None = None,
                           machine: Any = None, wire: str | None = None) -> Pending[SparseSum]:
    """As `sparse_allreduce`, but return at once: leave `own` alone until the call is complete.

    What `wait` of the returned call gives is the `SparseSum`. Wrong indices are raised by it, on all ranks.

    Parameters
    ----------
    own, comm, algorithm, machine, wire
        As for `sparse_allreduce`.

    Returns
    -------
    Pending
        Its `wait` returns the `SparseSum`.

    Raises
    ------
    ArgumentError, TransportError
        As `sparse_allreduce`.

    Examples
    --------
    >>> dsop.start_sparse_allreduce(np.ones(3)).wait().dense()
    array([1., 1., 1.])
    """
    ranks = communicator(comm)
    with SaidToAll(ranks):
        given = vector(own, "own")
        options = option_text(algorithm=algorithm, machine=machine, wire=wire)
    made, pending = start_sum(library.dsop_start_sum_sparse, ranks.handle, given.type, given.structure, options)
    return Pending(pending, lambda: made.sparse(DTYPES[given.type]), ranks, given)


class SparseAllreduce(Owned):
    """`sparse_allreduce` for vectors that belong together, such as one parameter's gradients.

    Parameters
    ----------
    dtype : dtype
        float32 or float64.
    comm, **options
        As for `sparse_allreduce`: algorithm, machine and wire.

    Raises
    ------
    ArgumentError
        On all ranks, in their first run, if an argument is wrong on one or the ranks differ.

    Examples
    --------
    >>> dsop.SparseAllreduce(np.float64).run(np.ones(3)).dense()
    array([1., 1., 1.])
    """

    _free = "dsop_sparse_allreduce_free"

    def __init__(self, dtype: Any = np.float32, comm: Any = None, **options: Any) -> None:
        self.comm = communicator(comm)
        make = library.dsop_sparse_allreduce_create
        with SaidToAll(self.comm):  # others hear it in their first run
            try:
                self._type, text = type_of(dtype), option_text(**options)
            except ArgumentError:
                self._handle = new_handle(make, self.comm.handle, DSOP_F32, None)  # which others count
                raise
        self._handle = new_handle(make, self.comm.handle, self._type, text)

    def run(self, own: Array | SparseVector) -> SparseSum:
        """As `sparse_allreduce`.

        Parameters
        ----------
        own : SparseVector or ndarray
            As for `sparse_allreduce`, of this object's dtype.

        Returns
        -------
        SparseSum
            The same bits on all ranks.

        Raises
        ------
        ArgumentError, TransportError
            As `sparse_allreduce`.

        Examples
        --------
        >>> own = dsop.SparseVector(4, np.array([1]), np.array([5.0]))
        >>> dsop.SparseAllreduce(np.float64).run(own).dense()
        array([0., 5., 0., 0.])
        """
        with SaidToAll(self.comm):
            given = vector(own, "own", self._type)
        made = Sum(new_handle(library.dsop_sparse_allreduce_run, self._handle, given.structure))
        return made.sparse(DTYPES[self._type])

    def start(self, own: Array | SparseVector) -> Pending[SparseSum]:
        """As `start_sparse_allreduce`.

        Parameters
        ----------
        own : SparseVector or ndarray
            As for `run`.

        Returns
        -------
        Pending
            As of `start_sparse_allreduce`.

        Raises
        ------
        ArgumentError, TransportError
            As `sparse_allreduce`.

        Examples
        --------
        >>> dsop.SparseAllreduce(np.float64).start(np.ones(3)).wait().dense()
        array([1., 1., 1.])
        """
        with SaidToAll(self.comm):
            given = vector(own, "own", self._type)
        made, pending = start_sum(library.dsop_sparse_allreduce_start, self._handle, given.structure)
        return Pending(pending, lambda: made.sparse(DTYPES[self._type]), self, given)
