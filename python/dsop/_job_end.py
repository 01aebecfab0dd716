"""An exception that ends one rank's program ends those of all ranks, which would wait for it."""

from __future__ import annotations

import atexit
import contextlib
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from dsop._library import library

_others_run: list[Callable[[], bool]] = []
_traceback_before = getattr(sys, "last_traceback", None)  # of an exception that the program has survived


def end_job_at_exception(others_run: Callable[[], bool]) -> None:
    """From now on an exception that ends this program ends those of all ranks, if others run then."""
    before = sys.excepthook
    if getattr(before, "others_run", None) is others_run:
        return
    if others_run not in _others_run:
        _others_run.append(others_run)

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if _goes_on_by_hand() or not others_run():
            before(kind, error, traceback)
            return
        try:
            try:
                before(kind, error, traceback)
            except Exception:  # Python prints both only if this program goes on
                sys.__excepthook__(*sys.exc_info())
                sys.__excepthook__(kind, error, traceback)
        finally:  # a second Ctrl-C, too, leaves the others waiting
            _end_all_ranks(kind)
    hook.others_run = others_run  # type: ignore[attr-defined]
    sys.excepthook = hook
    at_exit()


def at_exit(function: Callable[..., object] | None = None, *arguments: Any) -> None:
    """Have the function called when the program ends, unless that ends all ranks: it may wait for them."""
    if function is not None:
        atexit.register(function, *arguments)
    atexit.unregister(_end_job_at_exit)
    atexit.register(_end_job_at_exit)  # what is registered last is called first


def _end_job_at_exit() -> None:
    """As the hook, where the program, or a library, has set another since, which does not call it."""
    traceback = getattr(sys, "last_traceback", None)  # pytest sets it too, from a function's frame on
    if (traceback is not None and traceback is not _traceback_before
            and traceback.tb_frame.f_code.co_name in ("<module>", "_run_module_as_main")
            and not _goes_on_by_hand() and any(others_run() for others_run in _others_run)):
        _end_all_ranks(sys.last_type)


def _goes_on_by_hand() -> bool:
    is_shell = sys.argv[:1] == [""] and hasattr(sys, "ps1")  # which code.interact() leaves behind in programs
    return is_shell or bool(sys.flags.interactive or sys.flags.inspect)


def _end_all_ranks(kind: type[BaseException] | None) -> None:
    try:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # it is closed, or None, or its disk is full
                stream.flush()
        time.sleep(0.2)  # launchers lose what was written last
    finally:
        library.dsop_abort(130 if kind is not None and issubclass(kind, KeyboardInterrupt) else 1)
