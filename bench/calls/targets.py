"""What a call is to cost at most, as ratios of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calls.results import Row, Sides, by_key, interval, table

PLACE = ("where", "scene", "case", "call")


@dataclass(frozen=True)
class Target:
    what: str
    key: tuple[str, str, str, str]
    value: str  # of the row
    limit: str
    holds: Callable[[Sides], bool]
    unit: float = 1


def at_most(limit: float) -> Callable[[Sides], bool]:
    return lambda sides: sides.median("new") <= limit


def targets(pinned: str, alone: str, hosts: str) -> list[Target]:
    """Of figures from these places."""
    product, by_turns, changing = "outer_product_run", "two_shapes_by_turns", "changing_pairs"
    lines = [
        Target("OuterProduct::run beside MPI_Allreduce, 10 x 10", (pinned, product, "10 x 10", "OuterProduct::run"), "ratio",
              "at most 3x", at_most(3)),
        Target("OuterProduct::run beside MPI_Allreduce, 100 x 100", (pinned, product, "100 x 100", "OuterProduct::run"), "ratio",
              "no more than old", lambda sides: sides.estimates()[1].low <= sides.estimates()[0].high),
        *(Target(f"dsop() for two shapes beside two objects, {case}", (pinned, by_turns, case, "dsop()"), "ratio", "at most 1.2x",
                at_most(1.2)) for case in ("10, 12", "100, 50")),
        *(Target(f"{call}, 1 to 8 pairs beside 4 or 5, {case}", (pinned, changing, case, f"{call}, 1 to 8 pairs"), "ratio",
                "at most 1.3x", at_most(1.3)) for call in ("OuterProduct::run", "dsop()") for case in ("10 x 10", "100 x 100")),
        Target("OuterProduct::run on eight hosts, 100 x 100, ms", (hosts, product, "100 x 100", "OuterProduct::run"), "seconds",
              "old / new at least 1.5x", lambda sides: sides.estimates()[2].median >= 1.5, 1e3),
    ]
    for ranks, milliseconds in ((64, 1), (1024, 20)):
        for family in ("make_plan()", "make_plan(), sparse factors", "make_plan(), sharded", "make_sparse_plan()", "topk_cost(), topk",
                       "topk_cost(), ok-topk", "allreduce() of a new size"):
            lines.append(Target(f"{family}, {ranks} ranks, ms", (alone, "planning", f"{ranks} ranks", family), "seconds",
                               f"at most {milliseconds} ms", at_most(milliseconds * 1e-3), 1e3))
    return lines


def table_of_targets(rows: list[Row], lines: list[Target]) -> str:
    cells = []
    for line in lines:
        sides = by_key(rows, PLACE, line.value).get(line.key)
        if sides is None:
            continue  # was not measured: no hosts
        old, new, _ = sides.estimates()
        cells.append([line.what, line.limit, interval(old, line.unit), interval(new, line.unit), "yes" if line.holds(sides) else "no"])
    return table(["what", "asked", "old", "new", "holds"], cells)
