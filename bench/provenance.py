#!/usr/bin/python3
"""Ends with status 1 and says what to do if files have rows of another commit or CPU than this checkout and machine.

Usage: provenance.py FILE...    (of rows; those that are not there are no matter)
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def commit() -> str:
    """As the build compiles it in."""
    try:
        return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=10"], cwd=ROOT, capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cpu() -> str:
    names = [line.split(": ", 1)[1] for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
             if line.startswith("model name") and ": " in line]
    return names[0] if names else "unknown"


def origins(file: Path) -> set[tuple[str, str]]:
    """Commit and CPU of its rows. A line that has none goes with the others; a file that has none is of unknown ones."""
    found = set()
    lines = file.read_bytes().splitlines() if file.exists() else []
    for line in lines:
        try:
            host = json.loads(line)["host"]
            found.add((str(host["commit"]), str(host["cpu"])))
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
    return found or ({("unknown", "unknown")} if lines else set())


def refusal(files: Iterable[Path], here: tuple[str, str]) -> str:
    """What is wrong with the first that has others' rows, and what to do; empty if none has."""
    for file in files:
        for other in sorted(origins(file) - {here}):
            return (f"{file} has rows of commit {other[0]} on {other[1]}, expected {here[0]} on {here[1]}: they can't be compared "
                    "with new ones. Name another folder, or remove the file to measure all of it again, or check that commit out")
    return ""


def main(arguments: list[str]) -> int:
    if text := refusal(map(Path, arguments), (commit(), cpu())):
        print(f"error: {text}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
