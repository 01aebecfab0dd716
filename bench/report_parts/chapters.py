"""Draws what a section's data allow, and says what was left out and why."""

from __future__ import annotations

import json
from pathlib import Path

from .curves import draw_run_times, draw_speedups
from .distributions import draw_violins
from .heat_maps import draw_winners, draw_winners_over_ranks, draw_winners_over_rates
from .measures import RunTime, Winner, predictions, run_times, speedups, winners
from .page import Chapter
from .rows import Refusal
from .scatter import draw_predictions
from .sections import Section
from .style import Look
from .tables import prediction_table, run_time_table, sample_table, speedup_table, volume_table, winner_table
from .volume_curves import draw_volumes
from .volumes import volumes


def heading_of(section: Section) -> str:
    setting = section.setting
    where = f"emulated cluster {setting.cluster}" if setting.cluster else setting.machine
    if setting.is_simulated:
        where = f"simulated {where}, {json.loads(setting.simulated).get('latency_factors', 'unknown')} latency factors"
    return f"Section {section.number}: {setting.data}, {setting.transport}, {where}, commit {setting.commit}"


def _add_speedups(chapter: Chapter, section: Section, base: str, looks: dict[str, Look], folder: Path) -> list[Refusal]:
    found, unpaired = speedups(section, base)
    if found:
        chapter.pictures += draw_speedups(section, found, base, looks, folder)
        chapter.tables.append(speedup_table(section, found))
    elif base not in section.algorithms:
        chapter.left_out.append(f"Speedups: no row of the base {base} here; the section has {', '.join(section.algorithms)}.")
    else:
        chapter.left_out.append(f"Speedups: no other algorithm ran in the same job on the same problem as the base {base}.")
    return unpaired


def _add_predictions(chapter: Chapter, section: Section, times: list[RunTime], looks: dict[str, Look], folder: Path) -> None:
    found = predictions(times)
    if not found:
        chapter.left_out.append("Predicted beside measured: no row carries a predicted_seconds.")
        return
    chapter.pictures += draw_predictions(section, found, looks, folder)
    chapter.tables.append(prediction_table(section, found))
    missing = sorted({time.cell.algorithm for time in times} - {one.run_time.cell.algorithm for one in found})
    if missing:
        chapter.notes.append(f"No prediction for {', '.join(missing)}: not in the picture of predictions.")


def _add_volumes(chapter: Chapter, section: Section, looks: dict[str, Look], folder: Path) -> None:
    if section.setting.form:
        chapter.left_out.append("Bytes sent: formulas and bounds are those of dense factors and a gradient in full.")
        return
    found = volumes(section)
    counted = [one for one in found if one.measured_bytes]
    if not counted:
        chapter.left_out.append("Bytes sent: no row counted any.")
        return
    shown = {one.cell.algorithm for one in counted}
    chapter.pictures += draw_volumes(section, [one for one in found if one.cell.algorithm in shown], looks, folder)
    chapter.tables.append(volume_table(section, found))
    missing = sorted({one.cell.algorithm for one in found} - shown)
    if missing:
        chapter.notes.append(f"Bytes of {', '.join(missing)} could not be counted: not in the picture of bytes sent.")
    unknown = sorted({one.cell.algorithm for one in counted if one.formula_bytes is None})
    if unknown:
        chapter.notes.append(f"No formula of the bytes sent is known here for {', '.join(unknown)}: markers only.")


def _add_winners(chapter: Chapter, section: Section, interval: str, looks: dict[str, Look], folder: Path) -> None:
    found = winners(section, interval)
    if len({one.problem for one in found}) < 2:
        chapter.left_out.append("Fastest algorithm over N and pairs: needs two problems that two algorithms ran on; "
                                f"here are {len(found)}.")
        return
    chapter.pictures += draw_winners(section, found, looks, folder)
    chapter.tables.append(winner_table(section, found))


def section_chapter(section: Section, base: str, interval: str, looks: dict[str, Look],
                    folder: Path) -> tuple[Chapter, list[Refusal]]:
    """The chapter of one section, its pictures written to `folder`, and the rows that found no base beside them."""
    chapter = Chapter(heading_of(section), section)
    names = sorted({row.host["hostname"] for row in section.rows})
    if len(names) > 1:
        chapter.notes.append(f"{len(names)} hosts' names, one for each job's first node: {', '.join(names)}.")
    times = run_times(section, interval)
    unpaired = _add_speedups(chapter, section, base, looks, folder)
    chapter.pictures += draw_run_times(section, times, looks, folder)
    chapter.tables.append(run_time_table(section, times))
    if all(cell.is_exact for cell in section.cells.values()):
        chapter.left_out.append("Spread of the times: the simulator gave every iteration of a row the same time.")
    else:
        chapter.pictures += draw_violins(section, looks, folder)
    _add_predictions(chapter, section, times, looks, folder)
    _add_volumes(chapter, section, looks, folder)
    _add_winners(chapter, section, interval, looks, folder)
    chapter.tables.append(sample_table(section))
    return chapter, unpaired


def rates_chapter(families: list[list[Section]], found: dict[int, list[Winner]], looks: dict[str, Look],
                  folder: Path) -> Chapter:
    """Which algorithm wins over ranks and link rate, from sections that differ in the rate only."""
    chapter = Chapter("Over ranks and link rates")
    for family in families:
        known = [section for section in family if found[section.number]]
        ranks = {one.problem.ranks for section in known for one in found[section.number]}
        if len(known) > 1:
            chapter.pictures += draw_winners_over_rates(known, found, looks, folder)
        elif len(ranks) > 1:
            chapter.pictures += draw_winners_over_ranks(known[0], found[known[0].number], looks, folder)
        else:
            numbers = ", ".join(str(section.number) for section in family)
            chapter.left_out.append(f"Section {numbers}: needs two link rates or two rank counts, and two algorithms.")
    return chapter
