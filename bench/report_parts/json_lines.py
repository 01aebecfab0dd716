"""Files of rows: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Parsed = TypeVar("Parsed")


class Refused(Exception):
    """A file that can't be used: its text names the file, the line and what was expected."""


def _object(line: str) -> dict[str, Any]:
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError(f"{line[:60]} is no object")
    return row


def parsed_rows(path: Path, what: str, parse: Callable[[dict[str, Any]], Parsed]) -> list[Parsed]:
    """What `parse` makes of each row, which is `what`. Refused names the line that is no such row, or the file that is no text;
    OSError if it can't be read."""
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: {error}") from None
    for number, line in enumerate(lines, 1):
        try:
            rows.append(parse(_object(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Refused(f"{path}:{number}: not a row of {what}: {error!r}") from None
    return rows
