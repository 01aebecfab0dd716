"""The sweeps of measured times: which algorithm is the fastest where, static beside dynamic, groups, and lower bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from report_parts.sheet import Picture
from report_parts.style import SECONDS
from report_parts.tables import Table

from .curves import Axis, Panel, Point, draw_curves
from .page import Part
from .rows import Row, Vectors, place_text

TIME = Axis("median time of the slowest rank", SECONDS)
SHARE = "density: share of elements that a rank has"
AUTO = "auto"
GROUPS = "dsar-early-switch"
STATIC_SPARSE, STATIC_DENSE, DYNAMIC = "ssar-split-allgather", "dsar-split-allgather", "topk-dsa"
Cells = dict[Vectors, dict[str, Row]]


def cells_of(rows: Iterable[Row]) -> Cells:
    """The rows of each problem by algorithm; a later row replaces an earlier one."""
    cells: Cells = {}
    for row in sorted(rows, key=lambda row: row.vectors):
        cells.setdefault(row.vectors, {})[row.algorithm] = row
    return cells


def _point(x: float, row: Row) -> Point:
    return Point(x, row.seconds.median, row.seconds.low, row.seconds.high)


def _panels(cells: Cells, names: Iterable[str] | None = None) -> list[Panel]:
    """Times over the density, a panel for each number of ranks and of elements."""
    panels: dict[tuple[int, int], Panel] = {}
    for vectors, by_name in cells.items():
        panel = panels.setdefault((vectors.size, vectors.ranks), Panel(f"P = {vectors.ranks}, N = {vectors.size}", {}))
        for name, row in by_name.items():
            if names is None or name in names:
                panel.curves.setdefault(name, []).append(_point(vectors.density, row))
    return [panel for _, panel in sorted(panels.items())]


def _fastest(by_name: dict[str, Row], among: Iterable[str]) -> Row:
    return min((by_name[name] for name in among if name in by_name), key=lambda row: row.seconds.median)


def _dense(by_name: dict[str, Row]) -> list[str]:
    return [name for name in by_name if name.startswith("dense-")]


def _milliseconds(row: Row) -> float:
    return row.seconds.median * 1e3


def switching(rows: list[Row], folder: Path) -> Part:
    cells = cells_of(rows)
    lines: list[list[Any]] = []
    worst = worst_beside_dense = (0.0, "")
    regions: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for vectors, by_name in cells.items():
        best = _fastest(by_name, [name for name in by_name if name != AUTO])
        dense = _fastest(by_name, _dense(by_name))
        used = by_name[AUTO].used
        loss = by_name.get(used, by_name[AUTO]).seconds.median / best.seconds.median
        over_dense = by_name[AUTO].seconds.median / dense.seconds.median
        where = f"P = {vectors.ranks}, N = {vectors.size}, density {vectors.density:g}: `{used}`"
        worst = max(worst, (loss, where))
        worst_beside_dense = max(worst_beside_dense, (over_dense, where))
        regions.setdefault((vectors.size, vectors.ranks), []).append((best.algorithm, vectors.density))
        lines.append([vectors.size, vectors.ranks, vectors.density, best.algorithm, _milliseconds(best), _milliseconds(dense),
                      dense.seconds.median / best.seconds.median, used, loss, over_dense])
    findings = []
    for (size, ranks), fastest in sorted(regions.items()):
        changes = [(name, density) for i, (name, density) in enumerate(fastest) if i == 0 or fastest[i - 1][0] != name]
        findings.append(f"P = {ranks}, N = {size}: " + ", ".join(f"`{name}` from {density:g}" for name, density in changes) + ".")
    findings.append(f"What `auto` uses takes at most {worst[0]:.2f} times as long as the fastest ({worst[1]}).")
    findings.append(f"`auto` takes at most {worst_beside_dense[0]:.2f} times as long as the best dense one "
                    f"({worst_beside_dense[1]}).")
    picture = draw_curves(
        _panels(cells), Picture("switching", "Which sparse allreduce is the fastest", "Time over the density, both in "
                                "logarithms; a bar is the 95 % interval of the median, or the range of fewer than six times."),
        SHARE, TIME, place_text(rows[0].host), folder)
    columns = ["N", "P", "density", "fastest", "ms", "best_dense_ms", "dense_over_fastest", "auto_used", "used_over_fastest",
               "auto_over_best_dense"]
    return Part("switching", findings, [picture], Table("switching", columns, lines))


def static_and_dynamic(rows: list[Row], folder: Path) -> Part:
    cells = {vectors: by_name for vectors, by_name in cells_of(rows).items()
             if all(name in by_name for name in (STATIC_SPARSE, STATIC_DENSE, DYNAMIC))}
    lines: list[list[Any]] = []
    worst = 0.0
    first: dict[tuple[int, int], float] = {}
    for vectors, by_name in cells.items():
        sparse, dense, dynamic = (by_name[name] for name in (STATIC_SPARSE, STATIC_DENSE, DYNAMIC))
        loss = dynamic.seconds.median / min(sparse.seconds.median, dense.seconds.median)
        worst = max(worst, loss)
        if dense.seconds.median < sparse.seconds.median:
            first.setdefault((vectors.size, vectors.ranks), vectors.density)
        lines.append([vectors.size, vectors.ranks, vectors.density, vectors.in_union(vectors.ranks) / vectors.size,
                      _milliseconds(sparse), _milliseconds(dense), _milliseconds(dynamic), loss])
    findings = [f"P = {ranks}, N = {size}: `{STATIC_DENSE}` is faster than `{STATIC_SPARSE}` from density {density:g} on."
                for (size, ranks), density in sorted(first.items())]
    findings.append(f"`{DYNAMIC}`, which decides at run time, takes at most {worst:.2f} times as long as the faster of the two.")
    picture = draw_curves(
        _panels(cells, (STATIC_SPARSE, STATIC_DENSE, DYNAMIC)),
        Picture("static-dynamic", "Static beside dynamic", "Static: the regions' sums always travel sparse as far as they "
                "can be, or always dense. Dynamic: each in whichever form turns out smaller."),
        SHARE, TIME, place_text(rows[0].host), folder)
    columns = ["N", "P", "density", "density_of_sum", "static_sparse_ms", "static_dense_ms", "dynamic_ms",
               "dynamic_over_best_static"]
    return Part("static-dynamic", findings, [picture], Table("static-dynamic", columns, lines))


def early_switching(rows: list[Row], folder: Path) -> Part:
    cells = cells_of(rows)
    sizes = sorted({_group(name) for by_name in cells.values() for name in by_name if name.startswith(GROUPS)}, reverse=True)
    panels: dict[tuple[int, float], Panel] = {}
    lines: list[list[Any]] = []
    findings: dict[tuple[int, float], list[str]] = {}
    for vectors, by_name in cells.items():
        names = [name for name in by_name if name.startswith(GROUPS)]
        title = f"P = {vectors.ranks}, density {vectors.density:g}"
        panel = panels.setdefault((vectors.ranks, vectors.density), Panel(title, {}))
        for name, row in by_name.items():
            panel.curves.setdefault(name, []).append(_point(vectors.size, row))
        best = _fastest(by_name, names)
        whole = by_name[f"{GROUPS}({vectors.ranks})"]
        findings.setdefault((vectors.ranks, vectors.density), []).append(
            f"{_group(best.algorithm)} ranks at N = {vectors.size}")
        others = [f"{GROUPS}({size})" for size in sizes] + [STATIC_DENSE]
        lines.append([vectors.ranks, vectors.density, vectors.size, best.algorithm, whole.seconds.median / best.seconds.median]
                     + [_milliseconds(by_name[name]) if name in by_name else None for name in others])
    picture = draw_curves(
        [panel for _, panel in sorted(panels.items())],
        Picture("early-switching", "Groups of ranks that make dense sums early", "Time over N. In brackets the ranks a group; "
                "all of them in one group is a split among all ranks."),
        "N: elements of the vector", TIME, place_text(rows[0].host), folder)
    columns = ["P", "density", "N", "fastest", "one_group_over_fastest"]
    columns += [f"groups_of_{size}_ms" for size in sizes] + ["split_allgather_ms"]
    return Part("early-switching", [f"P = {ranks}, density {density:g}: the fastest groups have {', '.join(texts)}."
                                    for (ranks, density), texts in sorted(findings.items())],
                [picture], Table("early-switching", columns, lines))


def _group(algorithm: str) -> int:
    """The number in brackets."""
    return int(algorithm[len(GROUPS) + 1:-1])


def lower_bounds(rows: list[Row], machines: dict[int, dict[str, Any]], folder: Path) -> Part:
    """`machines`: what was calibrated for each number of ranks."""
    panels: dict[tuple[int, int], Panel] = {}
    lines: list[list[Any]] = []
    ratios = []
    for vectors, by_name in cells_of(rows).items():
        machine = machines[vectors.ranks]
        latency = math.ceil(math.log2(vectors.ranks)) * (machine["latency_seconds"] + 2 * machine["overhead_seconds"])
        bandwidth = vectors.in_union(vectors.ranks - 1) * 4 * machine["gap_per_byte_seconds"]
        best = _fastest(by_name, [name for name in by_name if name != AUTO])
        title = f"P = {vectors.ranks}, N = {vectors.size}"
        panel = panels.setdefault((vectors.size, vectors.ranks), Panel(title, {"fastest": []}))
        panel.curves["fastest"].append(_point(vectors.density, best))
        for name, bound in (("latency", latency), ("bandwidth", bandwidth)):
            panel.bounds.setdefault(name, []).append((vectors.density, bound))
        ratios.append(best.seconds.median / max(latency, bandwidth))
        lines.append([vectors.size, vectors.ranks, vectors.density, latency * 1e3, bandwidth * 1e3, best.algorithm,
                      _milliseconds(best), ratios[-1]])
    picture = draw_curves(
        [panel for _, panel in sorted(panels.items())],
        Picture("lower-bounds", "The fastest beside what no algorithm can do without", "Latency: ceil(log2 P) messages one after "
                "the other. Bandwidth: a rank must get at least a word for each element that others have."),
        SHARE, TIME, place_text(rows[0].host), folder)
    columns = ["N", "P", "density", "latency_ms", "bandwidth_ms", "fastest", "ms", "over_the_larger_bound"]
    return Part("lower-bounds", [f"The fastest takes {min(ratios):.1f} to {max(ratios):.1f} times the larger bound."],
                [picture], Table("lower-bounds", columns, lines))
