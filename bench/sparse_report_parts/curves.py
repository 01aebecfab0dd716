"""Pictures of curves over one number, a panel for each problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter

from report_parts.sheet import Form, Picture, make_sheet
from report_parts.style import Look, log_ticks, size_ticks


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float
    high: float


@dataclass
class Panel:
    """Measured curves, and bounds: lines without markers."""

    title: str
    curves: dict[str, list[Point]]
    bounds: dict[str, list[tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Axis:
    label: str
    formatter: Formatter


# Okabe and Ito's colours and greys; no two of one picture share a marker.
LOOKS = {
    "auto": Look("#000000", "*"),
    "allgather": Look("#E69F00", "^"),
    "ssar-recursive-doubling": Look("#0072B2", "o"),
    "ssar-split-allgather": Look("#56B4E9", "X"),
    "dsar-split-allgather": Look("#D55E00", "v"),
    "topk-dsa": Look("#009E73", "D"),
    "dense-ring": Look("#999999", "s"),
    "dense-rabenseifner": Look("#66331A", "P"),
    "dsar-early-switch(2)": Look("#CC79A7", "<"),
    "dsar-early-switch(4)": Look("#8000E6", ">"),
    "dsar-early-switch(8)": Look("#0072B2", "o"),
    "dsar-early-switch(16)": Look("#009E73", "D"),
    "ok-topk": Look("#000000", "*"),
    "ok-topk-equal-regions": Look("#0072B2", "o"),
    "ok-topk-direct": Look("#E69F00", "^"),
    "ok-topk-naive": Look("#D55E00", "v"),
    "ok-topk-unrotated": Look("#56B4E9", "X"),
    "ok-topk-unbucketed": Look("#009E73", "D"),
    "fastest": Look("#000000", "*"),
    "sparse": Look("#0072B2", "o"),
    "plain merge": Look("#E69F00", "^"),
    "dense": Look("#999999", "s"),
}
BOUND_STYLES = [(0, (4, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))]


def _limits(values: list[float]) -> tuple[float, float]:
    room = max((max(values) / min(values)) ** 0.06, 1.05)
    return min(values) / room, max(values) * room


def draw_curves(panels: list[Panel], picture: Picture, x_label: str, y_axis: Axis, small_print: str,
                folder: Path) -> Picture:
    """One sheet with axes in logarithms, the same in all panels; a bar at a point is its 95 % interval."""
    names = sorted({name for panel in panels for name in panel.curves}, key=list(LOOKS).index)
    bounds = list(dict.fromkeys(name for panel in panels for name in panel.bounds))
    styles = dict(zip(bounds, BOUND_STYLES))
    handles = [Line2D([], [], color=LOOKS[name].colour, marker=LOOKS[name].marker, label=name) for name in names]
    handles += [Line2D([], [], color="#777777", linestyle=styles[name], label=name) for name in bounds]
    points = [point for panel in panels for curve in panel.curves.values() for point in curve]
    lines = [pair for panel in panels for line in panel.bounds.values() for pair in line]
    xs = sorted({point.x for point in points})
    x_limits = _limits(xs)
    y_limits = _limits([value for point in points for value in (point.low, point.high)] + [y for _, y in lines])
    sheet = make_sheet(len(panels), picture.title, handles, small_print, Form.for_panels(len(panels)), share_x=True, share_y=True)
    for axes, panel in zip(sheet.panels, panels):
        axes.set(xscale="log", yscale="log", xlim=x_limits, ylim=y_limits)
        for name, line in panel.bounds.items():
            axes.plot(*zip(*line), color="#777777", linestyle=styles[name])
        for name, curve in panel.curves.items():
            ordered = sorted(curve, key=lambda point: point.x)
            axes.errorbar([point.x for point in ordered], [point.y for point in ordered], color=LOOKS[name].colour,
                          marker=LOOKS[name].marker, linewidth=0.9, elinewidth=1.0,
                          yerr=[[point.y - point.low for point in ordered], [point.high - point.y for point in ordered]])
        size_ticks(axes.xaxis, xs)
        log_ticks(axes.yaxis, *y_limits, y_axis.formatter)
        axes.set_title(panel.title, loc="left")
        axes.set_xlabel(x_label)
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel(y_axis.label)
    return sheet.save_png(folder, picture)
