"""libdsop_c as ctypes sees it, its errors as exceptions, and signals that end waits."""

from __future__ import annotations

import _thread
import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator
from ctypes import CFUNCTYPE, byref, c_char_p, c_double, c_int, c_uint64
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from dsop import _table


class Error(RuntimeError):
    """Base of the exceptions that dsop raises."""


class ArgumentError(Error, ValueError):
    """A call that makes no sense. All ranks raise it, with the same text; the communicator can be used again."""


class TransportError(Error):
    """A rank is lost. The communicator is of no more use."""


FILE = "libdsop_c.so.1"


def _own_libraries() -> list[str]:
    """That of the wheel, or of the prefix that the package is installed below: PREFIX/lib/python3/dist-packages/dsop."""
    package = Path(__file__).parent
    prefixes = [parent.parent for parent in package.parents if parent.name in ("lib", "lib64")]
    folders = [prefix / lib for prefix in [package, *prefixes] for lib in ("lib", "lib64")]
    return [str(found) for folder in folders if folder.is_dir()
            for found in [folder / FILE, *folder.glob(f"*-linux-gnu/{FILE}")] if found.is_file()]


def _open_library() -> ctypes.CDLL:
    named = os.environ.get("DSOP_LIBRARY")
    errors = []
    # Its own alone, where it has one: another that the system finds may be older, or of another MPI. A source tree has none.
    for path in [named] if named else _own_libraries() or [FILE]:
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            errors.append(str(error))
    raise ImportError(f"dsop needs {FILE}, which could not be loaded ({'; '.join(errors)}): install libdsop-c1, or name "
                      "the file in the environment variable DSOP_LIBRARY")


def _with_types(opened: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, parameters) in _table.FUNCTIONS.items():
        try:
            function = getattr(opened, name)
        except AttributeError:
            raise ImportError(f"{opened._name} has no {name}: expected that of dsop {_table.VERSION}") from None
        function.restype, function.argtypes = result, parameters
    version = opened.dsop_version().decode()
    if version.split(".")[:2] != _table.VERSION.split(".")[:2]:
        raise ImportError(f"{opened._name} is of dsop {version}, expected {_table.VERSION}, as this package")
    return opened


library = _with_types(_open_library())

_AGAIN_SECONDS = 0.05  # what a signal is heard in has ended by then
_raised = threading.local()
_under_way: list[Any] = []  # what calls use that go on, since a signal has ended the wait for them


def _watch(has_ended: Callable[[], bool]) -> Generator[int, None, None]:
    # CPython runs signal handlers where a generator goes on: behind the yield, so within `try`. In a function's first
    # line they would run before it, and ctypes would swallow what they raise.
    answer = 0
    while True:
        try:
            yield answer
            answer = int(has_ended() or getattr(_raised, "error", None) is not None)
        except GeneratorExit:
            return
        except BaseException as error:  # KeyboardInterrupt, or whatever the program's handler raises
            _raised.error = error
            answer = 1


def watch_signals(has_ended: Callable[[], bool] = lambda: False) -> None:
    """Waits of this thread look every 100 ms whether a handler of a signal has raised, or has_ended()."""
    if getattr(_raised, "callback", None) is not None:
        return
    watch = _watch(has_ended)
    next(watch)
    _raised.callback = CFUNCTYPE(c_int)(watch.__next__)
    library.dsop_set_interrupt(_raised.callback)


def decoded(text: bytes | None) -> str:
    """The library's words, in which there may be a path that is no text; none where it has given none."""
    return (text or b"").decode(errors="backslashreplace")


def raise_error(status: int) -> None:
    """What a status other than 0 stands for."""
    text = decoded(library.dsop_last_error())
    error, _raised.error = getattr(_raised, "error", None), None
    if error is not None:
        raise error
    if status == _table.DSOP_ERROR_ARGUMENT:
        raise ArgumentError(text)
    if status in (_table.DSOP_ERROR_TRANSPORT, _table.DSOP_ERROR_INTERRUPTED):
        raise TransportError(text)
    if status == _table.DSOP_ERROR_MEMORY:
        raise MemoryError(text)
    raise Error(text)


def check(status: int) -> None:
    if status:
        raise_error(status)


def let_go(held: Any, status: int) -> None:
    """`held` is what a call has used that ended so. If it goes on, it needs that for as long as the program lives."""
    if status == _table.DSOP_ERROR_INTERRUPTED:
        _under_way.append(held)


def _interrupt_main_soon() -> None:
    time.sleep(_AGAIN_SECONDS)
    if callable(signal.getsignal(signal.SIGINT)):
        os.kill(os.getpid(), signal.SIGINT)  # ends a sleep too, as _thread.interrupt_main() does not


def raise_later(error: BaseException) -> None:
    """For where Python drops what is raised: Ctrl-C is heard once more, anything else ends a wait of this thread."""
    if isinstance(error, KeyboardInterrupt):
        if not sys.is_finalizing():  # then there is nothing to interrupt, and threads no longer run
            _thread.start_new_thread(_interrupt_main_soon, ())
    elif getattr(_raised, "callback", None) is None:  # no wait of this thread asks
        traceback.print_exception(type(error), error, error.__traceback__)
    else:
        _raised.error = error


