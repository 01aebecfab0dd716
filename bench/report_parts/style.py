"""How every picture looks: one colour and marker for each algorithm, ticks, and the small print."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")

from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, Formatter, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from .sections import Section

matplotlib.rcParams.update({
    "font.size": 8.5, "axes.titlesize": 9, "axes.labelsize": 8.5, "xtick.labelsize": 8, "ytick.labelsize": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.7, "axes.edgecolor": "#444444",
    "axes.grid": True, "grid.color": "#e4e4e4", "grid.linewidth": 0.6, "axes.axisbelow": True,
    "lines.linewidth": 1.1, "lines.markersize": 5, "hatch.linewidth": 0.6,
    "svg.hashsalt": "dsop", "savefig.dpi": 180,
})


@dataclass(frozen=True)
class Look:
    """What an algorithm looks like in every picture."""

    colour: str
    marker: str


# Okabe and Ito's colours, which people with any common colour blindness tell apart; no two share a marker.
KNOWN_LOOKS = {
    "allreduce-mpi": Look("#000000", "s"),
    "allgather": Look("#E69F00", "^"),
    "generalized-rabenseifner": Look("#0072B2", "o"),
    "allreduce-ring": Look("#009E73", "D"),
    "allreduce-rabenseifner": Look("#D55E00", "v"),
    "allreduce-butterfly": Look("#CC79A7", "P"),
}
# Picked for the largest distance from all the others as seen with each kind of colour blindness.
FURTHER_COLOURS = ["#56B4E9", "#8000E6", "#66331A", "#001A80", "#990066", "#E6CC80"]
FURTHER_MARKERS = ["X", "*", "<", ">", "p", "h", "d"]


def make_looks(algorithms: list[str]) -> dict[str, Look]:
    """Fixed looks for the known algorithms; the others get further ones in the order of their names."""
    unknown = sorted(set(algorithms) - KNOWN_LOOKS.keys())
    # Six colours and seven markers have no common divisor: 42 pairs before one comes again.
    further = zip(itertools.cycle(FURTHER_COLOURS), itertools.cycle(FURTHER_MARKERS))
    return KNOWN_LOOKS | {name: Look(*pair) for name, pair in zip(unknown, further)}


def algorithm_handles(section: Section, algorithms: list[str], looks: dict[str, Look], line: str = "-") -> list[Line2D]:
    """Legend entries, in the order of KNOWN_LOOKS, then by name."""
    external = {cell.algorithm for cell in section.cells.values() if cell.external}
    return [Line2D([], [], color=looks[name].colour, marker=looks[name].marker, linestyle=line,
                   label=f"{name} (external)" if name in external else name)
            for name in in_legend_order(algorithms)]


def in_legend_order(algorithms: list[str]) -> list[str]:
    order = {name: index for index, name in enumerate(KNOWN_LOOKS)}
    return sorted(set(algorithms), key=lambda name: (order.get(name, len(order)), name))


def plain_number(value: float) -> str:
    return f"{value:.4g}" if value < 10000 else f"{value:.0f}"


PLAIN: Formatter = FuncFormatter(lambda value, _: plain_number(value))
SECONDS: Formatter = EngFormatter(unit="s")
BYTES: Formatter = EngFormatter(unit="B")


def log_ticks(axis: Axis, low: float, high: float, formatter: Formatter) -> None:
    """Readable ticks of a log axis over [low, high]: 1-2-5 or decades, and even steps where it is little."""
    span = high / low
    if span < 3:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    elif span < 8:
        axis.set_major_locator(LogLocator(10, subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0), numticks=20))
    else:
        axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if span < 300 else (1.0,), numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(formatter)


def size_ticks(axis: Axis, sizes: list[float]) -> None:
    """Ticks of a log axis at the sizes that were measured, thinned where their labels would touch."""
    kept: list[float] = []
    needed = max(1.25, (max(sizes) / min(sizes)) ** 0.13)
    for size in sorted(sizes, reverse=True):
        if not kept or kept[-1] / size >= needed:
            kept.append(size)
    axis.set_ticks(sorted(kept))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(PLAIN)


def size_label(section: Section) -> str:
    square = all(problem.rows == problem.columns for problem in section.problems)
    return "N  (gradient of N x N elements)" if square else "sqrt(n m)  (gradient of n x m elements)"


def ranks_text(ranks: Iterable[int]) -> str:
    return ", ".join(str(count) for count in sorted(set(ranks)))


def facts_text(section: Section, ranks: list[int]) -> str:
    """Where, when and on what: the small print of a picture that shows these rank counts."""
    setting = section.setting
    dates = sorted({row.host["date"][:10] for row in section.rows})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    processor = f"{setting.cpu}, {setting.cores} cores"
    several = setting.ranks_a_node is not None
    if setting.is_simulated:
        details = json.loads(setting.simulated)
        platform = ", ".join(f"{key} {_detail(details[key])}" for key in details)
        parts = [f"Simulated {days}: {platform} (the simulator ran on {processor})"]
    else:
        parts = [f"Measured {days} on {setting.machine}: {processor}"
                 + (f" a node, {setting.ranks_a_node:g} ranks a node" if several else "")]
    parts.append(f"{ranks_text(ranks)} ranks, transport {setting.transport}")
    crowded = {count for count in ranks if setting.ranks_share_cores(count)}
    if crowded:
        which = "the ranks" if crowded == set(ranks) else f"{ranks_text(crowded)} ranks"
        parts.append(f"{which} share {setting.cores} cores" + (" a node" if several else ""))
    if setting.cluster:
        parts.append(f"emulated cluster: {setting.cluster}")
    parts.append(f"MPI: {setting.mpi}; BLAS: {setting.blas}; threads: {setting.threads}; {setting.data}; "
                 f"commit {setting.commit}")
    return "; ".join(parts)


def _detail(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def wrapped(text: str, characters: int) -> list[str]:
    return textwrap.wrap(text, characters, break_on_hyphens=False)
