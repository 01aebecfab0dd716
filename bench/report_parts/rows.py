"""Reads benchmark rows (one JSON object a line) and refuses, by file and line, what can't be used."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Callable

import numpy as np


@dataclass(frozen=True, order=True)
class Problem:
    """One problem: the gradient is rows x columns, every rank holds `pairs` pairs of vectors."""

    ranks: int
    pairs: int
    rows: int
    columns: int

    @property
    def size(self) -> float:
        """N of an N x N gradient; of any other shape, the N of equal area."""
        return math.sqrt(self.rows * self.columns)

    @property
    def shape(self) -> str:
        """The ratio rows:columns in lowest terms; problems of equal shape differ in size only."""
        divisor = math.gcd(self.rows, self.columns)
        return f"{self.rows // divisor}:{self.columns // divisor}"


@dataclass(frozen=True)
class Row:
    """One checked line. `seconds` is iterations x ranks; a None is a null in the file."""

    source: str
    family: str
    algorithm: str
    external: bool
    problem: Problem
    dtype: str
    form: str  # how factors and gradient travel, where not dense and in full
    transport: str
    job: str
    repetition: int
    seconds: np.ndarray
    median_interval: tuple[float, float] | None
    bytes_sent: int | None
    formula_bytes: int | None
    messages_sent: int | None
    flops: float | None
    wrong: int | None
    predicted_seconds: float | None
    auto_choice: str | None
    wire_bytes_per_host: tuple[float, ...]
    host: dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """A line that was not used: where it stands and why."""

    source: str
    reason: str


class BadRow(ValueError):
    """A line can't be used; the text names the key, its value and what was expected."""


Check = tuple[Callable[[Any], bool], str]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_number(value: Any) -> bool:
    return _is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def _is_interval(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_number(value.get(end)) for end in ("low", "high")) \
        and 0 < value["low"] <= value["high"]


def _is_date(value: Any) -> bool:
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


POSITIVE_INTEGER: Check = (lambda value: _is_integer(value) and value > 0, "a positive integer")
COUNT: Check = (lambda value: _is_integer(value) and value >= 0, "an integer of at least 0")
POSITIVE: Check = (lambda value: _is_number(value) and value > 0, "a positive number")
NOT_NEGATIVE: Check = (lambda value: _is_number(value) and value >= 0, "a number of at least 0")
TEXT: Check = (lambda value: isinstance(value, str) and value != "", "a text that is not empty")
TEXT_OR_NUMBER: Check = (lambda value: TEXT[0](value) or _is_number(value), "a text or a number")
DATE: Check = (_is_date, "an ISO 8601 date")
OBJECT: Check = (lambda value: isinstance(value, dict), "an object")
INTERVAL: Check = (_is_interval, "an object with numbers 0 < low <= high")
BOOLEAN: Check = (lambda value: isinstance(value, bool), "true or false")
NUMBERS: Check = (lambda value: isinstance(value, list) and all(map(NOT_NEGATIVE[0], value)),
                  "a list of numbers of at least 0")
ELEMENT_BYTES = {"f32": 4, "f64": 8}
DTYPE: Check = (lambda value: value in ELEMENT_BYTES, " or ".join(map(repr, ELEMENT_BYTES)))
TRANSPORT: Check = (lambda value: value in ("threads", "mpi", "tcp", "gloo"),  # gloo: dsop-bench writes tcp now
                    "'threads', 'mpi' or 'tcp'")
FAMILY: Check = (lambda value: value == "outer-product", "'outer-product', the family this report draws")

REQUIRED: dict[str, Check] = {
    "family": FAMILY, "algorithm": TEXT, "rows": POSITIVE_INTEGER, "columns": POSITIVE_INTEGER, "pairs": COUNT,
    "ranks": POSITIVE_INTEGER, "dtype": DTYPE, "transport": TRANSPORT, "host": OBJECT,
}
# Must stand in the line but may be null; external algorithms may leave them out.
NULLABLE: dict[str, Check] = {
    "bytes_sent": COUNT, "messages_sent": COUNT, "flops": NOT_NEGATIVE, "wrong": COUNT, "predicted_seconds": POSITIVE,
}
OPTIONAL: dict[str, Check] = {
    "auto_choice": TEXT, "repetition": COUNT, "job": TEXT_OR_NUMBER, "external": BOOLEAN, "wire_bytes_per_host": NUMBERS,
    "median_interval": INTERVAL, "formula_bytes": COUNT, "wire": TEXT, "encoding": TEXT, "density_a": NOT_NEGATIVE,
    "density_b": NOT_NEGATIVE,
}
HOST_REQUIRED: dict[str, Check] = {"hostname": TEXT, "cpu": TEXT, "cores": POSITIVE_INTEGER, "commit": TEXT, "date": DATE}
HOST_NULLABLE: dict[str, Check] = {"mpi": TEXT_OR_NUMBER, "blas": TEXT_OR_NUMBER, "threads": TEXT_OR_NUMBER}
HOST_OPTIONAL: dict[str, Check] = {"cluster": TEXT, "simulated": OBJECT, "nodes": POSITIVE_INTEGER}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check(fields: dict[str, Any], checks: dict[str, Check], prefix: str = "", *, null: bool, absent: bool) -> None:
    for key, (holds, expected) in checks.items():
        if key not in fields:
            if not absent:
                raise BadRow(f"key '{prefix}{key}' is missing, expected {expected}")
        elif not holds(fields[key]) and not (null and fields[key] is None):
            raise BadRow(f"'{prefix}{key}' is {_short(fields[key])}, expected {expected}{' or null' if null else ''}")


