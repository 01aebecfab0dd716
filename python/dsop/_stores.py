"""Ranks that find each other through a store: processes of any launcher, without MPI."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_char_p, c_double, c_int, c_size_t, c_void_p
from datetime import timedelta
from typing import Any

from dsop._communicators import Communicator, of_programs, watch_main_thread
from dsop._library import (ArgumentError, Error, TransportError, encoded_path, library, new_handle, option_text,
                           real_number, whole_number)

_SHORTEST_WAIT_SECONDS = 0.001  # to torch's stores 0 means for ever
_LOOK_SECONDS = 0.005
_NO_TIMEOUT = (TypeError, AttributeError, NameError, ConnectionError)


def _times_set(store: Any, key: str, more: int) -> int | None:
    """How often the key was set, after `more` times, where the store can count.

    It tells without waiting whether a key is there: torch's TCPStore is of no use after a wait() that has timed out, and
    compare_set() of torch 1.13 makes a Python object without the interpreter's lock, which crashes other threads.
    """
    try:
        return int(store.add(key + "/set", more))
    except (AttributeError, NotImplementedError, RuntimeError):
        return None


def _wait(store: Any, key: str, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while (times := _times_set(store, key, 0)) == 0:
        if time.monotonic() >= end:
            return False
        time.sleep(_LOOK_SECONDS)
    if times is not None:
        return True
    store.wait([key], timedelta(seconds=max(seconds, _SHORTEST_WAIT_SECONDS)))
    return True


class _Functions:
    """The store's functions as C calls them; what they raise is kept, since it can't pass through C."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.failure: BaseException | None = None
        self.last_wait: Exception | None = None
        self.set = CFUNCTYPE(c_int, c_char_p, c_char_p, c_void_p)(self._set)
        self.get = CFUNCTYPE(c_int, c_char_p, c_void_p, c_size_t, c_void_p)(self._get)
        self.wait = CFUNCTYPE(c_int, c_char_p, c_double, c_void_p)(self._wait)

    def let_go(self) -> None:
        """The store may end: C calls no more."""
        del self.set, self.get, self.wait  # each of which holds this object
        self.failure = self.last_wait = None  # whose tracebacks do, too

    def _kept(self, call: Callable[[], int]) -> int:
        try:
            return call()
        except BaseException as error:
            self.failure = self.failure or error
            return -1

    def _set(self, key: bytes, value: bytes, _: object) -> int:
        def call() -> int:
            self._store.set(key.decode(), value.decode())
            _times_set(self._store, key.decode(), 1)
            return 0
        return self._kept(call)

    def _get(self, key: bytes, value: int, room: int, _: object) -> int:
        def call() -> int:
            found = self._store.get(key.decode())
            text = found.encode() if isinstance(found, str) else bytes(found)
            if len(text) >= room:
                raise Error(f"the store's value of {key.decode()} has {len(text)} bytes, expected at most {room - 1}")
            ctypes.memmove(value, text + b"\0", len(text) + 1)
            return 0
        return self._kept(call)

    def _wait(self, key: bytes, seconds: float, _: object) -> int:
        def call() -> int:
            try:
                return int(_wait(self._store, key.decode(), seconds))
            except _NO_TIMEOUT:
                raise
            except Exception as error:  # each store raises something else when the time is over
                self.last_wait = error
                return 0
        return self._kept(call)


def connect(store: Any, rank: int, size: int, *, run: str = "run", restart: int = 0, limit_seconds: float = 30.0,
            interface: str | None = None) -> Communicator:
    """Connect processes that find each other through a store, over TCP: no launcher and no MPI are needed.

    All ranks call it. No rank uses the store after any has returned without an error, so it may end with one
    of them.

    Parameters
    ----------
    store : str, path or object
        A file that all ranks see, or an object with ``set(key, value)``, ``get(key)`` and ``wait(keys, timedelta)``, as
        torch.distributed's stores have them; ``add(key, amount)`` is used where it has one.
    rank, size : int
        This process's number, 0 .. size - 1, and how many there are.
    run, restart : str, int
        Keys begin with them: runs on one store must differ in one of them.
    limit_seconds : float
        For all ranks to come.
    interface : str, optional
        The network interface to use, as in the environment variable DSOP_SOCKET_IFNAME, or else GLOO_SOCKET_IFNAME.

    Returns
    -------
    Communicator
        Its connections end with the last object that holds it. Where there are several ranks, an exception that ends this
        rank's program from then on ends the process at once, so that ranks that wait for it raise: functions of `atexit`
        do not run, and what open files hold back is lost.

    Raises
    ------
    ArgumentError
        An argument makes no sense.
    TransportError
        On all ranks: a rank did not come in time (it is named), two have one number, or the store loses what is set.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     alone = dsop.connect(folder + "/store", rank=0, size=1)
    >>> alone.rank, alone.size
    (0, 1)
    """
    options = option_text(run=run, restart=restart, limit_seconds=real_number(limit_seconds, "limit_seconds"),
                          interface=interface)
    numbers = whole_number(rank, "rank"), whole_number(size, "size")
    watch_main_thread()
    if isinstance(store, (str, os.PathLike)):
        return of_programs(new_handle(library.dsop_communicator_from_file, encoded_path(store, "store"), *numbers,
                                      options))
    missing = [name for name in ("set", "get", "wait") if not callable(getattr(store, name, None))]
    if missing:
        raise ArgumentError(f"store is {type(store).__name__}, which lacks {' and '.join(missing)}, expected a path or a "
                            "store with set, get and wait")
    functions = _Functions(store)
    try:
        return of_programs(new_handle(library.dsop_communicator_from_store, functions.set, functions.get,
                                      functions.wait, None, *numbers, options))
    except TransportError as error:
        if functions.failure is not None and not isinstance(functions.failure, Exception):  # KeyboardInterrupt
            raise functions.failure from None
        raise error from functions.failure or functions.last_wait
    finally:
        functions.let_go()
