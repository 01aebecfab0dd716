"""Pictures over N of the bytes sent, beside formulas and bounds."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .curves import Legend, Place, panels_over_size
from .sections import Section
from .sheet import Picture
from .style import BYTES, Look
from .volumes import Volume


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
    return panels_over_size(section, volumes, looks, folder, picture, legend, "bytes sent, maximum over ranks", BYTES,
                             values, _draw_volume, _draw_bounds, line="none")
