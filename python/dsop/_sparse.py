"""Sparse and top-k allreduces, and selections."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_char_p, c_double, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsop._arrays import DTYPES, TYPES, Array, SparseVector, address, copied, type_of, vector, vector_values
from dsop._communicators import SaidToAll, communicator
from dsop._library import Owned, check, library, new_handle, option_text, text_of
from dsop._table import Vector


@dataclass
class SparseSum:
    """A sum over ranks, the same bits on all.

    Attributes
    ----------
    values : SparseVector or ndarray
        Sparse, or dense where that is smaller. A copy of what the library made.
    algorithm : str
        That made it, with its number.
    """

    values: SparseVector | Array
    algorithm: str

    def dense(self) -> Array:
        """The sum with its zeros."""
        if not isinstance(self.values, SparseVector):
            return self.values
        whole = np.zeros(self.values.dimension, self.values.values.dtype)
        whole[self.values.indices] = self.values.values
        return whole


@dataclass
class TopKSum(SparseSum):
    """What is summed of what each rank chose.

    Attributes
    ----------
    chosen : int
        Elements that this rank selected.
    nans, infinities : int
        In this rank's values before the call.
    took_part : ndarray
        Indices of the chosen that are in the sum.
    """

    chosen: int
    nans: int
    infinities: int
    took_part: Array


def _taken(handle: int, dtype: Any) -> tuple[SparseVector | Array, str]:
    found, algorithm = Vector(), c_char_p()
    check(library.dsop_sum_get(handle, byref(found), byref(algorithm)))
    values = copied(found.values, found.count, dtype)
    name = (algorithm.value or b"").decode()
    if found.indices is None and found.count == found.dimension:
        return values, name
    return SparseVector(found.dimension, copied(found.indices, found.count, np.uint32), values, found.first), name


def _take_sum(handle: int, dtype: Any) -> SparseSum:
    try:
        return SparseSum(*_taken(handle, dtype))
    finally:
        library.dsop_sum_free(handle)


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
    >>> dsop.sparse_allreduce(own).dense()[70]
    2.0
    """
    ranks = communicator(comm)
    with SaidToAll(ranks):
        given = vector(own, "own")
        options = option_text(algorithm=algorithm, machine=machine, wire=wire)
    handle = new_handle(library.dsop_sum_sparse, ranks.handle, given.type, given.structure, options)
    return _take_sum(handle, DTYPES[given.type])


def sparse_allreduce_regions(regions: Sequence[Array | SparseVector], comm: Any = None, *,
                             algorithm: str | None = None, machine: Any = None,
                             wire: str | None = None) -> list[SparseSum]:
    """As `sparse_allreduce` for a vector of more than 2**32 elements, region by region.

    Examples
    --------
    >>> whole = [np.ones(3), dsop.SparseVector(5, np.array([4]), np.array([7.0]), first=3)]
    >>> len(dsop.sparse_allreduce_regions(whole))
    2
    """
    ranks = communicator(comm)
    with SaidToAll(ranks):
        given = [vector(region, f"regions[{i}]") for i, region in enumerate(regions)]
        types = {region.type for region in given} or {0}
        if len(types) > 1:
            raise ValueError("regions are of two dtypes, expected one")
        options = option_text(algorithm=algorithm, machine=machine, wire=wire)
    structures = (Vector * max(len(given), 1))(*(region.structure for region in given))
    handles = (c_uint64 * max(len(given), 1))()
    check(library.dsop_sum_sparse_regions(ranks.handle, min(types), structures, len(given), options, handles))
    return [_take_sum(handle, DTYPES[min(types)]) for handle in handles[:len(given)]]


class SparseAllreduce(Owned):
    """`sparse_allreduce` for vectors that belong together, such as one parameter's gradients.

    Examples
    --------
    >>> dsop.SparseAllreduce(np.float64).run(np.ones(3)).dense()
    array([1., 1., 1.])
    """

    _free = "dsop_sparse_allreduce_free"

    def __init__(self, dtype: Any = np.float32, comm: Any = None, **options: Any) -> None:
        self.comm = communicator(comm)
        self._type = type_of(dtype)
        self._handle = new_handle(library.dsop_sparse_allreduce_create, self.comm.handle, self._type,
                                  option_text(**options))

    def run(self, own: Array | SparseVector) -> SparseSum:
        """As `sparse_allreduce`."""
        with SaidToAll(self.comm):
            given = vector(own, "own", self._type)
        return _take_sum(new_handle(library.dsop_sparse_allreduce_run, self._handle, given.structure),
                         DTYPES[self._type])


