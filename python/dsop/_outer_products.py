"""Sums of outer products: the gradients of fully connected and recurrent layers."""

from __future__ import annotations

from ctypes import byref, c_char_p, c_size_t, c_void_p
from typing import Any

import numpy as np

from dsop._arrays import DTYPES, Array, FactorLike, Held, copied, factor, matrix, type_of
from dsop._collectives import Pending
from dsop._communicators import SaidToAll
from dsop._library import Owned, check, decoded, library, new_handle, option_text, whole_size
from dsop._mpi import communicator


def outer_product(a: FactorLike, b: FactorLike, out: Array | None = None, comm: Any = None, *,
                  algorithm: str | None = None, scale: float | None = None, alpha: float | None = None,
                  beta: float | None = None, machine: Any = None, allow_native: bool | None = None,
                  find_zeros: bool | None = None, wire: str | None = None,
                  factor_wire: str | None = None, check_bits: bool | None = None) -> Array:
    """Sum the outer products of all ranks' pairs: ``beta * out + alpha * scale * sum of a.T @ b``.

    Parameters
    ----------
    a, b : ndarray or SparseMatrix
        float32 or float64, pairs x n and pairs x m; pairs may differ between ranks and be none. Rows may have a stride;
        dense values are not copied. Sparse ones (anything with indptr, indices, data and shape, as SciPy's CSR
        matrices) have their indices converted.
    out : ndarray, optional
        n x m, where the gradient goes; default: a new array. Its memory, from the first element to the
        last, must not meet that of a or b.
    comm : None, mpi4py.MPI.Comm or Communicator
        None is everybody.
    algorithm : str, optional
        Of the family "outer-product"; default: the cheapest.
    scale : float, optional
        1 / batch for a mean; default: 1.
    alpha, beta : float, optional
        As in BLAS; default: 1 and 0. beta = 1 adds to what stands in `out`, of which with beta = 0 nothing is read. Only
        the sum travels, so that `out` may be a momentum (beta = mu), or the weights (alpha = - learning rate, beta = 1).
    machine : Machine, optional
        To plan for; default: `Machine.of`.
    allow_native : bool, optional
        The cheapest may be MPI's own allreduce, which promises neither equal bits nor a stall watch.
    find_zeros, check_bits : bool, optional
        Look for zeros in dense factors; compare hashes of the gradient.
    wire : {"full", "bf16"}, optional
        How parts of the gradient travel.
    factor_wire : {"full", "bf16"}, optional
        How factors travel: bf16 is exact where all their elements are bf16 already, else they are rounded.

    Returns
    -------
    ndarray
        `out`, the same bits on all ranks.

    Raises
    ------
    ArgumentError
        On all ranks, if an argument is wrong on one or the ranks differ.
    TransportError
        A rank is lost.

    Examples
    --------
    >>> dsop.outer_product(np.ones((2, 3)), np.ones((2, 2)), scale=0.5)
    array([[1., 1.],
           [1., 1.],
           [1., 1.]])
    >>> weights = np.full((3, 2), 5.0)
    >>> dsop.outer_product(np.ones((2, 3)), np.ones((2, 2)), out=weights, alpha=-0.5, beta=1)[0]
    array([4., 4.])
    """
    ranks = communicator(comm)
    with SaidToAll(ranks):
        left = factor(a, "a")
        right = factor(b, "b", left.type)
        if out is None:
            out = np.zeros((left.structure.columns, right.structure.columns), DTYPES[left.type])
        gradient = matrix(out, "out", left.type)
        options = option_text(algorithm=algorithm, scale=scale, alpha=alpha, beta=beta, machine=machine,
                              allow_native=allow_native, find_zeros=find_zeros, wire=wire, factor_wire=factor_wire,
                              check_bits=check_bits)
    check(library.dsop_sum_outer_products(ranks.handle, left.type, left.structure, right.structure, gradient, options))
    return out


