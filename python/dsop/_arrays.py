"""From NumPy arrays to the structures of dsop.h, without copies of values."""

from __future__ import annotations

from ctypes import addressof, c_char, memmove
from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from dsop._library import ArgumentError, whole_size, whole_sizes
from dsop._table import DSOP_F32, DSOP_F64, Factor, Matrix, Vector

Array = npt.NDArray[Any]
TYPES: dict[np.dtype[Any], int] = {np.dtype(np.float32): DSOP_F32, np.dtype(np.float64): DSOP_F64}
DTYPES: list[np.dtype[Any]] = list(TYPES)
_EXPECTED = " or ".join(map(str, DTYPES))


class SparseMatrix(NamedTuple):
    """A matrix in compressed rows; `scipy.sparse.csr_matrix` and the like are taken too.

    Attributes
    ----------
    shape : tuple of two int
        Rows and columns.
    indptr : ndarray of integers
        rows + 1: row p has the elements ``indptr[p]`` .. ``indptr[p + 1] - 1`` of the two below.
    indices : ndarray of integers
        Columns, which rise within a row; copied unless they are uint32.
    data : ndarray
        Values, float32 or float64, contiguous; not copied.

    Examples
    --------
    >>> one_hot = dsop.SparseMatrix((2, 3), np.array([0, 1, 2]), np.array([2, 0]), np.ones(2))
    >>> dsop.outer_product(one_hot, np.array([[5.0], [7.0]]))
    array([[7.],
           [0.],
           [5.]])
    """

    shape: tuple[int, int]
    indptr: Array
    indices: Array
    data: Array


class SparseVector(NamedTuple):
    """A vector of so many elements of which those that `indices` name are `values`, the rest 0.

    Attributes
    ----------
    dimension : int
        How many elements, zeros among them.
    indices : ndarray of integers
        They rise; copied unless they are uint32.
    values : ndarray
        As many, float32 or float64, contiguous; not copied.

    Examples
    --------
    >>> own = dsop.SparseVector(4, np.array([1, 3]), np.array([5.0, 7.0]))
    >>> dsop.sparse_allreduce(own).dense()
    array([0., 5., 0., 7.])
    """

    dimension: int
    indices: Array
    values: Array


FactorLike = Union[Array, SparseMatrix, Any]


def type_of(dtype: Any, name: str = "dtype") -> int:
    """As dsop.h numbers it."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise ArgumentError(f"{name} is {dtype}, expected {_EXPECTED}") from None
    if kind not in TYPES:
        raise ArgumentError(f"{name} is {kind}, expected {_EXPECTED}")
    return TYPES[kind]


def _type_in(array: Any, name: str, dimensions: int, type_: int | None) -> int:
    if type(array) is not np.ndarray and (not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray)):
        raise ArgumentError(f"{name} is {type(array).__name__}, expected a NumPy array")  # nothing would see a mask
    found = TYPES.get(array.dtype)
    if found is None or (type_ is not None and found != type_):
        expected = _EXPECTED if type_ is None else str(DTYPES[type_])
        raise ArgumentError(f"{name}.dtype is {array.dtype}, expected {expected}")
    if dimensions and array.ndim != dimensions:
        raise ArgumentError(f"{name}.ndim is {array.ndim}, expected {dimensions}")
    return found


def _check_flags(array: Array, name: str, written: bool) -> None:
    if not array.flags.aligned:
        raise ArgumentError(f"{name} is not aligned to its elements, expected an array that is "
                            "(numpy.require(..., requirements='A') makes one)")
    if written and not array.flags.writeable:
        raise ArgumentError(f"{name} is read-only, expected an array that may be written to")


def _check_array(array: Any, name: str, dimensions: int, type_: int | None, written: bool) -> Array:
    _type_in(array, name, dimensions, type_)
    _check_flags(array, name, written)
    return array  # type: ignore[no-any-return]


def _stride(array: Array, name: str) -> int:
    if array.size == 0:
        return array.shape[1]
    itemsize = array.itemsize
    rows, columns = array.strides
    if array.shape[1] > 1 and columns != itemsize or array.shape[0] > 1 and (rows <= 0 or rows % itemsize):
        raise ArgumentError(f"{name}.strides is {array.strides}, expected rows of neighbouring elements "
                            f"(numpy.ascontiguousarray makes them so)")  # to C, a stride of 0 is `columns`
    return rows // itemsize if array.shape[0] > 1 else array.shape[1]


def _place(array: Array) -> tuple[int, bool]:
    """Where it begins, and whether it is known to be contiguous and writable: that is found in a third of the time."""
    try:
        return addressof(c_char.from_buffer(array)), True  # type: ignore[arg-type]
    except (TypeError, ValueError):  # read-only, empty, or with gaps
        return int(array.__array_interface__["data"][0]), False


def address(array: Array) -> int:
    return _place(array)[0]


def _rows(array: Array, name: str, written: bool) -> tuple[int, int, int, int]:
    """A matrix's first fields in dsop.h. Most are contiguous, and for these a call looks at less: after a large gradient
    nothing of Python's is in a cache, and each attribute costs microseconds."""
    where, is_plain = _place(array)
    rows, columns = array.shape
    if is_plain and where % array.itemsize == 0:
        return where, rows, columns, columns
    _check_flags(array, name, written)
    return where, rows, columns, _stride(array, name)


