"""dsop-bench and dsop-train of the wheel: one program beside this file, which does what it is called as."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def _run(name: str) -> NoReturn:
    folder = Path(__file__).parent / "bin"
    os.execv(folder / "dsop-programs", [str(folder / name), *sys.argv[1:]])  # it finds the plug-ins by its folder


def bench() -> NoReturn:
    _run("dsop-bench")


def train() -> NoReturn:
    _run("dsop-train")
