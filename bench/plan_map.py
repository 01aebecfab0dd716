#!/usr/bin/python3
"""Draws who wins where: rows of dsop-bench plan (JSON lines) in, pictures (PNG, SVG) out.

With one rate a map over N and pairs for each number of ranks, with several a map over ranks and rates for each N and
number of pairs. A cell is what auto takes and how many times faster it is than the fastest that sends the gradient
alone; hatched cells lie beyond the thick line where factors stop paying.
Exit status: 0, or 2 if an argument or a file can't be used.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report_parts.heat_maps import frame_cells
from report_parts.json_lines import Refused, parsed_rows
from report_parts.sections import rate_bits_per_second
from report_parts.sheet import Form, Picture, make_sheet, pages_of
from report_parts.style import Look, in_legend_order, make_looks

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

CELL_WIDTH = 0.8
CELL_HEIGHT = 0.42


@dataclass(frozen=True)
class Forecast:
    """What auto takes at one point."""

    rows: int
    columns: int
    pairs: int
    ranks: int
    ranks_per_node: int
    rate: str
    dtype: str
    machine: str
    version: str
    algorithm: str
    gain: float
    factors_pay: bool

    @property
    def shape(self) -> str:
        return str(self.rows) if self.rows == self.columns else f"{self.rows} x {self.columns}"


@dataclass(frozen=True)
class Map:
    """One panel: forecasts at (column, row) places; columns and rows as labels in order."""

    title: str
    labels: tuple[str, str]
    columns: list[str]
    rows: list[str]
    forecasts: dict[tuple[str, str], Forecast]


POINT = ("rows", "columns", "pairs", "ranks", "ranks_per_node", "rate", "dtype", "machine")


def forecast_of(row: dict[str, Any]) -> Forecast:
    if row["family"] != "plan":
        raise ValueError(f"family is {row['family']}")
    point: dict[str, Any] = {key: row[key] for key in POINT} | {"rate": row["rate"] or ""}
    return Forecast(**point, version=row["host"]["version"], algorithm=row["auto_choice"], gain=float(row["gain"]),
                    factors_pay=row["factors_pay"])


def read_forecasts(path: Path) -> list[Forecast]:
    """One of each point that the rows are of."""
    forecasts = {tuple(getattr(forecast, key) for key in POINT): forecast
                 for forecast in parsed_rows(path, "dsop-bench plan", forecast_of)}
    return list(forecasts.values())


def check_alike(forecasts: list[Forecast], path: Path) -> None:
    """A place in a map says nothing of these."""
    for key in ("machine", "ranks_per_node", "dtype"):
        found = sorted({str(getattr(one, key)) for one in forecasts})
        if len(found) > 1:
            raise Refused(f"{path}: rows with {key} {', '.join(found)}, expected one of them alone")


def make_maps(forecasts: list[Forecast]) -> list[Map]:
    over_rates = len({one.rate for one in forecasts}) > 1

    def title(one: Forecast) -> str:
        if over_rates:
            return f"n = {one.shape}, k = {one.pairs}"
        return f"P = {one.ranks}" + (f", {one.rate}" if one.rate else "")

    def place(one: Forecast) -> tuple[str, str]:
        return (str(one.ranks), one.rate) if over_rates else (one.shape, str(one.pairs))

    labels = ("ranks, P", "link rate") if over_rates else ("rows and columns, N", "pairs a rank, k")
    panels: dict[str, list[Forecast]] = {}
    for one in forecasts:
        panels.setdefault(title(one), []).append(one)
    maps = []
    for name, members in panels.items():
        members.sort(key=lambda one: (one.rows * one.columns, one.pairs, one.ranks, rate_bits_per_second(one.rate)))
        columns, rows = (list(dict.fromkeys(place(one)[axis] for one in members)) for axis in (0, 1))
        maps.append(Map(name, labels, columns, rows, {place(one): one for one in members}))
    return maps


def draw_border(axes: Axes, panel: Map) -> None:
    """Thick lines between neighbours of which one sends factors and the other the gradient alone."""
    for x, column in enumerate(panel.columns):
        for y, row in enumerate(panel.rows):
            here = panel.forecasts.get((column, row))
            for step in ((1, 0), (0, 1)):
                if here is None or x + step[0] >= len(panel.columns) or y + step[1] >= len(panel.rows):
                    continue
                there = panel.forecasts.get((panel.columns[x + step[0]], panel.rows[y + step[1]]))
                if there is None or here.factors_pay == there.factors_pay:
                    continue
                ends = ([x + 0.5] * 2, [y - 0.5, y + 0.5]) if step[0] else ([x - 0.5, x + 0.5], [y + 0.5] * 2)
                axes.plot(*ends, color="#222222", linewidth=2, solid_capstyle="projecting")


def draw_map(axes: Axes, panel: Map, looks: dict[str, Look]) -> None:
    for (column, row), one in panel.forecasts.items():
        x, y, look = panel.columns.index(column), panel.rows.index(row), looks[one.algorithm]
        axes.add_patch(Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, facecolor=look.colour, alpha=0.3, linewidth=0))
        if not one.factors_pay:
            axes.add_patch(Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, fill=False, hatch="////", edgecolor="white", linewidth=0))
        axes.plot(x - 0.3, y, marker=look.marker, color=look.colour, markersize=6, markeredgecolor="white", markeredgewidth=0.5)
        if one.factors_pay:
            axes.text(x - 0.16, y, f"{one.gain:.2f}x" if one.gain < 10 else f"{one.gain:.0f}x", ha="left", va="center", fontsize=7.5)
    draw_border(axes, panel)
    frame_cells(axes, panel.title, panel.columns, panel.rows, (len(panel.columns), len(panel.rows)))
    axes.set_xlabel(panel.labels[0], loc="left")
    axes.set_ylabel(panel.labels[1], loc="bottom")


def legend(forecasts: list[Forecast], looks: dict[str, Look]) -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=looks[name].colour, marker=looks[name].marker, linestyle="none", label=name)
        for name in in_legend_order([one.algorithm for one in forecasts])]
    if not all(one.factors_pay for one in forecasts):
        handles.append(Patch(facecolor="#bbbbbb", edgecolor="white", hatch="////", linewidth=0, label="factors do not pay"))
    return handles


def small_print(forecasts: list[Forecast]) -> str:
    machines, nodes, types, versions = (", ".join(sorted({str(getattr(one, key)) for one in forecasts}))
                                        for key in ("machine", "ranks_per_node", "dtype", "version"))
    return (f"Predicted by dsop-bench plan {versions}, nothing was run; machine: {machines}; ranks a node: {nodes}; {types}. The number: "
            "how many times faster auto's choice is than the fastest that sends the gradient alone.")


def draw(maps: list[Map], looks: dict[str, Look], folder: Path) -> list[Picture]:
    widest, highest = max(len(panel.columns) for panel in maps), max(len(panel.rows) for panel in maps)
    columns = max(1, min(len(maps), 3, int(12 / (CELL_WIDTH * widest + 0.9))))
    form = Form(width=max(CELL_WIDTH * widest, 2.4), height=CELL_HEIGHT * highest, left=0.85, gap=0.3, columns=columns)
    written = []
    for name, page in pages_of("plan", maps):
        shown = [one for panel in page for one in panel.forecasts.values()]
        sheet = make_sheet(len(page), "What auto takes, and its gain", legend(shown, looks), small_print(shown), form,
                           share_x=False, share_y=False)
        for axes, panel in zip(sheet.panels, page):
            draw_map(axes, panel, looks)
        written.append(sheet.save(folder, Picture(name, "What auto takes", "")))
    return written


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", metavar="ROWS.jsonl", type=Path, help="rows of dsop-bench plan --out")
    parser.add_argument("--out", metavar="FOLDER", required=True, type=Path, help="plan.png and plan.svg are written there")
    options = parser.parse_args(arguments)
    try:
        forecasts = read_forecasts(options.rows)
        if not forecasts:
            raise Refused(f"{options.rows}: no row, expected at least those of one point")
        check_alike(forecasts, options.rows)
        options.out.mkdir(parents=True, exist_ok=True)
        pictures = draw(make_maps(forecasts), make_looks([one.algorithm for one in forecasts]), options.out)
    except (Refused, OSError) as error:
        print(f"plan_map.py: {error}", file=sys.stderr)
        return 2
    for picture in pictures:
        print(options.out / f"{picture.name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
