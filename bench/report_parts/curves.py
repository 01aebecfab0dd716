"""Pictures over N, a panel for each rank count, pairs and shape: speedups against a base, and run times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Callable, Sequence, TypeVar, Union

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import Formatter

from .intervals import MEDIAN
from .measures import PERCENTILES, RunTime, Speedup
from .sections import Section
from .sheet import Form, Picture, make_sheet, pages_of
from .style import PLAIN, SECONDS, Look, algorithm_handles, facts_text, in_legend_order, log_ticks, size_label, size_ticks
from .volumes import Volume

PanelKey = tuple[int, int, str]  # ranks, pairs, shape
One = TypeVar("One", RunTime, Speedup, Volume)
Legend = list[Union[Line2D, Patch]]


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


def _draw_speedup(percent: int, axes: Axes, curve: list[Speedup], look: Look, place: Place) -> None:
    x = [one.cell.problem.size * place.shift for one in curve]
    shown = [one.percentiles[percent] for one in curve]
    axes.fill_between(x, [one.low for one in shown], [one.high for one in shown], color=look.colour, alpha=0.18, linewidth=0)
    for position, one in zip(x, shown):
        axes.vlines(position, one.low, one.high, color=look.colour, linewidth=3.5, alpha=0.35)
    for position, one in zip(x, curve):
        if percent == MEDIAN and len(one.percentiles) > 1:
            axes.vlines(position, one.percentiles[10].value, one.percentiles[90].value, color=look.colour, linewidth=0.9)
    _points(axes, x, [one.value for one in shown], [one.is_sure_of(percent) for one in curve], look)


def _draw_run_time(percent: int, axes: Axes, curve: list[RunTime], look: Look, place: Place) -> None:
    x = [one.cell.problem.size * place.shift for one in curve]
    shown = [one.percentiles[percent] for one in curve]
    for position, one in zip(x, shown):
        axes.errorbar(position, one.value, ecolor=look.colour, elinewidth=1.0, capsize=2, fmt="none",
                      yerr=[[max(one.value - one.low, 0)], [max(one.high - one.value, 0)]])
    _points(axes, x, [one.value for one in shown], [one.is_sure_of(percent) for one in curve], look)


def _limits(values: list[float], room: float) -> tuple[float, float]:
    """Limits of a log axis with room at both ends, in proportion to what is shown."""
    extra = max((max(values) / min(values)) ** room, 1.03)
    return min(values) / extra, max(values) * extra


def panels_over_size(section: Section, items: list[One], looks: dict[str, Look], folder: Path, picture: Picture,
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


def _name(percent: int) -> str:
    return "median" if percent == MEDIAN else f"{percent}th percentile"


def _of_percentile(picture: Picture, percent: int) -> Picture:
    """The picture of the median has the plain name."""
    if percent == MEDIAN:
        return picture
    return Picture(f"{picture.name}-{percent}th", f"{picture.title}, {_name(percent)}", picture.caption)


def draw_speedups(section: Section, speedups: list[Speedup], base: str, looks: dict[str, Look], folder: Path) -> list[Picture]:
    """Of the median, and of the 10th and the 90th percentile where there were jobs."""
    written = []
    for percent in PERCENTILES:
        items = [one for one in speedups if percent in one.percentiles]
        if items:
            written += _draw_speedups_at(percent, section, items, base, looks, folder)
    return written


def _draw_speedups_at(percent: int, section: Section, speedups: list[Speedup], base: str, looks: dict[str, Look],
                      folder: Path) -> list[Picture]:
    with_tails = percent == MEDIAN and any(len(one.percentiles) > 1 for one in speedups)

    def values(one: Speedup) -> list[float]:
        tails = list(one.percentiles.values()) if percent == MEDIAN else []
        shown = one.percentiles[percent]
        return [shown.low, shown.high, shown.value, 1.0] + [tail.value for tail in tails]

    legend: Legend = [Line2D([], [], color=looks[base].colour, linestyle=(0, (1, 1.2)), label=f"{base} (base)")]
    if any(one.percentiles[percent].low < one.percentiles[percent].high for one in speedups):
        legend.append(Patch(color="#999999", alpha=0.45, linewidth=0, label=f"bootstrap 95 % interval of the {_name(percent)}"))
    if with_tails:
        legend.append(Line2D([], [], color="#555555", marker="|", markersize=9, linestyle="none",
                             label="10th to 90th percentile"))
    if not all(one.is_sure_of(percent) for one in speedups):
        legend.append(HOLLOW)
    caption = (
        f"Speedup over {base}, {section.setting.verb}. "
        + (f"A point is the {_name(percent)} of the speedups of the repetitions, each formed within one job; "
           + ("the thin bar is their 10th to 90th percentile, " if with_tails else "")
           + f"the band a percentile bootstrap 95 % interval of the {_name(percent)}. "
           if any(one.unit == "repetition" for one in speedups) else "")
        + ("Where there was only one job, a point is the ratio of the medians over its iterations and the band resamples "
           "these: it says nothing about other jobs. " if any(one.unit == "iteration" for one in speedups) else "")
        + "Lines lead the eye, nothing was measured between points.")

    def background(axes: Axes, _: list[Speedup]) -> None:
        axes.axhline(1.0, color=looks[base].colour, linewidth=1.1, linestyle=(0, (1, 1.2)))

    picture = _of_percentile(Picture(f"{section.slug}-speedup", f"Speedup over {base}", caption), percent)
    return panels_over_size(section, speedups, looks, folder, picture, legend, f"times faster than {base}", PLAIN,
                             values, partial(_draw_speedup, percent), background)


def draw_run_times(section: Section, times: list[RunTime], looks: dict[str, Look], folder: Path) -> list[Picture]:
    """As draw_speedups()."""
    written = []
    for percent in PERCENTILES:
        items = [one for one in times if percent in one.percentiles]
        if items:
            written += _draw_run_times_at(percent, section, items, looks, folder)
    return written


def _draw_run_times_at(percent: int, section: Section, times: list[RunTime], looks: dict[str, Look],
                       folder: Path) -> list[Picture]:
    shown = [time.percentiles[percent] for time in times]
    units = {time.cell.unit for time in times}
    methods = " or ".join(sorted({one.method for one in shown}))
    sure = all(time.is_sure_of(percent) for time in times)
    caption = (
        f"Run time, {section.setting.verb}: the {_name(percent)} and its 95 % interval by {methods}. A sample is "
        + ("one job's median over its iterations of the slowest rank" if "repetition" in units else
           "one iteration's slowest rank")
        + (", or, where there was one job only, one iteration of it. " if len(units) > 1 else
           ". " if units == {"repetition"} else
           "; all samples come from one job, so the interval says nothing about other jobs. ")
        + ("" if sure else "Hollow markers: too few samples for a 95 % interval."))
    legend: Legend = []
    if any(one.low < one.high for one in shown):
        legend.append(Line2D([], [], color="#555555", marker="|", markersize=9, linestyle="none",
                             label=f"95 % interval of the {_name(percent)}"))
    if not sure:
        legend.append(HOLLOW)
    picture = _of_percentile(Picture(f"{section.slug}-run-times", "Run time", caption), percent)
    return panels_over_size(
        section, times, looks, folder, picture, legend, f"{section.setting.verb} time of the slowest rank", SECONDS,
        lambda one: [one.percentiles[percent].low, one.percentiles[percent].high], partial(_draw_run_time, percent))
