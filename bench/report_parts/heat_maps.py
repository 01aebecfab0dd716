"""Which algorithm wins where: over N and pairs in one section, over P and link rate across sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from .distributions import representative, size_text
from .measures import Winner
from .sections import Section, Setting, rate_bits_per_second
from .sheet import Form, Picture, make_sheet, pages_of
from .style import Look, algorithm_handles, facts_text, plain_number

CELL_WIDTH = 0.85
CELL_HEIGHT = 0.62


@dataclass(frozen=True)
class Map:
    """One panel: winners at (column, row) places; columns and rows as labels in order."""

    title: str
    columns: list[str]
    rows: list[str]
    winners: dict[tuple[str, str], Winner]


def lead_text(winner: Winner) -> str:
    return f"{winner.lead:.2f}x" if winner.lead < 10 else f"{winner.lead:.0f}x"


def loss_text(loss: float) -> str:
    return f"+{100 * (loss - 1):.0f} %" if loss < 2 else f"{loss:.1f}x"


def _draw_cell(axes: Axes, x: int, y: int, winner: Winner, looks: dict[str, Look]) -> None:
    look = looks[winner.best.cell.algorithm]
    axes.add_patch(Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, facecolor=look.colour, alpha=0.3, linewidth=0))
    if not winner.clear:
        axes.add_patch(Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, fill=False, hatch="////", edgecolor="white", linewidth=0))
    shift = 0.17 if winner.choice_differs else 0.0
    axes.plot(x - 0.24, y + shift, marker=look.marker, color=look.colour, markersize=7, markeredgecolor="white",
              markeredgewidth=0.5)
    axes.text(x - 0.08, y + shift, lead_text(winner), ha="left", va="center", fontsize=7.5)
    if winner.choice_differs:
        loss = winner.choice_loss
        chosen = looks[winner.auto_choice]
        axes.plot(x - 0.24, y - 0.22, marker=chosen.marker, color=chosen.colour, markersize=6, markerfacecolor="white",
                  markeredgewidth=1.1)
        axes.text(x - 0.08, y - 0.22, "not run" if loss is None else loss_text(loss), ha="left", va="center", fontsize=6.5)


def frame_cells(axes: Axes, title: str, columns: Sequence[str], rows: Sequence[str], shape: tuple[int, int]) -> None:
    """Cell (column, row) is the unit square around that point."""
    axes.set(xlim=(-0.5, shape[0] - 0.5), ylim=(-0.5, shape[1] - 0.5))
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(title, loc="left")


def _draw_map(axes: Axes, panel: Map, shape: tuple[int, int], looks: dict[str, Look]) -> None:
    """One panel in room for `shape` cells (columns, rows), the same in all panels, so that all cells have one size."""
    for (column, row), winner in panel.winners.items():
        _draw_cell(axes, panel.columns.index(column), panel.rows.index(row), winner, looks)
    frame_cells(axes, panel.title, panel.columns, panel.rows, shape)


def _caption(lead: str, differs: bool) -> str:
    return (
        f"{lead} The number is its lead: the second best's median over its own. Hatched: the 95 % intervals of the two "
        "overlap, or can't be formed from so few samples. "
        + ("Where the planner would choose another algorithm than the fastest it can choose, that stands below, as a hollow "
           "marker with the time it takes more." if differs else
           "The planner's choice is the winner wherever the rows name a choice."))


def _legend(section: Section, winners: list[Winner], looks: dict[str, Look]) -> list[Line2D | Patch]:
    names = [one.best.cell.algorithm for one in winners]
    names += [one.auto_choice for one in winners if one.choice_differs]
    handles: list[Line2D | Patch] = list(algorithm_handles(section, names, looks, "none"))
    if any(one.choice_differs for one in winners):
        handles.append(Line2D([], [], color="#555555", marker="o", markerfacecolor="white", linestyle="none",
                              label="hollow: planner's choice, time it loses"))
    if not all(one.clear for one in winners):
        handles.append(Patch(facecolor="#bbbbbb", edgecolor="white", hatch="////", linewidth=0, label="no clear winner"))
    return handles


def _draw_maps(section: Section, small_print: str, panels: list[Map], picture: Picture, labels: tuple[str, str],
               looks: dict[str, Look], folder: Path) -> list[Picture]:
    widest, highest = max(len(panel.columns) for panel in panels), max(len(panel.rows) for panel in panels)
    columns = max(1, min(len(panels), 3, int(12 / (CELL_WIDTH * widest + 0.9))))
    form = Form(width=max(CELL_WIDTH * widest, 2.4), height=CELL_HEIGHT * highest, left=0.85, gap=0.3, columns=columns)
    written = []
    for name, page in pages_of(picture.name, panels):
        shown = [winner for panel in page for winner in panel.winners.values()]
        sheet = make_sheet(len(page), picture.title, _legend(section, shown, looks), small_print, form,
                           share_x=False, share_y=False)
        for axes, panel in zip(sheet.panels, page):
            _draw_map(axes, panel, (widest, highest), looks)
            axes.set_xlabel(labels[0], loc="left")
            axes.set_ylabel(labels[1], loc="bottom")
        written.append(sheet.save(folder, Picture(name, picture.title, picture.caption)))
    return written


def _maps_over_size(winners: list[Winner]) -> list[Map]:
    families: dict[tuple[int, str], list[Winner]] = {}
    for winner in winners:
        families.setdefault((winner.problem.ranks, winner.problem.shape), []).append(winner)
    panels = []
    for (ranks, shape), members in sorted(families.items()):
        sizes = sorted({one.problem.size for one in members})
        pairs = sorted({one.problem.pairs for one in members})
        panels.append(Map(
            title=f"P = {ranks}" + ("" if shape == "1:1" else f", n:m = {shape}"),
            columns=[plain_number(size) for size in sizes], rows=[str(count) for count in pairs],
            winners={(plain_number(one.problem.size), str(one.problem.pairs)): one for one in members}))
    return panels


def _size_name(winners: list[Winner]) -> str:
    return "N" if all(one.problem.shape == "1:1" for one in winners) else "sqrt(n m)"


def draw_winners(section: Section, winners: list[Winner], looks: dict[str, Look], folder: Path) -> list[Picture]:
    caption = _caption("The fastest algorithm (colour and marker) by the median.",
                       any(one.choice_differs for one in winners))
    picture = Picture(f"{section.slug}-winners", "Fastest algorithm over N and pairs", caption)
    small_print = facts_text(section, [one.problem.ranks for one in winners])
    return _draw_maps(section, small_print, _maps_over_size(winners), picture,
                      (_size_name(winners), "pairs a rank, k"), looks, folder)


def rate_families(sections: list[Section]) -> list[list[Section]]:
    """Sections that differ in the link rate only, in the order of the rates."""
    families: dict[Setting, list[Section]] = {}
    for section in sections:
        families.setdefault(section.setting.without_rate(), []).append(section)
    return [sorted(family, key=lambda one: rate_bits_per_second(one.setting.rate)) for family in families.values()]


def _maps_over_ranks(winners: list[Winner]) -> list[Map]:
    """A panel for each pairs and shape; P across, N up."""
    families: dict[tuple[int, str], list[Winner]] = {}
    for winner in winners:
        families.setdefault((winner.problem.pairs, winner.problem.shape), []).append(winner)
    panels = []
    for (pairs, shape), members in sorted(families.items()):
        ranks = sorted({one.problem.ranks for one in members})
        sizes = sorted({one.problem.size for one in members})
        panels.append(Map(
            title=f"k = {pairs}" + ("" if shape == "1:1" else f", n:m = {shape}"),
            columns=[str(count) for count in ranks], rows=[plain_number(size) for size in sizes],
            winners={(str(one.problem.ranks), plain_number(one.problem.size)): one for one in members}))
    return panels


def _rate_name(section: Section) -> str:
    """Simulated rates come with a platform each."""
    rate = section.setting.rate or "not set"
    return f"{section.setting.machine}\n{rate}" if section.setting.is_simulated else rate


def _maps_over_rates(family: list[Section], winners: dict[int, list[Winner]]) -> list[Map]:
    """A panel for each pairs and shape and for three of the sizes that several rates have; P across, rates up."""
    rates = [_rate_name(section) for section in family]
    by_problem: dict[tuple[int, str, float], dict[tuple[str, str], Winner]] = {}
    for section, rate in zip(family, rates):
        for one in winners[section.number]:
            key = (one.problem.pairs, one.problem.shape, one.problem.size)
            by_problem.setdefault(key, {})[(str(one.problem.ranks), rate)] = one
    panels = []
    for (pairs, shape, size), members in sorted(by_problem.items()):
        sizes = [other for (of_pairs, of_shape, other), of in by_problem.items()
                 if (of_pairs, of_shape) == (pairs, shape) and len({rate for _, rate in of}) > 1]
        if size in representative(sizes):
            ranks = sorted({one.problem.ranks for one in members.values()})
            panels.append(Map(f"{size_text(next(iter(members.values())).problem)}, k = {pairs}",
                              [str(count) for count in ranks], rates, members))
    return panels


def draw_winners_over_ranks(section: Section, winners: list[Winner], looks: dict[str, Look], folder: Path) -> list[Picture]:
    """For a section that no other differs from in the link rate only."""
    caption = _caption("The fastest algorithm (colour and marker) by the median, over ranks and N.",
                       any(one.choice_differs for one in winners))
    picture = Picture(f"{section.slug}-winners-over-ranks", "Fastest algorithm over ranks and N", caption)
    small_print = facts_text(section, [one.problem.ranks for one in winners])
    return _draw_maps(section, small_print, _maps_over_ranks(winners), picture, ("ranks, P", _size_name(winners)), looks, folder)


def draw_winners_over_rates(family: list[Section], winners: dict[int, list[Winner]], looks: dict[str, Look],
                            folder: Path) -> list[Picture]:
    """For sections that differ in the link rate only."""
    shown = [one for section in family for one in winners[section.number]]
    first = family[0]
    caption = _caption("The fastest algorithm (colour and marker) by the median, over ranks and link rate, for the smallest, "
                       "the middle and the largest N that several rates have. Each row of a map comes from a section of its own.",
                       any(one.choice_differs for one in shown))
    picture = Picture(f"{first.slug}-winners-over-rates", "Fastest algorithm over ranks and link rate", caption)
    rates = ", ".join(_rate_name(section).replace("\n", ": ") for section in family)
    without_rate = replace(first, setting=first.setting.without_rate())
    small_print = f"{facts_text(without_rate, [one.problem.ranks for one in shown])}; link rates {rates}"
    return _draw_maps(first, small_print, _maps_over_rates(family, winners), picture, ("ranks, P", "link rate"), looks, folder)
