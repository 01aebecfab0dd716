"""All gradients of a model."""

from __future__ import annotations

from ctypes import byref, c_char_p, c_size_t, c_void_p, string_at
from typing import Any

import numpy as np

from dsop._arrays import DTYPES, Array, FactorLike, SparseVector, copied, factor, matrix, type_of, vector
from dsop._communicators import SaidToAll, communicator
from dsop._library import Owned, check, library, new_handle, option_text, text_of


class Synchronizer(Owned):
    """Sum the gradients of a model's parameters over ranks while backpropagation goes on.

    Each step: `begin`, one of the `give_...` for each parameter as soon as backpropagation has it, `finish`. All ranks
    give in the same order.

    Parameters
    ----------
    dtype : dtype
        float32 or float64.
    comm : None, mpi4py.MPI.Comm or Communicator
        None is everybody.
    bucket_bytes : int, optional
        Smaller gradients share allreduces of so many.
    residual_holds_step : bool, optional
        Whether the learning rate is part of what `finish` leaves.
    overlap : bool, optional
        Start at once what is given.
    machine : Machine, optional
        To plan for.
    wire : {"full", "bf16"}, optional
        How values travel.

    Examples
    --------
    >>> model = dsop.Synchronizer(np.float64)
    >>> model.add("w", (3, 2), max_pairs=4)
    >>> gradient = np.zeros((3, 2))
    >>> model.begin(scale=0.25)
    >>> model.give_factors("w", np.ones((4, 3)), np.ones((4, 2)), gradient)
    >>> model.finish()
    >>> gradient[0]
    array([1., 1.])
    """

    _free = "dsop_synchronizer_free"

    def __init__(self, dtype: Any = np.float32, comm: Any = None, *, bucket_bytes: int | None = None,
                 residual_holds_step: bool | None = None, overlap: bool | None = None, machine: Any = None,
                 wire: str | None = None) -> None:
        self.comm = communicator(comm)
        with SaidToAll(self.comm):
            self._type = type_of(dtype)
            options = option_text(bucket_bytes=bucket_bytes, residual_holds_step=residual_holds_step, overlap=overlap,
                                  machine=machine, wire=wire)
        self.dtype = DTYPES[self._type]
        self._held: list[Any] = []
        self._handle = new_handle(library.dsop_synchronizer_create, self.comm.handle, self._type, options)

    def add(self, name: str, shape: tuple[int, int] | int, policy: str = "dsop", max_pairs: int = 0,
            **options: Any) -> None:
        """Register a parameter.

        Parameters
        ----------
        name : str
            Its own.
        shape : tuple of two int, or int
            The gradient's rows and columns; a vector's number of elements.
        policy : str
            dsop, dense, dense-overlapped or sparse, perhaps with ":ALGORITHM"; topk:DENSITY, or another algorithm that
            selects; none.
        max_pairs : int
            The most that a rank will give as factors; 0: none will be given.
        **options
            density_a, density_b and expected_pairs, to plan by.
        """
        with SaidToAll(self.comm):
            rows, columns = (1, shape) if isinstance(shape, int) else shape
            numbers = c_size_t(rows), c_size_t(columns), c_size_t(max_pairs)
            text = option_text(**options)
        check(library.dsop_synchronizer_add(self._handle, name.encode(), *numbers, policy.encode(), text))

    def set_policy(self, name: str, policy: str) -> None:
        """Change a parameter's policy; what it has left behind is added to its next gradient."""
        check(library.dsop_synchronizer_set_policy(self._handle, name.encode(), policy.encode()))

    def begin(self, scale: float = 1.0, learning_rate: float = 1.0) -> None:
        """Begin a step. The sums are multiplied by `scale`: 1 / (samples of all ranks) for a mean. Never waits."""
        check(library.dsop_synchronizer_begin(self._handle, scale, learning_rate))

    def give_factors(self, name: str, a: FactorLike, b: FactorLike, gradient: Array) -> None:
        """Hand over factors: after `finish` the gradient is scale times the sum over ranks of ``a.T @ b``.

        Never waits. Arrays are left alone until `finish`; the synchronizer keeps them alive. What is wrong is raised
        by `finish`, on all ranks.
        """
        try:
            left, right = factor(a, "a", self._type), factor(b, "b", self._type)
            out = matrix(gradient, "gradient", self._type)
        except ValueError as error:
            return self.fail(str(error), name)
        self._held += [left, right, gradient]
        check(library.dsop_synchronizer_give_factors(self._handle, name.encode(), left.structure, right.structure, out))

    def _matrix_of(self, gradient: Any) -> Any:
        if isinstance(gradient, np.ndarray) and gradient.ndim == 1 and gradient.flags.c_contiguous:
            gradient = gradient.reshape(1, -1)
        return matrix(gradient, "gradient", self._type)

    def give_gradient(self, name: str, gradient: Array) -> None:
        """Hand over a gradient, which `finish` replaces by scale times the sum. As `give_factors`."""
        try:
            out = self._matrix_of(gradient)
        except ValueError as error:
            return self.fail(str(error), name)
        self._held.append(gradient)
        check(library.dsop_synchronizer_give_gradient(self._handle, name.encode(), out))

    def give_vector(self, name: str, own: Array | SparseVector, gradient: Array) -> None:
        """Hand over a vector whose indices count the gradient's elements row by row. As `give_factors`."""
        try:
            given = vector(own, "own", self._type)
            out = self._matrix_of(gradient)
        except ValueError as error:
            return self.fail(str(error), name)
        self._held += [given, gradient]
        check(library.dsop_synchronizer_give_vector(self._handle, name.encode(), given.structure, out))

    def fail(self, error: str, name: str | None = None) -> None:
        """Give up this step, after an exception say: `finish` raises `error` on all ranks. Never waits."""
        check(library.dsop_synchronizer_fail(self._handle, name.encode() if name else None, error.encode()))

    def finish(self) -> None:
        """Return when all gradients are complete.

        Raises
        ------
        ArgumentError
            On all ranks: what was wrong in the step, which is dropped; the next may begin.
        """
        try:
            check(library.dsop_synchronizer_finish(self._handle))
        finally:
            self._held = []

    def describe(self) -> str:
        """A table of parameters, policies, algorithms, bytes and times."""
        return text_of(library.dsop_synchronizer_describe, self._handle)

    def residual(self, name: str) -> Array:
        """A copy of what this rank has dropped of a parameter so far, by rows; empty under policies that drop nothing."""
        values, count = c_void_p(), c_size_t()
        check(library.dsop_synchronizer_residual(self._handle, name.encode(), byref(values), byref(count)))
        return copied(values.value, count.value, self.dtype)

    def last_step(self, name: str) -> dict[str, Any]:
        """What the last step did to a parameter: algorithm, target, chosen, in_sum, nans, infinities."""
        algorithm = c_char_p()
        numbers = {key: c_size_t() for key in ("target", "chosen", "in_sum", "nans", "infinities")}
        check(library.dsop_synchronizer_last_step(self._handle, name.encode(), byref(algorithm),
                                                  *map(byref, numbers.values())))
        return {"algorithm": (algorithm.value or b"").decode(),
                **{key: number.value for key, number in numbers.items()}}

    def save(self) -> bytes:
        """This rank's residuals and states, for a checkpoint."""
        data, count = c_void_p(), c_size_t()
        check(library.dsop_synchronizer_save(self._handle, byref(data), byref(count)))
        return string_at(data.value or 0, count.value)

    def load(self, data: bytes) -> None:
        """Take back what `save` gave on the same rank of as many, with the same parameters registered."""
        check(library.dsop_synchronizer_load(self._handle, data, len(data)))
