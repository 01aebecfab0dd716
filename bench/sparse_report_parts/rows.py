"""Rows of dsop-bench sparse-allreduce: JSON lines in, one object for each algorithm on each problem out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from report_parts.intervals import Estimate, order_estimate
from report_parts.json_lines import parsed_rows
from report_parts.rows import ELEMENT_BYTES

WORD_BYTES = ELEMENT_BYTES  # an index has four: a word where values are f32


@dataclass(frozen=True, order=True)
class Vectors:
    """What was summed: about `density` times `size` elements of each rank's vector."""

    ranks: int
    size: int
    density: float
    distribution: str
    dtype: str

    @property
    def k(self) -> float:
        return self.size * self.density

    def in_union(self, ranks: int) -> float:
        """Elements that so many ranks have together: none in common, all, or what chance makes of it (Renggli 2017, section
        3.2.1, in closed form)."""
        if self.distribution == "apart":
            return min(ranks * self.k, self.size)
        if self.distribution == "same":
            return self.k
        return self.size * (1 - (1 - self.density) ** ranks)


@dataclass(frozen=True)
class Row:
    vectors: Vectors
    algorithm: str
    used: str
    seconds: Estimate  # over iterations, of the slowest rank's
    predicted_seconds: float
    sent_words: float | None  # by the busiest rank
    path_words: float | None
    messages: int | None  # by the busiest rank
    path_messages: int | None
    agreement_messages: int  # of a rank, before the algorithm's
    result_elements: int
    host: dict[str, Any]


def _words(count_bytes: int | None, dtype: str) -> float | None:
    return None if count_bytes is None else count_bytes / WORD_BYTES[dtype]


def _row(fields: dict[str, Any]) -> Row:
    if fields["family"] != "sparse-allreduce":
        raise ValueError(f"family is {fields['family']}")
    if fields["wrong"]:
        raise ValueError(f"{fields['wrong']} elements of the sum are wrong, so its time means nothing")
    vectors = Vectors(*(fields[key] for key in ("ranks", "size", "density", "distribution", "dtype")))
    return Row(vectors, fields["algorithm"], fields["used"], order_estimate(np.max(fields["seconds"], axis=1)),
               fields["predicted_seconds"], _words(fields["bytes_sent"], vectors.dtype),
               _words(fields["path_bytes"], vectors.dtype), fields["messages_sent"], fields["path_messages"],
               fields["agreement_messages"], fields["result_elements"], fields["host"])


def read_rows(path: Path) -> list[Row]:
    return parsed_rows(path, "dsop-bench sparse-allreduce", _row)


def machine_text(host: dict[str, Any]) -> str:
    return f"{host['cpu']}; {host['threads']} thread a rank; commit {host['commit']}, {host['date'][:10]}"


def place_text(host: dict[str, Any]) -> str:
    """Where, when and on what: the small print of pictures."""
    rate = re.search(r"\brate=(\S+)", host.get("cluster", ""))
    place = f"emulated hosts at {rate[1]}, all on" if rate else "ranks as threads of"
    return f"{place} {host['cores']} cores; {host['mpi']}; {machine_text(host)}"
