"""What was built and what runs, and which algorithms there are."""

from __future__ import annotations

import ctypes
import json
import sys
import warnings
from collections.abc import Sequence
from ctypes import byref, c_size_t
from typing import Any

from dsop._library import ArgumentError, check, decoded, library, text_of


class _Info(dict[str, Any]):
    def __missing__(self, key: str) -> Any:
        raise KeyError("gloo: dsop.connect() sends over TCP of its own, which every build has" if key == "gloo" else key)


def built_and_runs() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(library.dsop_info))
    return found


def info() -> dict[str, Any]:
    """What was built and what runs. Warns of what makes programs slow or wrong.

    Returns
    -------
    dict
        version, mpi (the library's, or None), mpi_error (why calls over MPI would fail, or None), mpi_initialized,
        mpi_launcher (whether one has started this process), started_without_mpi (None, or "rank", "ranks" and "names" of
        the environment's variables where something else has started it with others), blas, blas_core, blas_keeps_up
        (whether its core uses AVX or AVX-512 where dsop does), instruction_set, threads (of a product), openmp
        (the library whose threads they are, or "threads of its own"), openmp_runtimes (those that this process has loaded).

    Warns
    -----
    RuntimeWarning
        Two OpenMP runtimes are loaded, each of which takes all cores; or the MPI that runs, or mpi4py's, is another than
        dsop is built for; or OpenBLAS runs kernels for a processor with fewer vector instructions than this one.

    Examples
    --------
    >>> dsop.info()["version"]
    '0.1.0'
    """
    found = _Info(built_and_runs())
    if len(found["openmp_runtimes"]) > 1:
        warnings.warn("two OpenMP runtimes are loaded, each of which takes all cores: "
                      + ", ".join(found["openmp_runtimes"]), RuntimeWarning, stacklevel=2)
    if found["mpi_error"]:
        warnings.warn(found["mpi_error"], RuntimeWarning, stacklevel=2)
    if not found["blas_keeps_up"]:
        warnings.warn(f"OpenBLAS runs its kernels for {found['blas_core']}, without {found['instruction_set']}, which slows "
                      "down all that uses it but dsop's calls: set OPENBLAS_CORETYPE, as to SkylakeX (avx512) or Haswell "
                      "(avx2)", RuntimeWarning, stacklevel=2)
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None and not mpi4py.Get_library_version().startswith(found["mpi"] or "no MPI"):
        warnings.warn(f"mpi4py is built for {mpi4py.Get_library_version().splitlines()[0]}, dsop for {found['mpi']}: "
                      "its communicators can't be used", RuntimeWarning, stacklevel=2)
    return found


def algorithms(family: str | None = None) -> Sequence[dict[str, str]]:
    """List the algorithms.

    Parameters
    ----------
    family : str, optional
        Of this one alone: "outer-product", "dense", "broadcast", "reduce", "sparse", "topk", "selection", ...

    Returns
    -------
    list of dict
        family, name, summary and source of each.

    Raises
    ------
    ArgumentError
        There is no such family.

    Examples
    --------
    >>> [a["name"] for a in dsop.algorithms("reduce")][0]
    'mpi'
    """
    count = c_size_t()
    check(library.dsop_algorithm_count(byref(count)))
    lines = []
    for index in range(count.value):
        texts = [ctypes.c_char_p() for _ in range(4)]
        check(library.dsop_algorithm_describe(index, *map(byref, texts)))
        lines.append({key: decoded(text.value)
                      for key, text in zip(("family", "name", "summary", "source"), texts)})
    families = list(dict.fromkeys(line["family"] for line in lines))
    if family is not None and family not in families:
        raise ArgumentError(f"family is {family}, expected one of {', '.join(families)}")
    return [line for line in lines if family in (None, line["family"])]
