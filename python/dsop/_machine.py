"""Machines, and what calls would do on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_double, c_size_t
from os import PathLike
from typing import Any

import numpy as np

from dsop._arrays import type_of
from dsop._library import (ArgumentError, Owned, check, decoded, encoded, encoded_path, library, new_handle, option_text,
                           real_number, shown, whole_number, whole_size, whole_sizes)
from dsop._mpi import communicator


class Machine(Owned):
    """A network and a processor as the planner sees them.

    Fields are read and replaced by their names in a machine file: ``machine["latency_seconds"]`` is a number,
    ``machine["ring_step_seconds"]`` a list where it was measured, ``machine["inner_levels"]`` a list of dicts of the levels
    inside its network, that of ranks on one node first.

    Parameters
    ----------
    path : path, optional
        A file that `write`, or `dsop-bench calibrate`, has written; default: a cluster with 10 Gbit/s.
    on_threads : bool
        Whether the default is that of ranks which are threads of one process.
    **fields
        To replace: latency_seconds, overhead_seconds, gap_seconds, gap_per_byte_seconds, flops_per_second,
        blas_flops_per_second, memory_bytes_per_second, write_bytes_per_second, large_write_bytes_per_second,
        hidden_share, indexed_addition_factor, piece_bytes (numbers), and the others of a machine file.

    Raises
    ------
    Error
        The file can't be read.
    ArgumentError
        A name is not known or a number makes no sense.

    Examples
    --------
    >>> dsop.Machine(gap_per_byte_seconds=8e-9)["latency_seconds"]
    1e-05
    """

    _free = "dsop_machine_free"

    def __init__(self, path: str | PathLike[str] | None = None, *, on_threads: bool = False, **fields: Any) -> None:
        if on_threads and path is not None:
            raise ArgumentError(f"on_threads with the file {shown(path)}, expected one of both")
        self._handle = (new_handle(library.dsop_machine_default, int(bool(on_threads))) if path is None
                        else new_handle(library.dsop_machine_read, encoded_path(path, "path")))
        if fields:
            self._replace(fields)

    @classmethod
    def of(cls, comm: Any = None) -> Machine:
        """What calls plan for where they must choose an algorithm and are given no machine.

        As the environment variable DSOP_MACHINE says: a file; ``default``; ``probe``, or nothing: over MPI and TCP it is
        measured, once for a communicator. All ranks call it.

        Parameters
        ----------
        comm : None, mpi4py.MPI.Comm or Communicator
            None is everybody.

        Raises
        ------
        ArgumentError
            On all ranks, if DSOP_MACHINE names a file that can't be read, or differs between ranks.

        Examples
        --------
        >>> dsop.Machine.of()["latency_seconds"] > 0
        True
        """
        ranks = communicator(comm)
        machine = cls.__new__(cls)
        machine._handle = new_handle(library.dsop_machine_of, ranks.handle)
        return machine

    def _fields(self) -> dict[str, Any]:
        text = c_char_p()
        check(library.dsop_machine_text(self._handle, byref(text)))
        fields: dict[str, Any] = json.loads(decoded(text.value))
        fields.setdefault("inner_levels", [])
        return fields

    def _replace(self, fields: dict[str, Any]) -> None:
        try:
            text = json.dumps({**self._fields(), **fields}, default=float, allow_nan=False)
        except (TypeError, ValueError, RuntimeError, RecursionError):
            raise ArgumentError(f"{', '.join(fields)}: expected what JSON has for a machine's fields") from None
        new = new_handle(library.dsop_machine_of_text, encoded(text, "text"))
        check(library.dsop_machine_free(self._handle))
        self._handle = new

    def __getitem__(self, name: str) -> Any:
        encoded(name, "name")
        fields = self._fields()
        if name not in fields:
            raise ArgumentError(f"name is {shown(name)}, expected one of {', '.join(fields)}")
        return fields[name]

    def __setitem__(self, name: str, value: Any) -> None:
        encoded(name, "name")
        self._replace({name: value})

    def write(self, path: str | PathLike[str]) -> None:
        """Replace the file as a whole.

        Parameters
        ----------
        path : path
            Where; its folder must be there.

        Raises
        ------
        Error
            It can't be written.

        Examples
        --------
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dsop.Machine(latency_seconds=3e-6).write(folder + "/machine")
        ...     dsop.Machine(folder + "/machine")["latency_seconds"]
        3e-06
        """
        check(library.dsop_machine_write(self._handle, encoded_path(path, "path")))

    def seconds(self, size_bytes: int = 0, n: float = 0, m: float = 0, K: float = 0,
                dtype: Any = np.float32) -> dict[str, float]:
        """Predicted seconds: message and exchange of so many bytes, product n x m over K, addition of n x m elements.

        Parameters
        ----------
        size_bytes : int
            Of the message, and of each direction of the exchange.
        n, m, K : float
            The product is n x K times K x m, the addition of n x m elements.
        dtype : dtype
            float32 or float64.

        Returns
        -------
        dict
            Seconds, by "message", "exchange", "product" and "addition".

        Raises
        ------
        ArgumentError
            A number is below 0 or none.

        Examples
        --------
        >>> dsop.Machine(latency_seconds=1e-3).seconds()["message"] >= 1e-3
        True
        """
        names = ("message", "exchange", "product", "addition")
        times = [c_double() for _ in names]
        numbers = [real_number(value, name, 0) for name, value in (("n", n), ("m", m), ("K", K))]
        check(library.dsop_machine_seconds(self._handle, type_of(dtype), whole_size(size_bytes, "size_bytes"), *numbers,
                                           *map(byref, times)))
        return {name: time.value for name, time in zip(names, times)}

    def option_text(self) -> str:
        """How options name it.

        Examples
        --------
        >>> dsop.Machine().option_text().startswith("handle:")
        True
        """
        return f"handle:{self._handle}"


def _sizes(values: Sequence[int], name: str) -> tuple[Any, int]:
    numbers = whole_sizes(values, name)
    return (c_size_t * len(numbers))(*numbers), len(numbers)


def plan_outer_products(shape: tuple[int, int], pairs: Sequence[int], dtype: Any = np.float32,
                        **options: Any) -> tuple[str, float]:
    """Say what a sum of outer products would do, without communicating.

    Parameters
    ----------
    shape : tuple of two int
        The gradient's: n, m.
    pairs : sequence of int
        Of each rank.
    dtype : dtype
        float32 or float64.
    **options
        algorithm, machine, wire, factor_wire, sharded; nodes, the lowest rank of each rank's node: [0, 0, 2, 2].

    Returns
    -------
    text : str
        The plan, several lines.
    seconds : float
        Predicted for the whole call, with the agreement that opens it.

    Raises
    ------
    ArgumentError
        An argument makes no sense, or no algorithm can be used.

    Examples
    --------
    >>> text, seconds = dsop.plan_outer_products((1000, 1000), [16] * 8)
    """
    text, seconds = c_char_p(), c_double()
    check(library.dsop_plan_outer_products(type_of(dtype), *whole_sizes(shape, "shape", 2), *_sizes(pairs, "pairs"),
                                           option_text(**options), byref(text), byref(seconds)))
    return decoded(text.value), seconds.value


def plan_sparse(elements: int, nonzeros: Sequence[int], dtype: Any = np.float32, **options: Any) -> tuple[str, float]:
    """As `plan_outer_products` for a sparse allreduce; the options too, beside factor_wire and sharded.

    Parameters
    ----------
    elements : int
        Of the vectors.
    nonzeros : sequence of int
        Of each rank.
    dtype : dtype
        float32 or float64.
    **options
        algorithm, machine, wire, overlap, nodes.

    Returns
    -------
    text, seconds
        As of `plan_outer_products`.

    Raises
    ------
    ArgumentError
        As `plan_outer_products`.

    Examples
    --------
    >>> text, seconds = dsop.plan_sparse(100000, [1000] * 8)
    """
    text, seconds = c_char_p(), c_double()
    check(library.dsop_plan_sparse(type_of(dtype), whole_size(elements, "elements"), *_sizes(nonzeros, "nonzeros"),
                                   option_text(**options), byref(text), byref(seconds)))
    return decoded(text.value), seconds.value


def plan_topk(elements: int, k: int, ranks: int, dtype: Any = np.float32, **options: Any) -> dict[str, float]:
    """What a top-k allreduce costs beside the selection and the agreement: messages, bytes, seconds of the busiest rank.

    Parameters
    ----------
    elements : int
        Of the vectors.
    k : int
        How many each rank chooses.
    ranks : int
        How many there are. Memory and time grow with them.
    dtype : dtype
        float32 or float64.
    **options
        algorithm, machine, wire, nodes.

    Returns
    -------
    dict
        "messages", "bytes" and "seconds" of the busiest rank.

    Raises
    ------
    ArgumentError
        An argument makes no sense.

    Examples
    --------
    >>> dsop.plan_topk(100000, 1000, 8)["messages"] > 0
    True
    """
    messages, size_bytes, seconds = c_size_t(), c_size_t(), c_double()
    numbers = whole_size(elements, "elements"), whole_size(k, "k"), whole_number(ranks, "ranks")
    check(library.dsop_plan_topk(type_of(dtype), *numbers, option_text(**options), byref(messages), byref(size_bytes),
                                 byref(seconds)))
    return {"messages": messages.value, "bytes": size_bytes.value, "seconds": seconds.value}
