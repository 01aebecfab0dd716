"""What commands that measure share: numbers as arguments, what a row says of the machine, words for who waits."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

import provenance


def number_above_0(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"is '{text}', expected a number above 0")
    return number


def count_above_0(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"is '{text}', expected a whole number above 0")
    return int(text)


def machine() -> dict[str, str | int]:
    name = provenance.cpu()
    return {"cpu": platform.machine() if name == "unknown" else name, "cores": os.cpu_count() or 1, "kernel": platform.release(),
            "load_average": Path("/proc/loadavg").read_text(encoding="utf-8").split()[0]}


def show(words: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{words}")
        sys.stderr.flush()