def interrupt_again() -> None:
    """What has ended a wait where Python would drop it."""
    error, _raised.error = getattr(_raised, "error", None), None
    if error is not None:
        raise_later(error)


def new_handle(function: Any, *arguments: Any) -> int:
    """What the function, whose last argument is where it puts a handle, has put there."""
    handle = c_uint64()
    check(function(*arguments, byref(handle)))
    return handle.value


def text_of(function: Any, *arguments: Any) -> str:
    """The same of a text."""
    text = c_char_p()
    check(function(*arguments, byref(text)))
    return decoded(text.value)


def shown(value: Any) -> str:
    """A value in a message: in ASCII, and cut off where it is long."""
    try:
        text = ascii(value)
    except ValueError:  # Python writes no int of more than 4300 digits
        text = f"{type(value).__name__} of very many digits"
    return text if len(text) <= 200 else text[:200] + "..."


def _index(value: Any, name: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise ArgumentError(f"{name} is {type(value).__name__}, expected a whole number") from None


def whole_number(value: Any, name: str) -> int:
    """For an int of C's, which ctypes would cut to size."""
    number = _index(value, name)
    if c_int(number).value != number:
        raise ArgumentError(f"{name} is {shown(number)}, expected a number of 32 bits")
    return number


def whole_size(value: Any, name: str) -> int:
    """For a size_t or uint64_t of C's."""
    number = _index(value, name)
    if not 0 <= number < 2**64:
        raise ArgumentError(f"{name} is {shown(number)}, expected a number from 0 to 2**64 - 1")
    return number


def whole_sizes(values: Any, name: str, count: int | None = None) -> list[int]:
    """For several, or so many."""
    try:
        numbers = list(values)
    except TypeError:
        raise ArgumentError(f"{name} is {type(values).__name__}, expected {count or 'several'} whole numbers") from None
    if count is not None and len(numbers) != count:
        raise ArgumentError(f"{name} is {shown(tuple(numbers))}, expected {count} whole numbers")
    return [whole_size(number, f"{name}[{i}]") for i, number in enumerate(numbers)]


def real_number(value: Any, name: str, least: float | None = None) -> float:
    """For a double of C's."""
    try:
        number = value if type(value) is float else c_double(value).value
    except (TypeError, ValueError, RuntimeError):  # the last from a tensor of several
        raise ArgumentError(f"{name} is {type(value).__name__}, expected a number") from None
    except OverflowError:
        raise ArgumentError(f"{name} is {shown(value)}, expected a number that a double holds") from None
    if least is not None and not number >= least:
        raise ArgumentError(f"{name} is {number}, expected a number of at least {least}")
    return number


def _for_c(text: bytes, given: Any, name: str) -> bytes:
    if b"\0" in text:  # where C's ends
        raise ArgumentError(f"{name} is {shown(given)}, expected no NUL in it")
    return text


def encoded(text: Any, name: str) -> bytes:
    if not isinstance(text, str):
        raise ArgumentError(f"{name} is {type(text).__name__}, expected str")
    try:
        return _for_c(text.encode(), text, name)
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{name} is {shown(text)}, expected a text ({error.reason})") from None


def encoded_path(path: Any, name: str) -> bytes:
    try:
        return _for_c(os.fsencode(path), path, name)
    except (TypeError, UnicodeEncodeError):
        raise ArgumentError(f"{name} is {shown(path)}, expected a path") from None


def error_text(error: Any) -> bytes:
    """Of an exception or a text. Where one is handled already nothing may refuse it, whatever is in it."""
    return (error if isinstance(error, str) else str(error) or type(error).__name__).encode(errors="backslashreplace")


def option_text(**options: Any) -> bytes:
    """NAME=VALUE pairs of those that are not None; a machine by its handle."""
    pairs = []
    for name, value in options.items():
        if value is None:
            continue
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if isinstance(value, (bool, np.bool_)):
            value = int(value)
        elif hasattr(value, "option_text"):
            value = value.option_text()
        elif isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        elif isinstance(value, (float, np.floating)):  # the text of a float32 is short, and another number
            value = repr(float(value))
        text = encoded(str(value), name)
        if b";" in text:  # which ends a pair
            raise ArgumentError(f"{name} is {shown(str(value))}, expected no semicolon in it")
        pairs.append(name.encode() + b"=" + text)
    return b";".join(pairs)


class Owned:
    """Something of the library's that ends with the object."""

    _free = ""
    _handle = 0

    def __reduce_ex__(self, protocol: Any) -> Any:  # a copy would end it too
        raise TypeError(f"a {type(self).__name__} of dsop's can't be copied or pickled: keep it outside of what is")

    def __del__(self) -> None:
        if self._handle and library is not None:
            try:
                getattr(library, self._free)(self._handle)  # may wait, and Python hears signals when it returns
                self._handle = 0
            except BaseException as error:
                raise_later(error)