def vector_values(array: Any, name: str, written: bool = True) -> Array:
    """A contiguous array of any shape, as it lies."""
    _check_array(array, name, 0, None, written)
    if not array.flags.c_contiguous:
        raise ArgumentError(f"{name}.strides is {array.strides}, expected a contiguous array")
    return array  # type: ignore[no-any-return]


def matrix(array: Any, name: str, type_: int | None = None) -> Matrix:
    _type_in(array, name, 2, type_)
    return Matrix(*_rows(array, name, True))


def _index_array(array: Any, dtype: Any, name: str) -> Array:
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(f"{name} is MaskedArray, expected a NumPy array")
    given = np.asarray(array)
    if given.dtype.kind not in "iu":
        raise ArgumentError(f"{name}.dtype is {given.dtype}, expected whole numbers")
    converted = np.ascontiguousarray(given, dtype)
    if given.dtype != converted.dtype and not np.array_equal(given, converted):
        raise ArgumentError(f"{name} holds numbers below 0 or above {np.iinfo(dtype).max}")
    if converted.ndim != 1:
        raise ArgumentError(f"{name}.ndim is {converted.ndim}, expected 1")
    return converted


class Held(NamedTuple):
    """A structure, its type, and the arrays that must live as long."""

    structure: Any
    type: int
    arrays: tuple[Array, ...]


def factor(given: Any, name: str, type_: int | None = None) -> Held:
    """Dense as it lies; of sparse ones indices are converted, values not."""
    if isinstance(given, np.ndarray) or not hasattr(given, "indptr"):
        found = _type_in(given, name, 2, type_)
        return Held(Factor(*_rows(given, name, False)), found, (given,))
    if getattr(given, "format", "csr") != "csr":  # a square matrix in compressed columns would pass as its transpose
        raise ArgumentError(f"{name}.format is {given.format}, expected csr (compressed rows)")
    values = _check_array(given.data, f"{name}.data", 1, type_, False)
    offsets = _index_array(given.indptr, np.uintp, f"{name}.indptr")
    indices = _index_array(given.indices, np.uint32, f"{name}.indices")
    rows, columns = whole_sizes(given.shape, f"{name}.shape", 2)
    if offsets.size != rows + 1 or offsets[-1] > values.size or indices.size != values.size:
        raise ArgumentError(f"{name} has {offsets.size} offsets, {indices.size} indices and {values.size} values, "
                            f"expected {rows + 1} offsets and as many indices as values")
    if not values.flags.c_contiguous:
        raise ArgumentError(f"{name}.data.strides is {values.strides}, expected a contiguous array")
    return Held(Factor(address(values), rows, columns, columns, address(offsets), address(indices), values.size),
                TYPES[values.dtype], (values, offsets, indices))


def vector(given: Array | SparseVector, name: str, type_: int | None = None) -> Held:
    """Dense as it lies; of sparse ones indices are converted, values not."""
    if isinstance(given, SparseVector):
        values = _check_array(given.values, f"{name}.values", 1, type_, False)
        indices = _index_array(given.indices, np.uint32, f"{name}.indices")
        if indices.size != values.size:
            raise ArgumentError(f"{name} has {indices.size} indices and {values.size} values, expected as many of each")
        dimension = whole_size(given.dimension, f"{name}.dimension")
    else:
        values = _check_array(given, name, 1, type_, False)
        indices, dimension = np.empty(0, np.uint32), values.size
    if not values.flags.c_contiguous:
        raise ArgumentError(f"{name}.strides is {values.strides}, expected a contiguous array")
    where = address(indices) if indices.size else None
    return Held(Vector(dimension, values.size, where, address(values)), TYPES[values.dtype], (values, indices))


def copied(where: int | None, count: int, dtype: Any) -> Array:
    """A copy of what the library owns."""
    kind = np.dtype(dtype)
    if not count or not where:
        return np.empty(0, kind)
    values = np.empty(count, kind)
    memmove(address(values), where, values.nbytes)
    return values
