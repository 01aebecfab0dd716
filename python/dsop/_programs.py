"""dsop-bench and dsop-train of the wheel, which lie beside this file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def _run(name: str) -> NoReturn:
    program = Path(__file__).parent / "bin" / name
    os.execv(program, [str(program), *sys.argv[1:]])  # by which they find the plug-ins


def bench() -> NoReturn:
    _run("dsop-bench")


def train() -> NoReturn:
    _run("dsop-train")
