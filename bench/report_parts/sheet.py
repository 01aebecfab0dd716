"""A sheet is one picture: a title, a legend, a grid of panels, and the small print, laid out in inches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .style import wrapped

PANELS_A_SHEET = 12
TITLE_INCHES = 0.34
LEGEND_LINE_INCHES = 0.172
PANEL_TITLE_INCHES = 0.3
X_LABEL_INCHES = 0.52
SMALL_PRINT_LINE_INCHES = 0.125
SMALL_PRINT_POINTS = 6.2
SMALL_PRINT_CHARACTERS_AN_INCH = 19


@dataclass(frozen=True)
class Picture:
    """A picture that was written as NAME.png, and perhaps as NAME.svg."""

    name: str
    title: str
    caption: str


@dataclass(frozen=True)
class Form:
    """The sizes of a sheet's panels, in inches."""

    width: float = 3.3
    height: float = 2.5
    left: float = 0.75
    gap: float = 0.3
    columns: int = 3
    bottom: float = X_LABEL_INCHES

    @staticmethod
    def for_panels(count: int) -> Form:
        """Larger panels where there are few."""
        if count == 1:
            return Form(width=6.2, height=3.7, columns=1)
        if count in (2, 4):
            return Form(width=4.2, height=2.9, columns=2)
        return Form()


@dataclass
class Sheet:
    figure: Figure
    panels: list[Axes]

    def save_png(self, folder: Path, picture: Picture) -> Picture:
        self.figure.savefig(folder / f"{picture.name}.png", metadata={"Software": None})
        return picture

    def save(self, folder: Path, picture: Picture) -> Picture:
        self.save_png(folder, picture)
        self.figure.savefig(folder / f"{picture.name}.svg", metadata={"Date": None, "Creator": None})
        return picture


def _legend_columns(handles: list[Line2D | Patch], width: float) -> int:
    longest = max(len(str(handle.get_label())) for handle in handles)
    return max(1, min(len(handles), int(width / (0.068 * longest + 0.55))))


def make_sheet(count: int, title: str, handles: list[Line2D | Patch], small_print: str, form: Form, *,
               share_x: bool, share_y: bool) -> Sheet:
    """An empty sheet of `count` panels; labels of the y axis stand on its left edge only if `share_y`."""
    columns = min(form.columns, count)
    lines = math.ceil(count / columns)
    gap = form.gap if share_y else form.gap + form.left - 0.2
    width = form.left + columns * form.width + (columns - 1) * gap + 0.2
    legend_columns = _legend_columns(handles, width - 0.2)
    legend_inches = LEGEND_LINE_INCHES * math.ceil(len(handles) / legend_columns) + 0.1
    print_lines = wrapped(small_print, int(width * SMALL_PRINT_CHARACTERS_AN_INCH))
    print_inches = SMALL_PRINT_LINE_INCHES * len(print_lines) + 0.08
    row_gap = PANEL_TITLE_INCHES + form.bottom
    top = TITLE_INCHES + legend_inches + PANEL_TITLE_INCHES
    height = top + lines * form.height + (lines - 1) * row_gap + form.bottom + print_inches

    figure = Figure(figsize=(width, height))
    grid = figure.add_gridspec(
        lines, columns, left=form.left / width, right=1 - 0.2 / width, top=1 - top / height,
        bottom=(form.bottom + print_inches) / height, wspace=gap / form.width, hspace=row_gap / form.height)
    panels: list[Axes] = []
    for index in range(count):
        first = panels[0] if panels else None
        axes = figure.add_subplot(grid[index // columns, index % columns], sharex=first if share_x else None,
                                  sharey=first if share_y else None)
        axes.tick_params(labelleft=not share_y or index % columns == 0)
        panels.append(axes)
    figure.text(0.12 / width, 1 - 0.09 / height, title, va="top", ha="left", fontsize=10.5, weight="bold")
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.05 / width, 1 - (TITLE_INCHES - 0.02) / height),
                  ncol=legend_columns, frameon=False, fontsize=8, handlelength=2.2, columnspacing=1.4, borderaxespad=0)
    figure.text(0.12 / width, 0.06 / height, "\n".join(print_lines), va="bottom", ha="left",
                fontsize=SMALL_PRINT_POINTS, color="#666666", linespacing=1.3)
    return Sheet(figure, panels)


def pages_of(name: str, *groups: list) -> list[tuple[str, list]]:
    """Cuts panels into sheets: NAME, NAME-2, NAME-3, ...; no two groups share one."""
    cuts = [group[start:start + PANELS_A_SHEET] for group in groups for start in range(0, len(group), PANELS_A_SHEET)]
    return [(name if index == 0 else f"{name}-{index + 1}", cut) for index, cut in enumerate(cuts)]