class TopKAllreduce(Owned):
    """Sum about k elements of each rank's vector, over and over; one object a parameter.

    Parameters
    ----------
    elements : int
        Of the vectors.
    dtype : dtype
        float32 or float64.
    comm : None, mpi4py.MPI.Comm or Communicator
        None is everybody.
    algorithm : str, optional
        Of the family "topk"; default: "ok-topk".
    machine : Machine, optional
        To plan for.
    wire : {"full", "bf16"}, optional
        How values travel.
    state : str, optional
        What `state` was when a checkpoint was written.

    Examples
    --------
    >>> values = np.array([5.0, 0.5, -7.0, 0.25])
    >>> top = dsop.TopKAllreduce(4, np.float64, algorithm="topk")
    >>> top.run(values, k=2).dense(), values
    (array([ 5.,  0., -7.,  0.]), array([0.  , 0.5 , 0.  , 0.25]))
    """

    _free = "dsop_topk_allreduce_free"

    def __init__(self, elements: int, dtype: Any = np.float32, comm: Any = None, *, algorithm: str | None = None,
                 machine: Any = None, wire: str | None = None, state: str | None = None) -> None:
        self.comm = communicator(comm)
        self._type = type_of(dtype)
        self._handle = new_handle(library.dsop_topk_allreduce_create, self.comm.handle, self._type, elements,
                                  option_text(algorithm=algorithm, machine=machine, wire=wire),
                                  None if state is None else state.encode())

    def run(self, values: Array, k: int) -> TopKSum:
        """Sum what is chosen of `values`: in, gradient plus residual; out, the new residual, in place."""
        with SaidToAll(self.comm):
            array = vector_values(values, "values")
            if TYPES[array.dtype] != self._type:
                raise ValueError(f"values.dtype is {array.dtype}, expected {DTYPES[self._type]}")
        handle = new_handle(library.dsop_topk_allreduce_run, self._handle, address(array), array.size, k)
        try:
            numbers, took_part, count = [c_size_t() for _ in range(3)], c_void_p(), c_size_t()
            check(library.dsop_sum_chosen(handle, *map(byref, numbers), byref(took_part), byref(count)))
            total, algorithm = _taken(handle, DTYPES[self._type])
            chosen, nans, infinities = (number.value for number in numbers)
            return TopKSum(total, algorithm, chosen, nans, infinities,
                           copied(took_part.value, count.value, np.uint32))
        finally:
            library.dsop_sum_free(handle)

    @property
    def state(self) -> str:
        """What to save with a checkpoint, of each rank its own."""
        return text_of(library.dsop_topk_allreduce_state, self._handle)


class Selector(Owned):
    """Choose about k of a vector's elements, over and over. Communicates nothing.

    Examples
    --------
    >>> dsop.Selector("exact", np.float64).select(np.array([1.0, -3.0, 2.0]), k=2)
    (array([1, 2], dtype=uint32), array([-3.,  2.]))
    """

    _free = "dsop_selector_free"

    def __init__(self, algorithm: str = "exact", dtype: Any = np.float32, step: int = 0, seed: int = 1,
                 threshold: float = 0.0) -> None:
        self._type = type_of(dtype)
        self._handle = new_handle(library.dsop_selector_create, self._type, algorithm.encode(), step, seed, threshold)

    def select(self, values: Array, k: int, room: int | None = None) -> tuple[Array, Array]:
        """Return indices, which rise, and values of what is chosen: at most `room`, by default 2 k + 100."""
        array = vector_values(values, "values", written=False)
        room = min(array.size, 2 * k + 100) if room is None else room
        indices, chosen = np.empty(room, np.uint32), np.empty(room, DTYPES[self._type])
        if TYPES[array.dtype] != self._type:
            raise ValueError(f"values.dtype is {array.dtype}, expected {DTYPES[self._type]}")
        count = c_size_t()
        check(library.dsop_selector_select(self._handle, address(array), array.size, k, address(indices),
                                           address(chosen), room, byref(count), None, None, None))
        return indices[:count.value], chosen[:count.value]

    @property
    def state(self) -> dict[str, float]:
        """step, seed and threshold: what to save with a checkpoint, and to give to the next Selector."""
        step, seed, threshold = c_uint64(), c_uint64(), c_double()
        check(library.dsop_selector_state(self._handle, byref(step), byref(seed), byref(threshold)))
        return {"step": step.value, "seed": seed.value, "threshold": threshold.value}
