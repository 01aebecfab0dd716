"""All gradients of a model."""

from __future__ import annotations

from ctypes import byref, c_char_p, c_double, c_int, c_size_t, c_void_p, string_at
from operator import index
from typing import Any

import numpy as np

from dsop._arrays import DTYPES, Array, FactorLike, SparseVector, copied, factor, matrix, type_of, vector
from dsop._communicators import SaidToAll
from dsop._library import (ArgumentError, Owned, check, decoded, encoded, error_text, let_go, library, new_handle,
                           option_text, real_number, text_of, whole_size, whole_sizes)
from dsop._mpi import communicator
from dsop._table import Factor, Matrix


def policy_selects(policy: str) -> bool:
    """Whether a part of the gradient stays behind in a residual under such a policy."""
    selects = c_int()
    check(library.dsop_policy_selects(encoded(policy, "policy"), byref(selects)))
    return bool(selects.value)


def _rows_and_columns(shape: Any) -> list[int]:
    try:
        elements = index(shape)  # what np.prod() gives serves too
    except TypeError:
        return whole_sizes(shape, "shape", 2)
    return [1, whole_size(elements, "shape")]


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

    Raises
    ------
    ArgumentError
        On all ranks, if an argument is wrong on one or the ranks differ.

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
            dsop, dsop-bf16, dense, dense-overlapped or sparse, perhaps with ":ALGORITHM"; topk:DENSITY, or another
            algorithm that selects; none.
        max_pairs : int
            The most that a rank will give as factors; 0: none will be given.
        **options
            density_a, density_b and expected_pairs, to plan by. Of a bias `bias_of`, the name of its weight, and `errors`,
            "a" or "b" (the default), the weight's factor of whose columns it is the sum: given before its weight, under
            "dsop", it then costs nothing where the weight's factors go into a bucket.

        Raises
        ------
        ArgumentError
            On all ranks, if an argument is wrong on one or the ranks differ.

        Examples
        --------
        >>> model = dsop.Synchronizer()
        >>> model.add("w", (300, 200), max_pairs=64, expected_pairs=32)
        >>> model.add("bias", 200, "dense")
        >>> model.add("wide", (300, 200), "topk:0.01")
        """
        with SaidToAll(self.comm):
            numbers = *_rows_and_columns(shape), whole_size(max_pairs, "max_pairs")
            texts = encoded(name, "name"), encoded(policy, "policy"), option_text(**options)
        check(library.dsop_synchronizer_add(self._handle, texts[0], *numbers, *texts[1:]))

    def set_policy(self, name: str, policy: str) -> None:
        """Change a parameter's policy; what it has left behind is added to its next gradient.

        Parameters
        ----------
        name : str
            The parameter's.
        policy : str
            As for `add`.

        Raises
        ------
        ArgumentError
            On all ranks, if an argument is wrong on one or the ranks differ.
        TransportError
            A rank is lost.

        Examples
        --------
        >>> model = dsop.Synchronizer()
        >>> model.add("w", (300, 200), "topk:0.01")
        >>> model.set_policy("w", "dense")
        """
        with SaidToAll(self.comm):
            texts = encoded(name, "name"), encoded(policy, "policy")
        check(library.dsop_synchronizer_set_policy(self._handle, *texts))

    def begin(self, scale: float = 1.0, learning_rate: float = 1.0) -> None:
        """Begin a step. The sums are multiplied by `scale`: 1 / (samples of all ranks) for a mean. Never waits.

        Parameters
        ----------
        scale : float
            Of all sums in this step, the same on all ranks.
        learning_rate : float
            Of this step, where residuals hold steps (`residual_holds_step`).

        Raises
        ------
        ArgumentError
            Not here but by `finish`, on all ranks: an argument is wrong, or a step is under way.

        Examples
        --------
        >>> model = dsop.Synchronizer()
        >>> model.begin(scale=1 / 64)
        >>> model.finish()
        """
        try:
            numbers = real_number(scale, "scale"), real_number(learning_rate, "learning_rate")
        except ArgumentError as error:
            check(library.dsop_synchronizer_begin(self._handle, 1.0, 1.0))
            return self.fail(error)
        check(library.dsop_synchronizer_begin(self._handle, *numbers))

    def give_factors(self, name: str, a: FactorLike, b: FactorLike, target: Array, *, alpha: float = 1.0,
                     beta: float = 0.0) -> None:
        """Hand over factors: `finish` leaves ``beta * target + alpha * scale * sum over ranks of a.T @ b`` in `target`.

        That is the gradient as long as alpha is 1 and beta 0; `target` may also be a momentum (beta = mu), or the weights
        (alpha = - learning rate, beta = 1) once nothing reads them any more.

        Never waits. Arrays are left alone until `finish`; the synchronizer keeps them alive. What is wrong is raised
        by `finish`, on all ranks.

        Parameters
        ----------
        name : str
            The parameter's.
        a, b : ndarray or SparseMatrix
            pairs x rows and pairs x columns, at most max_pairs, of this object's dtype.
        target : ndarray
            rows x columns, where the result goes.
        alpha, beta : float
            What `finish` leaves in the target is ``beta * target + alpha * scale * sum``; 1 and 0 are the gradient.

        Raises
        ------
        ArgumentError
            Not here but by `finish`, on all ranks: an argument is wrong, or this stands outside of a step.

        Examples
        --------
        >>> model, weights = dsop.Synchronizer(np.float64), np.full((3, 2), 5.0)
        >>> model.add("w", (3, 2), max_pairs=4)
        >>> model.begin(scale=0.25)
        >>> model.give_factors("w", np.ones((4, 3)), np.ones((4, 2)), weights, alpha=-2, beta=1)
        >>> model.finish()
        >>> weights[0]
        array([3., 3.])
        """
        try:
            left, right = factor(a, "a", self._type), factor(b, "b", self._type)
            out = matrix(target, "target", self._type)
            numbers = real_number(alpha, "alpha"), real_number(beta, "beta")
            parameter = encoded(name, "name")
        except Exception as error:
            return self.fail(error, name if isinstance(name, str) else None)
        self._held += [left, right, target]
        check(library.dsop_synchronizer_give_factors(self._handle, parameter, left.structure, right.structure, out,
                                                     *numbers))

    def _give_places(self, name: str, a: Factor, b: Factor, target: Matrix, held: Any) -> None:
        """give_factors() of contiguous matrices of this object's type, which `held` keeps alive."""
        self._held.append(held)
        check(library.dsop_synchronizer_give_factors(self._handle, name.encode(), a, b, target, 1.0, 0.0))

    def _give_place(self, name: str, gradient: Matrix, held: Any) -> None:
        """give_gradient() of the same."""
        self._held.append(held)
        check(library.dsop_synchronizer_give_gradient(self._handle, name.encode(), gradient))

    def _matrix_of(self, target: Any, name: str) -> Any:
        if isinstance(target, np.ndarray) and target.ndim == 1 and target.flags.c_contiguous:
            target = target.reshape(1, -1)
        return matrix(target, name, self._type)

    def give_gradient(self, name: str, gradient: Array) -> None:
        """Hand over a gradient, which `finish` replaces by scale times the sum. As `give_factors`.

        Parameters
        ----------
        name : str
            The parameter's.
        gradient : ndarray
            rows x columns, or for a vector its elements, of this object's dtype; changed in place by `finish`.

        Raises
        ------
        ArgumentError
            As `give_factors`.

        Examples
        --------
        >>> model, gradient = dsop.Synchronizer(np.float64), np.ones((3, 2))
        >>> model.add("w", (3, 2), "dense")
        >>> model.begin(scale=0.5)
        >>> model.give_gradient("w", gradient)
        >>> model.finish()
        >>> gradient[0]
        array([0.5, 0.5])
        """
        try:
            out = self._matrix_of(gradient, "gradient")
            parameter = encoded(name, "name")
        except Exception as error:
            return self.fail(error, name if isinstance(name, str) else None)
        self._held.append(gradient)
        check(library.dsop_synchronizer_give_gradient(self._handle, parameter, out))

    def give_vector(self, name: str, own: Array | SparseVector, target: Array, *, alpha: float = 1.0,
                    beta: float = 0.0) -> None:
        """Hand over a vector whose indices count the target's elements row by row. As `give_factors`.

        Parameters
        ----------
        name : str
            The parameter's.
        own : SparseVector or ndarray
            Of rows * columns elements, of this object's dtype.
        target : ndarray
            rows x columns, or for a vector its elements, where the result goes.
        alpha, beta : float
            As for `give_factors`.

        Raises
        ------
        ArgumentError
            As `give_factors`.

        Examples
        --------
        >>> model, gradient = dsop.Synchronizer(np.float64), np.empty((2, 2))
        >>> model.add("embedding", (2, 2), "sparse")
        >>> model.begin()
        >>> model.give_vector("embedding", dsop.SparseVector(4, np.array([2]), np.array([5.0])), gradient)
        >>> model.finish()
        >>> gradient[1]
        array([5., 0.])
        """
        try:
            given = vector(own, "own", self._type)
            out = self._matrix_of(target, "target")
            numbers = real_number(alpha, "alpha"), real_number(beta, "beta")
            parameter = encoded(name, "name")
        except Exception as error:
            return self.fail(error, name if isinstance(name, str) else None)
        self._held += [given, target]
        check(library.dsop_synchronizer_give_vector(self._handle, parameter, given.structure, out, *numbers))

    def fail(self, error: str | BaseException, name: str | None = None) -> None:
        """Give up this step, for an exception or what a text says: `finish` raises it on all ranks. Never waits.

        Parameters
        ----------
        error : str or exception
            What the error says.
        name : str, optional
            Of the parameter that it is about.

        Raises
        ------
        ArgumentError
            By `finish`, on all ranks: the error, or that this stands outside of a step.

        Examples
        --------
        >>> model = dsop.Synchronizer()
        >>> model.add("w", 3, "dense")
        >>> model.begin()
        >>> model.fail("the loss is not a number", "w")
        >>> try:
        ...     model.finish()
        ... except dsop.ArgumentError as error:
        ...     print("not a number" in str(error))
        True
        """
        check(library.dsop_synchronizer_fail(self._handle, error_text(name) if name else None, error_text(error)))

    def finish(self) -> None:
        """Return when all gradients are complete.

        Raises
        ------
        ArgumentError
            On all ranks: what was wrong in the step, which is dropped; the next may begin.

        Examples
        --------
        >>> model, bias = dsop.Synchronizer(np.float64), np.ones(3)
        >>> model.add("bias", 3, "dense")
        >>> model.begin(scale=0.25)
        >>> model.give_gradient("bias", bias)
        >>> model.finish()
        >>> bias
        array([0.25, 0.25, 0.25])
        """
        status = library.dsop_synchronizer_finish(self._handle)
        held, self._held = self._held, []
        let_go(held, status)
        check(status)

    def describe(self) -> str:
        """A table of parameters, policies, algorithms, bytes and times.

        Raises
        ------
        ArgumentError
            A step is under way.

        Examples
        --------
        >>> model = dsop.Synchronizer()
        >>> model.add("embedding", (300, 200), "sparse")
        >>> "embedding" in model.describe()
        True
        """
        return text_of(library.dsop_synchronizer_describe, self._handle)

    def residual(self, name: str) -> Array:
        """A copy of what this rank has dropped of a parameter so far, by rows; empty under policies that drop nothing.

        Parameters
        ----------
        name : str
            The parameter's.

        Returns
        -------
        ndarray
            rows * columns elements, or none.

        Raises
        ------
        ArgumentError
            There is no such parameter.

        Examples
        --------
        >>> model = dsop.Synchronizer(np.float64)
        >>> model.add("w", 4, "topk:0.5")
        >>> model.begin()
        >>> model.give_gradient("w", np.array([5.0, 0.5, -7.0, 0.25]))
        >>> model.finish()
        >>> model.residual("w")
        array([0.  , 0.5 , 0.  , 0.25])
        """
        values, count = c_void_p(), c_size_t()
        check(library.dsop_synchronizer_residual(self._handle, encoded(name, "name"), byref(values), byref(count)))
        return copied(values.value, count.value, self.dtype)

    def reset_residuals(self) -> None:
        """Set this rank's residuals to zero, of all parameters: what they held is in no sum any more. Sends nothing.

        For after a step that overflowed, whose NaN and infinities would else come back, k a step.

        Raises
        ------
        ArgumentError
            A step is under way.

        Examples
        --------
        >>> model = dsop.Synchronizer(np.float64)
        >>> model.add("w", 2, "topk:0.5")
        >>> model.begin()
        >>> model.give_gradient("w", np.array([np.inf, np.nan]))
        >>> model.finish()
        >>> model.reset_residuals()
        >>> model.residual("w")
        array([0., 0.])
        """
        check(library.dsop_synchronizer_reset_residuals(self._handle))

    def _last_algorithm(self, name: str) -> str:
        algorithm = c_char_p()
        check(library.dsop_synchronizer_last_step(self._handle, encoded(name, "name"), byref(algorithm), *[None] * 7))
        return decoded(algorithm.value)

    def last_step(self, name: str) -> dict[str, Any]:
        """What the last step did to a parameter.

        Parameters
        ----------
        name : str
            The parameter's.

        Returns
        -------
        dict
            algorithm (empty: nothing travelled); target (k), chosen (by this rank), in_sum, nans and infinities, numbers
            of elements under policies that select; evaluated_local and evaluated_global, whether ok-topk found this rank's
            threshold, and that of sums, anew; predicted, how many elements gaussian-k's threshold reached before it was
            corrected (of others, chosen); selection_seconds, that this rank took in `finish` to select.

        Raises
        ------
        ArgumentError
            There is no such parameter.

        Examples
        --------
        >>> model, gradient = dsop.Synchronizer(np.float64), np.array([5.0, 0.5, -7.0, 0.25])
        >>> model.add("w", 4, "ok-topk:0.5")
        >>> model.begin()
        >>> model.give_gradient("w", gradient)
        >>> model.finish()
        >>> model.last_step("w")["chosen"], model.last_step("w")["evaluated_local"]
        (2, True)
        """
        algorithm = c_char_p()
        numbers = {key: c_size_t() for key in ("target", "chosen", "in_sum", "nans", "infinities")}
        evaluated = {key: c_int() for key in ("evaluated_local", "evaluated_global")}
        parameter = encoded(name, "name")
        check(library.dsop_synchronizer_last_step(self._handle, parameter, byref(algorithm),
                                                  *map(byref, numbers.values()), *map(byref, evaluated.values())))
        predicted, seconds = c_size_t(), c_double()
        check(library.dsop_synchronizer_last_selection(self._handle, parameter, byref(predicted), byref(seconds)))
        return {"algorithm": decoded(algorithm.value),
                **{key: number.value for key, number in numbers.items()},
                **{key: bool(is_so.value) for key, is_so in evaluated.items()},
                "predicted": predicted.value, "selection_seconds": seconds.value}

    def save(self) -> bytes:
        """This rank's residuals and states, for a checkpoint.

        Raises
        ------
        ArgumentError
            A step is under way.

        Examples
        --------
        >>> isinstance(dsop.Synchronizer().save(), bytes)
        True
        """
        data, count = c_void_p(), c_size_t()
        check(library.dsop_synchronizer_save(self._handle, byref(data), byref(count)))
        return string_at(data.value or 0, count.value)

    def load(self, data: bytes) -> None:
        """Take back what `save` gave on the same rank of as many, with the same parameters registered.

        Parameters
        ----------
        data : bytes
            This rank's.

        Raises
        ------
        ArgumentError
            On all ranks, if one's is of another model, damaged or cut.

        Examples
        --------
        >>> model, resumed = dsop.Synchronizer(), dsop.Synchronizer()
        >>> for each in (model, resumed):
        ...     each.add("w", 100, "topk:0.01")
        >>> resumed.load(model.save())
        """
        with SaidToAll(self.comm):
            if not isinstance(data, bytes):
                raise ArgumentError(f"data is {type(data).__name__}, expected bytes")
        check(library.dsop_synchronizer_load(self._handle, data, len(data)))
