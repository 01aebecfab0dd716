"""torchrun as tests start it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

_torch = importlib.util.find_spec("torch")
_is_debians = _torch is not None and "/dist-packages/" in str(_torch.origin)
# Debian 13 builds torch without libuv, which all its stores ask for: torchrun's whatever the program says, and others' unless
# this is set.
HAS_TORCHRUN = _torch is not None and (not _is_debians or sys.version_info < (3, 13))
WITHOUT = "torchrun: there is no torch" if _torch is None else "torchrun: Debian 13's torch has it without libuv, which it asks for"
if not HAS_TORCHRUN:
    os.environ.setdefault("USE_LIBUV", "0")


def torchrun(ranks: int, *more: str | Path) -> list[str | Path]:
    return [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(ranks), "--rdzv_backend", "c10d",
            "--rdzv_endpoint", "127.0.0.1:0", "--redirects", "1", "--tee", "1",
            "--monitor_interval", "0.1", *more]  # seconds between looks at whether ranks have ended; torch's default is 5
