"""Pictures over N: speedups against a base, run times, and bytes sent; a panel for each rank count, pairs and shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence, TypeVar

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import Formatter

from .measures import RunTime, Speedup
from .sections import Section
from .sheet import Form, Picture, make_sheet, pages_of
from .style import BYTES, PLAIN, SECONDS, Look, algorithm_handles, facts_text, in_legend_order, log_ticks, size_label, size_ticks
from .volumes import Volume

PanelKey = tuple[int, int, str]  # ranks, pairs, shape
One = TypeVar("One", RunTime, Speedup, Volume)
Legend = list[Line2D | Patch]


def panel_title(key: PanelKey) -> str:
    ranks, pairs, shape = key
    return f"P = {ranks}, k = {pairs}" + ("" if shape == "1:1" else f", n:m = {shape}")


def _sizes(items: Sequence[One]) -> list[float]:
    return sorted({item.cell.problem.size for item in items})


def _by_panel(items: Sequence[One]) -> list[tuple[PanelKey, list[One]]]:
    panels: dict[PanelKey, list[One]] = {}
    for item in items:
        problem = item.cell.problem
        panels.setdefault((problem.ranks, problem.pairs, problem.shape), []).append(item)
    return sorted(panels.items(), key=lambda panel: (panel[0][1], panel[0]))  # all ranks of one k side by side


def _curve(items: Sequence[One], algorithm: str) -> list[One]:
    return sorted((item for item in items if item.cell.algorithm == algorithm), key=lambda item: item.cell.problem.size)


@dataclass(frozen=True)
class Place:
    """How algorithms at one N are kept apart: a factor on x, and which of them is drawn when."""

    shift: float
    order: int


def _places(count: int, sizes: int, x_limits: tuple[float, float]) -> list[Place]:
    share = min(0.02, 0.14 / sizes / count)
    return [Place((x_limits[1] / x_limits[0]) ** (share * (index - (count - 1) / 2)), index) for index in range(count)]


def _points(axes: Axes, x: list[float], y: list[float], solid: list[bool], look: Look) -> None:
    """A thin line to lead the eye and a marker a point, hollow where the sample is too small for a 95 % interval."""
    axes.plot(x, y, color=look.colour, linewidth=0.9)
    for position, value, filled in zip(x, y, solid):
        axes.plot(position, value, marker=look.marker, color=look.colour, linestyle="none",
                  markerfacecolor=look.colour if filled else "white")


def _draw_speedup(axes: Axes, curve: list[Speedup], look: Look, place: Place) -> None:
    x = [one.cell.problem.size * place.shift for one in curve]
    axes.fill_between(x, [one.ratio.low for one in curve], [one.ratio.high for one in curve],
                      color=look.colour, alpha=0.18, linewidth=0)
    for position, one in zip(x, curve):
        axes.vlines(position, one.ratio.low, one.ratio.high, color=look.colour, linewidth=3.5, alpha=0.35)
        if one.percentile_10 is not None:
            axes.vlines(position, one.percentile_10, one.percentile_90, color=look.colour, linewidth=0.9)
    _points(axes, x, [one.ratio.median for one in curve], [one.is_sure for one in curve], look)


def _draw_run_time(axes: Axes, curve: list[RunTime], look: Look, place: Place) -> None:
    x = [one.cell.problem.size * place.shift for one in curve]
    for position, one in zip(x, curve):
        axes.errorbar(position, one.seconds.median, ecolor=look.colour, elinewidth=1.0, capsize=2, fmt="none",
                      yerr=[[one.seconds.median - one.seconds.low], [one.seconds.high - one.seconds.median]])
    _points(axes, x, [one.seconds.median for one in curve], [one.is_sure for one in curve], look)


def _stretched(x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    """A line that can be seen even where there is one point only."""
    return ([x[0] / 1.15, x[0] * 1.15], y * 2) if len(x) == 1 else (x, y)


def _draw_volume(axes: Axes, curve: list[Volume], look: Look, place: Place) -> None:
    known = [one for one in curve if one.formula_bytes]
    axes.plot(*_stretched([one.cell.problem.size for one in known], [one.formula_bytes for one in known]),
              color=look.colour, linestyle=(0, (4, 2)), linewidth=1.0)
    counted = [one for one in curve if one.measured_bytes]
    # Algorithms that send the same stand on one spot: markers get smaller in the order they are drawn.
    size = 4.6 + 3.9 * 0.8**place.order
    axes.plot([one.cell.problem.size for one in counted], [one.measured_bytes for one in counted], color=look.colour,
              marker=look.marker, markersize=size, markeredgecolor="white", markeredgewidth=0.5, linestyle="none")


def _draw_bounds(axes: Axes, items: list[Volume]) -> None:
    by_size = sorted({one.cell.problem.size: one for one in items}.items())
    sizes = [size for size, _ in by_size]
    axes.plot(*_stretched(sizes, [one.allreduce_bytes for _, one in by_size]), color="#bbbbbb", linewidth=3.5, zorder=0.5)
    x, least = _stretched(sizes, [one.least_bytes for _, one in by_size])
    axes.plot(x, least, color="#777777", linewidth=0.8, zorder=0.5)
    axes.fill_between(x, [1e-3] * len(x), least, color="#efefef", zorder=0.4, linewidth=0)


def _limits(values: list[float], room: float) -> tuple[float, float]:
    """Limits of a log axis with room at both ends, in proportion to what is shown."""
    extra = max((max(values) / min(values)) ** room, 1.03)
    return min(values) / extra, max(values) * extra


def _panels_over_size(section: Section, items: list[One], looks: dict[str, Look], folder: Path, picture: Picture,
                      legend: Legend, y_label: str, formatter: Formatter, values: Callable[[One], list[float]],
                      draw: Callable[[Axes, list[One], Look, Place], None],
                      background: Callable[[Axes, list[One]], None] | None = None, line: str = "-") -> list[Picture]:
    """The sheets of one kind of picture; the times or bytes go from and to the same everywhere, so that panels can be
    compared. Panels of one size, which would be empty but for a column, have sheets of their own."""
    algorithms = in_legend_order([item.cell.algorithm for item in items])
    y_limits = _limits([value for item in items for value in values(item)], 0.06)
    panels = _by_panel(items)
    written = []
    for name, page in pages_of(picture.name, [panel for panel in panels if len(_sizes(panel[1])) > 1],
                               [panel for panel in panels if len(_sizes(panel[1])) == 1]):
        sizes = _sizes([item for _, members in page for item in members])
        x_limits = _limits(sizes, 0.06) if len(sizes) > 1 else (sizes[0] / 1.5, sizes[0] * 1.5)
        places = _places(len(algorithms), len(sizes), x_limits)
        handles = algorithm_handles(section, algorithms, looks, line) + legend
        sheet = make_sheet(len(page), picture.title, handles, facts_text(section, [key[0] for key, _ in page]),
                           Form.for_panels(len(page)), share_x=True, share_y=True)
        for axes, (key, members) in zip(sheet.panels, page):
            axes.set(xscale="log", yscale="log", xlim=x_limits, ylim=y_limits)
            if background:
                background(axes, members)
            for algorithm, place in zip(algorithms, places):
                draw(axes, _curve(members, algorithm), looks[algorithm], place)
            size_ticks(axes.xaxis, sizes)
            log_ticks(axes.yaxis, *y_limits, formatter)
            axes.set_title(panel_title(key), loc="left")
            axes.set_xlabel(size_label(section))
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(y_label)
        written.append(sheet.save(folder, Picture(name, picture.title, picture.caption)))
    return written


HOLLOW = Line2D([], [], color="#555555", marker="o", markerfacecolor="white", linestyle="none",
                label="hollow: too few samples for 95 %")


def draw_speedups(section: Section, speedups: list[Speedup], base: str, looks: dict[str, Look], folder: Path) -> list[Picture]:
    def values(one: Speedup) -> list[float]:
        percentiles = [value for value in (one.percentile_10, one.percentile_90) if value is not None]
        return [one.ratio.low, one.ratio.high, one.ratio.median, 1.0] + percentiles

    jobs = any(one.unit == "repetition" for one in speedups)
    legend: Legend = [Line2D([], [], color=looks[base].colour, linestyle=(0, (1, 1.2)), label=f"{base} (base)")]
    if any(one.ratio.low < one.ratio.high for one in speedups):
        legend.append(Patch(color="#999999", alpha=0.45, linewidth=0, label="bootstrap 95 % interval of the median"))
    if jobs:
        legend.append(Line2D([], [], color="#555555", marker="|", markersize=9, linestyle="none",
                             label="10th to 90th percentile"))
    if not all(one.is_sure for one in speedups):
        legend.append(HOLLOW)
    caption = (
        f"Speedup over {base}, {section.setting.verb}. "
        + ("A point is the median of the speedups of the repetitions, each formed within one job; the thin bar is their 10th "
           "to 90th percentile, the band a percentile bootstrap 95 % interval of the median. " if jobs else "")
        + ("Where there was only one job, a point is the ratio of the medians over its iterations and the band resamples "
           "these: it says nothing about other jobs. " if any(one.unit == "iteration" for one in speedups) else "")
        + "Lines lead the eye, nothing was measured between points.")

    def background(axes: Axes, _: list[Speedup]) -> None:
        axes.axhline(1.0, color=looks[base].colour, linewidth=1.1, linestyle=(0, (1, 1.2)))

    picture = Picture(f"{section.slug}-speedup", f"Speedup over {base}", caption)
    return _panels_over_size(section, speedups, looks, folder, picture, legend, f"times faster than {base}", PLAIN,
                             values, _draw_speedup, background)


def draw_run_times(section: Section, times: list[RunTime], looks: dict[str, Look], folder: Path) -> list[Picture]:
    by_jobs = any(time.cell.unit == "repetition" for time in times)
    name = " or ".join(sorted({time.seconds.method for time in times}))
    caption = (
        f"Run time, {section.setting.verb}: the median and its 95 % interval by {name}. A sample is "
        + ("one job's median over its iterations of the slowest rank" if by_jobs else "one iteration's slowest rank")
        + (", or, where there was one job only, one iteration of it. " if by_jobs else
           "; all samples come from one job, so the interval says nothing about other jobs. ")
        + ("" if all(time.is_sure for time in times) else
           "Hollow markers: fewer than six samples, whose range covers the median less often than 95 %."))
    legend: Legend = []
    if any(time.seconds.low < time.seconds.high for time in times):
        legend.append(Line2D([], [], color="#555555", marker="|", markersize=9, linestyle="none",
                             label="95 % interval of the median"))
    if not all(time.is_sure for time in times):
        legend.append(HOLLOW)
    picture = Picture(f"{section.slug}-run-times", "Run time", caption)
    return _panels_over_size(
        section, times, looks, folder, picture, legend, f"{section.setting.verb} time of the slowest rank", SECONDS,
        lambda one: [one.seconds.low, one.seconds.high], _draw_run_time)


def draw_volumes(section: Section, volumes: list[Volume], looks: dict[str, Look], folder: Path) -> list[Picture]:
    def values(one: Volume) -> list[float]:
        return [value for value in (one.measured_bytes, one.formula_bytes, one.least_bytes, one.allreduce_bytes) if value]

    caption = (
        "Bytes that the rank which sends most sends: counted (markers) and by the algorithm's formula (dashed). No algorithm "
        "that gives every rank all of G can be in the grey area: what a rank lacks is a matrix of rank "
        "q = min((P-1) k, n, m), which takes q (n + m - q) words to name, and all that is received was sent by someone. The broad grey line, 2 (P-1)/P n m, is the least for "
        "an allreduce of the whole gradient, which makes no use of the factors; a ring meets it.")
    legend: Legend = [
        Line2D([], [], color="#555555", linestyle=(0, (4, 2)), label="formula"),
        Line2D([], [], color="#bbbbbb", linewidth=3.5, label="least for any allreduce of the gradient"),
        Patch(facecolor="#efefef", edgecolor="#777777", linewidth=0.8, label="below the least for all of G on every rank"),
    ]
    picture = Picture(f"{section.slug}-volumes", "Bytes sent by a rank", caption)
    return _panels_over_size(section, volumes, looks, folder, picture, legend, "bytes sent, maximum over ranks", BYTES,
                             values, _draw_volume, _draw_bounds, line="none")
