"""Every switch by torch's version: 1.13 and 2.x. What dsop uses of torch's private parts is in _autograd.py."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import torch

_Function = TypeVar("_Function", bound=Callable[..., Any])
_torch: Any = torch  # each version's stubs know its own names alone
_NEWEST_TRIED = 2, 13
_HAS_EARLY_HOOKS = hasattr(torch.Tensor, "_post_accumulate_grad_hooks")  # 2.1
# Of torch.sparse_coo_tensor(), which without it warns.
UNCHECKED: dict[str, Any] = {"check_invariants": False} if hasattr(torch.sparse, "check_sparse_tensor_invariants") else {}  # 2.0
_HAS_DEVICES = hasattr(torch, "get_autocast_dtype")  # 2.4; the older names warn there in each call


@functools.cache
def note_version() -> None:
    """Say, once, that torch is newer than any that this was tried with."""
    if tuple(map(int, torch.__version__.split(".")[:2])) > _NEWEST_TRIED:
        logging.getLogger("dsop.torch").debug("torch is %s, tried up to %d.%d", torch.__version__, *_NEWEST_TRIED)


def is_autocast_enabled() -> bool:
    """For what lies on the CPU."""
    return bool(_torch.is_autocast_enabled("cpu") if _HAS_DEVICES else _torch.is_autocast_cpu_enabled())


def autocast_dtype() -> torch.dtype:
    """To which it rounds there."""
    kind: torch.dtype = _torch.get_autocast_dtype("cpu") if _HAS_DEVICES else _torch.get_autocast_cpu_dtype()
    return kind


def own_precision() -> Any:
    """A context in which autocast rounds nothing."""
    return _torch.autocast("cpu", enabled=False)


def early_hooks(parameter: Any) -> Any:
    """Those that autograd calls as soon as a pass has made .grad; none is false."""
    return _HAS_EARLY_HOOKS and parameter is not None and parameter._post_accumulate_grad_hooks


def opaque(function: _Function) -> _Function:
    """Have torch.compile() leave it alone, with all that it calls: it runs as it is, between what is compiled.

    As torch.compiler.disable(), but that it loads the compiler no sooner than the first call, as torch's optimizers do.
    """
    compiler = getattr(torch, "_compile", None)  # 1.13 has none
    if compiler is None:
        return function
    disabled: _Function = compiler._disable_dynamo(function)
    frames = _torch._C._dynamo.eval_frame
    if not hasattr(frames, "set_code_exec_strategy"):  # nor get_eval_frame_callback()
        return disabled
    is_compiling = frames.get_eval_frame_callback

    def call(*arguments: Any, **named: Any) -> Any:  # half of what `disabled` takes, where nothing is compiled
        return function(*arguments, **named) if is_compiling() is None else disabled(*arguments, **named)
    action = frames._FrameAction  # as torch._dynamo.decorators.skip(), which would load the compiler
    frames.set_code_exec_strategy(call.__code__, frames._FrameExecStrategy(action.SKIP, action.DEFAULT))
    call._torchdynamo_disable = True  # type: ignore[attr-defined]
    return functools.update_wrapper(call, function)  # type: ignore[return-value]


@opaque
def call_opaquely(function: Callable[..., Any], *arguments: Any) -> Any:
    """What autograd calls may run within a compiled step: dynamo would take NumPy's arrays in it for tensors."""
    return function(*arguments)