def _seconds(value: Any, ranks: int) -> np.ndarray:
    """Checks the samples: iterations x ranks, positive and finite."""
    if not isinstance(value, list) or not value:
        raise BadRow(f"'seconds' is {_short(value)}, expected a list of iterations that is not empty")
    for index, iteration in enumerate(value):
        if not isinstance(iteration, list) or len(iteration) != ranks:
            raise BadRow(f"'seconds[{index}]' is {_short(iteration)}, expected a list of {ranks} numbers, one a rank")
        for rank, sample in enumerate(iteration):
            if not POSITIVE[0](sample):
                raise BadRow(f"'seconds[{index}][{rank}]' is {_short(sample)}, expected a positive number")
    return np.array(value, dtype=float)


def _form(fields: dict[str, Any]) -> str:
    densities = [1 if fields.get(key) is None else fields[key] for key in ("density_a", "density_b")]
    encoding, wire = fields.get("encoding") or "dense", fields.get("wire") or "full"
    parts = [] if densities == [1, 1] else [f"densities {densities[0]:g} and {densities[1]:g}"]
    parts += [] if encoding == "dense" else [f"encoding {encoding}"]
    parts += [] if wire == "full" else [f"{wire} on the wire"]
    return ", ".join(parts)


def parse_row(text: str | bytes, source: str) -> Row:
    """Turns one line into a Row; raises BadRow if any part of it can't be trusted."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRow(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise BadRow(f"the line is {_short(fields)}, expected an object")
    external = fields.get("external") is True
    _check(fields, REQUIRED, null=False, absent=False)
    _check(fields, NULLABLE, null=True, absent=external)
    _check(fields, OPTIONAL, null=True, absent=True)
    host = fields["host"]
    _check(host, HOST_REQUIRED, "host.", null=False, absent=False)
    _check(host, HOST_NULLABLE, "host.", null=True, absent=False)
    _check(host, HOST_OPTIONAL, "host.", null=True, absent=True)
    if "seconds" not in fields:
        raise BadRow("key 'seconds' is missing, expected a list of iterations, each a list of numbers, one a rank")
    if fields.get("wrong"):
        raise BadRow(f"'wrong' is {fields['wrong']}: the result was WRONG, so its time means nothing; expected 0 or null")
    seconds = _seconds(fields["seconds"], fields["ranks"])
    job = fields.get("job")
    interval = fields.get("median_interval")
    return Row(
        source=source, family=fields["family"], algorithm=fields["algorithm"], external=external,
        problem=Problem(fields["ranks"], fields["pairs"], fields["rows"], fields["columns"]),
        dtype=fields["dtype"], form=_form(fields), transport=fields["transport"], job="" if job is None else str(job),
        repetition=fields.get("repetition") or 0, seconds=seconds,
        median_interval=(interval["low"], interval["high"]) if interval else None,
        bytes_sent=fields.get("bytes_sent"), formula_bytes=fields.get("formula_bytes"), messages_sent=fields.get("messages_sent"), flops=fields.get("flops"),
        wrong=fields.get("wrong"), predicted_seconds=fields.get("predicted_seconds"),
        auto_choice=fields.get("auto_choice"), wire_bytes_per_host=tuple(fields.get("wire_bytes_per_host") or ()),
        host=host)


def read_rows(paths: list[Path]) -> tuple[list[Row], list[Refusal]]:
    """Reads every file. Blank lines are no data, and steps of all --layers have no shape; every other line is a row or a
    refusal. OSError if a file can't be read."""
    rows: list[Row] = []
    refusals: list[Refusal] = []
    for path in paths:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                source = f"{path}:{number}"
                if line.strip() and not line.startswith(b'{"family":"layers",'):
                    try:
                        rows.append(parse_row(line, source))
                    except BadRow as error:
                        refusals.append(Refusal(source, str(error)))
    return rows, refusals