class OuterProduct(Owned):
    """`outer_product` for one layer: planned once, with the buffers kept.

    All ranks make it, with the same arguments, and call it in the same order as the communicator's other calls.

    Parameters
    ----------
    rows, columns : int
        The gradient's: n and m.
    max_pairs : int
        The most that a rank will give in one call.
    dtype : dtype
        float32 or float64.
    comm : None, mpi4py.MPI.Comm or Communicator
        None is everybody.
    density_a, density_b : float, optional
        The share of a factor that is expected not to be zero, to plan by.
    expected_pairs : int, optional
        Of a rank in most calls, to plan by.
    **options
        algorithm, scale, alpha, beta, machine, allow_native, find_zeros, wire, factor_wire and check_bits,
        as for `outer_product`.

    Raises
    ------
    ArgumentError
        On all ranks, if an argument is wrong on one or the ranks differ.

    Examples
    --------
    >>> layer = dsop.OuterProduct(3, 2, max_pairs=4, dtype=np.float64)
    >>> layer.run(np.ones((4, 3)), np.ones((4, 2)))[0]
    array([4., 4.])
    """

    _free = "dsop_outer_product_free"

    def __init__(self, rows: int, columns: int, max_pairs: int, dtype: Any = np.float32, comm: Any = None,
                 **options: Any) -> None:
        self.comm = communicator(comm)
        with SaidToAll(self.comm):
            self._type = type_of(dtype)
            text = option_text(**options)
            numbers = whole_size(rows, "rows"), whole_size(columns, "columns"), whole_size(max_pairs, "max_pairs")
        self.shape, self.dtype = numbers[:2], DTYPES[self._type]
        self._handle = new_handle(library.dsop_outer_product_create, self.comm.handle, self._type, *numbers, text)

    def _factors(self, a: FactorLike, b: FactorLike) -> tuple[Held, Held]:
        return factor(a, "a", self._type), factor(b, "b", self._type)

    def run(self, a: FactorLike, b: FactorLike, out: Array | None = None) -> Array:
        """Sum the outer products into `out`, or a new array, and return it.

        Parameters
        ----------
        a, b : ndarray or SparseMatrix
            pairs x rows and pairs x columns, of this object's dtype, at most max_pairs; as for `outer_product`.
        out : ndarray, optional
            rows x columns, where the gradient goes; default: a new array. Its memory, from the first element to
            the last, must not meet that of a or b.

        Returns
        -------
        ndarray
            `out`, the same bits on all ranks.

        Raises
        ------
        ArgumentError, TransportError
            As `outer_product`.

        Examples
        --------
        >>> layer = dsop.OuterProduct(3, 2, max_pairs=4, dtype=np.float64)
        >>> gradient = np.empty((3, 2))
        >>> layer.run(np.ones((4, 3)), np.ones((4, 2)), gradient) is gradient
        True
        """
        with SaidToAll(self.comm):
            left, right = self._factors(a, b)
            result = np.zeros(self.shape, self.dtype) if out is None else out
            gradient = matrix(result, "out", self._type)
        check(library.dsop_outer_product_run(self._handle, left.structure, right.structure, gradient))
        return result

    def run_sharded(self, a: Array, b: Array, out: Array | None = None) -> Array:
        """As `run`, but leave this rank only its rows, ``row_bounds[rank] .. row_bounds[rank + 1]``.

        Parameters
        ----------
        a, b : ndarray
            As for `run`, dense.
        out : ndarray, optional
            This rank's rows of the gradient, ``row_bounds[rank + 1] - row_bounds[rank]`` of them; default: a new array.

        Returns
        -------
        ndarray
            `out`.

        Raises
        ------
        ArgumentError, TransportError
            As `outer_product`.

        Examples
        --------
        >>> layer = dsop.OuterProduct(3, 2, max_pairs=4, dtype=np.float64)
        >>> layer.run_sharded(np.ones((4, 3)), np.ones((4, 2))).shape, layer.row_bounds
        ((3, 2), array([0, 3], dtype=uint64))
        """
        with SaidToAll(self.comm):
            left, right = self._factors(a, b)
            bounds = self.row_bounds
            own_rows = int(bounds[self.comm.rank + 1] - bounds[self.comm.rank])
            result = np.zeros((own_rows, self.shape[1]), self.dtype) if out is None else out
            rows = matrix(result, "out", self._type)
        check(library.dsop_outer_product_run_sharded(self._handle, left.structure, right.structure, rows))
        return result

    def run_rows(self, a: FactorLike, b: FactorLike) -> tuple[Array, Array]:
        """Return the indices of the gradient's rows that are not all zero, and these rows; both are copies.

        Parameters
        ----------
        a, b : ndarray or SparseMatrix
            As for `run`.

        Returns
        -------
        indices : ndarray of uint32
            They rise.
        rows : ndarray
            As many x columns. Both are copies, the same bits on all ranks.

        Raises
        ------
        ArgumentError, TransportError
            As `outer_product`.

        Examples
        --------
        >>> layer = dsop.OuterProduct(3, 2, max_pairs=1, dtype=np.float64)
        >>> layer.run_rows(np.array([[0.0, 5.0, 0.0]]), np.ones((1, 2)))
        (array([1], dtype=uint32), array([[5., 5.]]))
        """
        with SaidToAll(self.comm):
            left, right = self._factors(a, b)
        handle = new_handle(library.dsop_outer_product_run_rows, self._handle, left.structure, right.structure)
        try:
            count, columns, indices, values = c_size_t(), c_size_t(), c_void_p(), c_void_p()
            check(library.dsop_rows_get(handle, byref(count), byref(columns), byref(indices), byref(values)))
            rows = copied(values.value, count.value * columns.value, self.dtype)
            return copied(indices.value, count.value, np.uint32), rows.reshape(count.value, columns.value)
        finally:
            library.dsop_rows_free(handle)

    def start(self, a: FactorLike, b: FactorLike, out: Array) -> Pending[Array]:
        """As `run`, but return at once; leave all three alone until the call is complete. Its `wait` returns `out`.

        Parameters
        ----------
        a, b, out
            As for `run`; there is no default.

        Returns
        -------
        Pending
            Its `wait` returns `out`, and raises what the call raises.

        Raises
        ------
        ArgumentError, TransportError
            As `outer_product`.

        Examples
        --------
        >>> layer = dsop.OuterProduct(3, 2, max_pairs=4, dtype=np.float64)
        >>> layer.start(np.ones((4, 3)), np.ones((4, 2)), np.empty((3, 2))).wait()[0]
        array([4., 4.])
        """
        with SaidToAll(self.comm):
            left, right = self._factors(a, b)
            gradient = matrix(out, "out", self._type)
        handle = new_handle(library.dsop_outer_product_start, self._handle, left.structure, right.structure, gradient)
        return Pending(handle, lambda: out, self, left, right, out)

    @property
    def plan(self) -> str:
        """What the last run did and why, several lines.

        Examples
        --------
        >>> layer = dsop.OuterProduct(3, 2, max_pairs=4)
        >>> "3 x 2" in layer.plan
        True
        """
        text = c_char_p()
        check(library.dsop_outer_product_plan(self._handle, byref(text), None))
        return decoded(text.value)

    @property
    def algorithm(self) -> str:
        """That of the last run, with its number.

        Examples
        --------
        >>> dsop.OuterProduct(3, 2, max_pairs=4, algorithm="allgather").algorithm
        'allgather'
        """
        text = c_char_p()
        check(library.dsop_outer_product_plan(self._handle, None, byref(text)))
        return decoded(text.value)

    @property
    def row_bounds(self) -> Array:
        """Rank r's rows of a sharded gradient are ``row_bounds[r] .. row_bounds[r + 1]``.

        Examples
        --------
        >>> dsop.OuterProduct(3, 2, max_pairs=4).row_bounds
        array([0, 3], dtype=uint64)
        """
        bounds, count = c_void_p(), c_size_t()
        check(library.dsop_outer_product_row_bounds(self._handle, byref(bounds), byref(count)))
        return copied(bounds.value, count.value, np.uintp)
