"""How a rank that fails, or ends, is heard of by those that wait for it."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

import dsop
from dsop._job_end import at_exit
from dsop.torch._autograd import calls_of, is_handled
from dsop.torch._compat import opaque

_ENDED = "its program has ended"

_watched: dict[int, dsop.Communicator] = {}  # by handle, as below
_over: dict[int, str] = {}  # why nobody would answer a call


def is_over(comm: dsop.Communicator) -> bool:
    """A rank is known to have ended."""
    return comm.handle in _over


def check_not_over(comm: dsop.Communicator) -> None:
    if is_over(comm):
        raise dsop.ArgumentError(_over[comm.handle])


@contextlib.contextmanager
def listening(comm: dsop.Communicator) -> Iterator[None]:
    """Remember what is raised within if it says that a rank has ended."""
    try:
        yield
    except dsop.ArgumentError as error:
        if _ENDED in str(error):
            _over[comm.handle] = str(error)
        raise


def watch_end(comm: dsop.Communicator) -> None:
    """When this program ends, ranks that wait for it raise an error. All ranks end so, and wait for each other."""
    if comm.size > 1 and comm.handle not in _watched:
        _watched[comm.handle] = comm
        at_exit(_say_end, comm)


def _say_end(comm: dsop.Communicator) -> None:
    if comm.handle not in _over:
        with contextlib.suppress(dsop.Error):
            comm.fail(_ENDED)


os.register_at_fork(after_in_child=lambda: atexit.unregister(_say_end))


class _Inputs(tuple[Any, ...]):
    """The inputs of a forward pass, which end with it."""

    ended: Callable[[], None]

    def __del__(self) -> None:
        self.ended()


class ForwardWatch:
    """Calls raised() when a forward pass of `model` has ended in an exception, and that has been dealt with.

    That is when the exception is freed, or, where the program keeps it, when somebody looks after its handler.
    """

    def __init__(self, model: nn.Module, raised: Callable[[], None]) -> None:
        self._model, self._raised = weakref.ref(model), raised
        self._is_open = False  # a pass has begun, and not come to its end:
        self._thread = 0

    def begin(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """A pass begins. Return what it shall have as inputs."""
        self._is_open, self._thread = True, threading.get_ident()
        return self.watched(inputs)

    def watched(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same of a pass that has begun, if one has: the program's hooks may have changed them."""
        if not self._is_open:
            return inputs
        watched = _Inputs(inputs)
        watched.ended = self.look
        return watched

    def end(self) -> None:
        self._is_open = False

    @opaque
    def look(self, from_call: bool = False) -> None:
        """What is open, and runs no more, has raised. A call of the model that has just begun may ask."""
        model = self._model()
        if not self._is_open or model is None or is_handled(model):
            return
        begun = int(from_call and self._thread == threading.get_ident())
        if calls_of(model, self._thread) <= begun:
            self._is_open = False
            self._raised()
