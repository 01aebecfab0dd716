"""Top-k allreduces and selections."""

from __future__ import annotations

from ctypes import byref, c_double, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsop._arrays import DTYPES, TYPES, Array, address, copied, type_of, vector_values
from dsop._collectives import Pending
from dsop._communicators import SaidToAll
from dsop._library import (ArgumentError, Owned, check, encoded, library, new_handle, option_text, real_number, text_of,
                           whole_size)
from dsop._mpi import communicator
from dsop._sparse import SparseSum, Sum, start_sum


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
    evaluated_local, evaluated_global : bool
        Whether ok-topk found this rank's threshold, and that of sums, anew instead of reusing them.

    Examples
    --------
    >>> total = dsop.TopKAllreduce(4, np.float64).run(np.array([5.0, 0.5, -7.0, 0.25]), k=2)
    >>> total.chosen, total.took_part
    (2, array([0, 2], dtype=uint32))
    """

    chosen: int
    nans: int
    infinities: int
    took_part: Array
    evaluated_local: bool
    evaluated_global: bool


def _topk_sum(made: Sum, dtype: Any) -> TopKSum:
    numbers, evaluated = [c_size_t() for _ in range(3)], [c_int(), c_int()]
    took_part, count = c_void_p(), c_size_t()
    check(library.dsop_sum_chosen(made.handle, *map(byref, numbers), byref(took_part), byref(count),
                                  *map(byref, evaluated)))
    chosen, nans, infinities = (number.value for number in numbers)
    evaluated_local, evaluated_global = (bool(is_so.value) for is_so in evaluated)
    return TopKSum(*made.values(dtype), chosen, nans, infinities, copied(took_part.value, count.value, np.uint32),
                   evaluated_local, evaluated_global)


def _values_of(values: Any, type_: int, written: bool = True) -> Array:
    array = vector_values(values, "values", written)
    if TYPES[array.dtype] != type_:
        raise ArgumentError(f"values.dtype is {array.dtype}, expected {DTYPES[type_]}")
    return array


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

    Raises
    ------
    ArgumentError
        On all ranks, if an argument is wrong on one; ranks that differ raise in the first run.

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
        with SaidToAll(self.comm):  # others hear it in their first run
            self._type = type_of(dtype)
            arguments = (whole_size(elements, "elements"), option_text(algorithm=algorithm, machine=machine, wire=wire),
                         None if state is None else encoded(state, "state"))
        self._handle = new_handle(library.dsop_topk_allreduce_create, self.comm.handle, self._type, *arguments)

    def _given(self, values: Array, k: int) -> tuple[int, int, int]:
        with SaidToAll(self.comm):
            array = _values_of(values, self._type)
            return address(array), array.size, whole_size(k, "k")
        raise AssertionError

    def run(self, values: Array, k: int) -> TopKSum:
        """Sum what is chosen of `values`: in, gradient plus residual; out, the new residual, in place.

        Parameters
        ----------
        values : ndarray
            As many as `elements`, contiguous, of this object's dtype. Changed in place.
        k : int
            About how many elements this rank chooses.

        Returns
        -------
        TopKSum
            The same bits on all ranks, but for what tells of this rank.

        Raises
        ------
        ArgumentError
            On all ranks, if an argument is wrong on one or the ranks differ.
        TransportError
            A rank is lost.

        Examples
        --------
        >>> dsop.TopKAllreduce(4, np.float64).run(np.array([5.0, 0.5, -7.0, 0.25]), k=1).dense()
        array([ 0.,  0., -7.,  0.])
        """
        made = Sum(new_handle(library.dsop_topk_allreduce_run, self._handle, *self._given(values, k)))
        return _topk_sum(made, DTYPES[self._type])

    def start(self, values: Array, k: int) -> Pending[TopKSum]:
        """As `run`, but return at once: leave `values` alone until the call is complete.

        What `wait` of the returned call gives is the `TopKSum`. It comes before this object's next run or start.

        Parameters
        ----------
        values, k
            As for `run`.

        Returns
        -------
        Pending
            Its `wait` returns the `TopKSum`.

        Raises
        ------
        ArgumentError, TransportError
            As `run`.

        Examples
        --------
        >>> top = dsop.TopKAllreduce(4, np.float64)
        >>> chosen = top.start(np.array([5.0, 0.5, -7.0, 0.25]), k=2).wait()
        >>> chosen.dense(), chosen.evaluated_local
        (array([ 5.,  0., -7.,  0.]), True)
        """
        made, pending = start_sum(library.dsop_topk_allreduce_start, self._handle, *self._given(values, k))
        return Pending(pending, lambda: _topk_sum(made, DTYPES[self._type]), self, values)

    @property
    def state(self) -> str:
        """What to save with a checkpoint, of each rank its own.

        Examples
        --------
        >>> top = dsop.TopKAllreduce(100)
        >>> resumed = dsop.TopKAllreduce(100, state=top.state)
        """
        return text_of(library.dsop_topk_allreduce_state, self._handle)


class Selector(Owned):
    """Choose about k of a vector's elements, over and over. Communicates nothing.

    Parameters
    ----------
    algorithm : str
        Of the family "selection".
    dtype : dtype
        float32 or float64.
    step, seed : int
        Of random numbers: the same two choose the same.
    threshold : float
        Of the magnitudes, for algorithms that keep one; 0: none is known.

    Attributes
    ----------
    last : dict
        Of the last `select`: chosen, how many elements; threshold, what magnitudes were compared with; nans and
        infinities, how many the values hold; evaluated, whether a threshold that is reused was found anew; predicted,
        how many elements gaussian's threshold reached before it was corrected (of others, chosen).

    Raises
    ------
    ArgumentError
        An argument makes no sense.

    Examples
    --------
    >>> dsop.Selector("exact", np.float64).select(np.array([1.0, -3.0, 2.0]), k=2)
    (array([1, 2], dtype=uint32), array([-3.,  2.]))
    """

    _free = "dsop_selector_free"

    def __init__(self, algorithm: str = "exact", dtype: Any = np.float32, step: int = 0, seed: int = 1,
                 threshold: float = 0.0) -> None:
        self._type = type_of(dtype)
        numbers = whole_size(step, "step"), whole_size(seed, "seed"), real_number(threshold, "threshold")
        self._handle = new_handle(library.dsop_selector_create, self._type, encoded(algorithm, "algorithm"), *numbers)
        self.last: dict[str, Any] = {}

    def select(self, values: Array, k: int, room: int | None = None) -> tuple[Array, Array]:
        """Return indices, which rise, and values of what is chosen: at most `room`, by default 2 k + 100.

        Parameters
        ----------
        values : ndarray
            Contiguous, of this object's dtype, at most 2**32 elements. Only read.
        k : int
            About how many to choose.
        room : int, optional
            The most that is returned, at least k; default: 2 k + 100.

        Returns
        -------
        indices : ndarray of uint32
        values : ndarray
            As many; both are new.

        Raises
        ------
        ArgumentError
            An argument makes no sense.

        Examples
        --------
        >>> dsop.Selector("exact", np.float64).select(np.array([1.0, -3.0, 2.0]), k=1)
        (array([1], dtype=uint32), array([-3.]))
        """
        array, k = _values_of(values, self._type, written=False), whole_size(k, "k")
        room = min(array.size, 2 * k + 100 if room is None else whole_size(room, "room"))
        indices, chosen = np.empty(room, np.uint32), np.empty(room, DTYPES[self._type])
        count, threshold, nans, infinities = c_size_t(), c_double(), c_size_t(), c_size_t()
        check(library.dsop_selector_select(self._handle, address(array), array.size, k, address(indices),
                                           address(chosen), room, byref(count), byref(threshold), byref(nans),
                                           byref(infinities)))
        evaluated, predicted = c_int(), c_size_t()
        check(library.dsop_selector_last(self._handle, byref(evaluated), byref(predicted)))
        self.last = {"chosen": count.value, "threshold": threshold.value, "nans": nans.value,
                     "infinities": infinities.value, "evaluated": bool(evaluated.value), "predicted": predicted.value}
        return indices[:count.value], chosen[:count.value]

    @property
    def state(self) -> dict[str, float]:
        """step, seed and threshold: what to save with a checkpoint, and to give to the next Selector.

        Examples
        --------
        >>> dsop.Selector(seed=7).state["seed"]
        7
        """
        step, seed, threshold = c_uint64(), c_uint64(), c_double()
        check(library.dsop_selector_state(self._handle, byref(step), byref(seed), byref(threshold)))
        return {"step": step.value, "seed": seed.value, "threshold": threshold.value}
