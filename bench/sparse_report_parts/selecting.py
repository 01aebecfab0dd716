"""Allreduces that select: words beside the papers' bounds, and Ok-Topk's ablations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from report_parts.intervals import Estimate, order_estimate
from report_parts.json_lines import parsed_rows
from report_parts.sheet import Picture
from report_parts.tables import Table, Value

from .curves import Panel, Point, draw_curves
from .page import Part
from .rows import WORD_BYTES, place_text
from .sweeps import SHARE, TIME

WHOLE, EQUAL_REGIONS, DIRECT, NAIVE = "ok-topk", "ok-topk-equal-regions", "ok-topk-direct", "ok-topk-naive"
UNROTATED, UNBUCKETED = "ok-topk-unrotated", "ok-topk-unbucketed"  # they send as much
GATHERED = ("allgather", "gaussian-k")  # everybody gets what all have chosen
UNLIKE = "clustered"  # where each rank has its large elements elsewhere


@dataclass(frozen=True)
class SelectingRow:
    algorithm: str
    ranks: int
    size: int
    density: float
    distribution: str
    k: int  # the most that a rank chose or that the sum has
    seconds: Estimate
    sent_words: float  # by the busiest rank in a call that reuses thresholds
    first_words: float  # the same in a call that evaluates them
    path_words: float
    host: dict[str, Any]


def _row(fields: dict[str, Any]) -> SelectingRow:
    word_bytes = WORD_BYTES[fields["dtype"]]
    return SelectingRow(
        *(fields[key] for key in ("algorithm", "ranks", "size", "density", "distribution")),
        max(fields["chosen"], fields["result_elements"] if fields["algorithm"].startswith(WHOLE) else 0),
        order_estimate(np.max(fields["seconds"], axis=1)), fields["bytes_sent"] / word_bytes,
        fields["first_bytes_sent"] / word_bytes, fields["path_bytes"] / word_bytes, fields["host"])


def read_selecting(path: Path) -> list[SelectingRow]:
    return parsed_rows(path, "dsop-bench sparse-allreduce --select", _row)


def _bound(row: SelectingRow) -> tuple[str, float] | None:
    """Words that the busiest rank sends at most, without O(P), in a call that reuses thresholds."""
    if row.algorithm == WHOLE:
        return ("8k", 8.0 * row.k) if row.distribution == UNLIKE else ("6k(P-1)/P", 6 * row.k * (row.ranks - 1) / row.ranks)
    if row.algorithm == "gtopk":
        return "2k log2 P", 2.0 * row.k * math.ceil(math.log2(row.ranks))
    return ("2k(P-1)", 2.0 * row.k * (row.ranks - 1)) if row.algorithm in GATHERED else None


def _evaluating_bound(row: SelectingRow, reusing_words: float) -> float:
    """The same in a call that evaluates thresholds, from all sums that are not zero."""
    return reusing_words + (2 if row.distribution == UNLIKE else 1) * row.k * (row.ranks - 1)


def selected_words(rows: list[SelectingRow]) -> Part:
    lines: list[list[Value]] = []
    worst: dict[tuple[str, str], float] = {}
    for row in sorted(rows, key=lambda row: (row.algorithm, row.distribution, row.ranks)):
        bound = _bound(row)
        if bound is None:
            continue
        text, words = bound
        ranks_are = "unlike" if row.distribution == UNLIKE else "alike"
        evaluating = _evaluating_bound(row, words) if row.algorithm == WHOLE else None
        tree_path = 2 * words if row.algorithm == "gtopk" else None
        worst[row.algorithm, ranks_are] = max(worst.get((row.algorithm, ranks_are), 0), row.sent_words / words)
        lines.append([row.algorithm, ranks_are, row.ranks, row.k, text, round(words), round(row.sent_words),
                      row.sent_words / words, tree_path and round(tree_path), round(row.path_words),
                      evaluating and round(evaluating), round(row.first_words) if evaluating else None])
    columns = ["algorithm", "ranks_are", "P", "k", "bound", "bound_words", "sent_words", "sent_over_bound", "path_formula_words",
               "path_words", "evaluating_bound_words", "evaluating_sent_words"]
    findings = [f"`{algorithm}`, ranks {ranks_are}: at most {ratio:.3f} of the bound." for (algorithm, ranks_are), ratio
                in sorted(worst.items())]
    return Part("selected-words", findings, [], Table("selected-words", columns, lines))


def _range(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def ablations(rows: list[SelectingRow], folder: Path) -> Part:
    cells: dict[tuple[str, float], dict[str, SelectingRow]] = {}
    for row in rows:
        cells.setdefault((row.distribution, row.density), {})[row.algorithm] = row
    panels: dict[str, Panel] = {}
    lines: list[list[Value]] = []
    gains: dict[str, list[float]] = {name: [] for name in (EQUAL_REGIONS, DIRECT, NAIVE, UNROTATED, UNBUCKETED)}
    direct_sends: list[float] = []
    over_equal_regions: list[float] = []
    for (distribution, density), by_name in sorted(cells.items()):
        panel = panels.setdefault(distribution, Panel(f"{distribution}, P = {by_name[WHOLE].ranks}", {}))
        for name, row in by_name.items():
            panel.curves.setdefault(name, []).append(Point(density, row.seconds.median, row.seconds.low, row.seconds.high))
        whole = by_name[WHOLE]
        for name, gain in gains.items():
            gain.append(by_name[name].seconds.median / whole.seconds.median)
        direct_sends.append(by_name[DIRECT].sent_words / whole.sent_words)
        over_equal_regions.append(by_name[NAIVE].seconds.median / by_name[EQUAL_REGIONS].seconds.median)
        lines.append([distribution, density, whole.k, whole.seconds.median * 1e3] + [gain[-1] for gain in gains.values()]
                     + [direct_sends[-1], over_equal_regions[-1]])
    picture = draw_curves(list(panels.values()), Picture("ablations", "Ok-Topk without its parts", "Time of the sum without the "
                                                        "selection, in calls that reuse thresholds."),
                          SHARE, TIME, place_text(rows[0].host), folder)
    columns = ["large_elements_are", "density", "k", "ok_topk_ms", "equal_regions_over_it", "direct_over_it", "naive_over_it",
               "unrotated_over_it", "unbucketed_over_it", "direct_sends_over_it", "naive_over_equal_regions"]
    findings = [f"`{name}` takes {_range(gains[name])} times as long as `{WHOLE}`." for name in (EQUAL_REGIONS, NAIVE, UNROTATED, UNBUCKETED)]
    for shares, does in ((True, "shares out"), (False, "has nothing to share out, so that both do the same")):
        gain = [gain for gain, words in zip(gains[DIRECT], direct_sends) if (words != 1) == shares]
        if gain:
            findings.append(f"`{DIRECT}` takes {_range(gain)} times as long in {len(gain)} of {len(direct_sends)} cells, "
                            f"where `{WHOLE}` {does}.")
    findings.append(f"Sharing out, in regions of equal size: `{NAIVE}` takes {_range(over_equal_regions)} times as long as "
                    f"`{EQUAL_REGIONS}`.")
    return Part("ablations", findings, [picture], Table("ablations", columns, lines))
