"""Attached models over the same ranks: their calls are in one order, and a step that fails is dropped of all."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import NamedTuple, Optional

import dsop
from dsop.torch import _failures
from dsop.torch._sums import Sums


class _Member(NamedTuple):
    """What the queue uses of an attached model."""

    sums: Sums
    drop: weakref.WeakMethod[Callable[[], None]]  # its step, on this rank


class Queue:
    """What attached models over the same ranks share."""

    def __init__(self) -> None:
        self._members: weakref.WeakKeyDictionary[object, _Member] = weakref.WeakKeyDictionary()
        self._failed: weakref.WeakSet[object] = weakref.WeakSet()  # that have said that this rank's step has
        self.ahead: Optional[object] = None  # whose gradients travel during the backward pass that runs

    def join(self, model: object, sums: Sums, drop: Callable[[], None]) -> None:
        """`drop`, a method, ends the model's step on this rank."""
        self._members[model] = _Member(sums, weakref.WeakMethod(drop))

    def leave(self, model: object) -> None:
        self._members.pop(model, None)

    def begin(self) -> None:
        """A step begins, or goes on: what fails from now on has not been said yet."""
        self._failed.clear()

    def lead(self, model: object) -> None:
        self.ahead = self.ahead or model

    def land(self, model: object) -> None:
        if self.ahead is model:
            self.ahead = None

    def drop(self) -> None:
        """End the step of all, on this rank."""
        self.ahead = None
        for member in list(self._members.values()):
            drop = member.drop()
            if drop is not None:
                drop()

    @property
    def last_ready(self) -> str:
        """Of the gradients that travel, the name of the last that is complete."""
        return self._members[self.ahead].sums.last_ready if self.ahead in self._members else ""

    def fail(self, model: object, sums: Sums, error: str) -> None:
        """End this rank's step, and tell the others; once, though several models say so. Never waits."""
        is_told = bool(self._failed) and model not in self._failed
        is_told = is_told or any(member.sums.has_failed for member in list(self._members.values()))
        if self.ahead in self._members:  # whose calls are under way
            sums = self._members[self.ahead].sums
        if not is_told:
            self._failed.clear()
        self._failed.add(model)
        self.drop()
        if not is_told and not _failures.is_over(sums.comm):
            with contextlib.suppress(dsop.Error):  # the communicator may have ended
                sums.fail(error)

    def settle(self) -> None:
        """Return when all ranks have heard of what fail() has told."""
        for member in list(self._members.values()):
            member.sums.settle()


_queues: dict[object, Queue] = {}


def queue_of(comm: dsop.Communicator) -> Queue:
    """That of all models over these ranks."""
    return _queues.setdefault(comm.queue, Queue())
