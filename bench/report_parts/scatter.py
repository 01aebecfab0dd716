"""The planner's model beside what was measured."""

from __future__ import annotations

from pathlib import Path

from matplotlib.lines import Line2D

from .curves import HOLLOW
from .measures import Prediction
from .sections import Section
from .sheet import Form, Picture, make_sheet
from .style import SECONDS, Look, algorithm_handles, facts_text, log_ticks

NEAR = 1.5


def within_factor(predictions: list[Prediction], factor: float = NEAR) -> int:
    return sum(1 / factor <= one.ratio <= factor for one in predictions)


def draw_predictions(section: Section, predictions: list[Prediction], looks: dict[str, Look], folder: Path) -> list[Picture]:
    verb = section.setting.verb
    seconds = [value for one in predictions
               for value in (one.predicted_seconds, one.run_time.seconds.low, one.run_time.seconds.high)]
    low, high = min(seconds) / 1.6, max(seconds) * 1.6
    near = within_factor(predictions)
    title = f"Predicted and {verb} time"
    caption = (f"The planner's model against the {verb} median, with the 95 % interval of the median (bars). Below the "
               f"diagonal the model is too fast. {near} of {len(predictions)} predictions are within a factor of {NEAR}.")
    handles = algorithm_handles(section, [one.run_time.cell.algorithm for one in predictions], looks, "none")
    handles += [Line2D([], [], color="#444444", linewidth=0.9, label=f"predicted = {verb}"),
                Line2D([], [], color="#888888", linewidth=0.9, linestyle=(0, (4, 2)), label=f"within a factor of {NEAR}")]
    if not all(one.run_time.is_sure for one in predictions):
        handles.append(HOLLOW)
    sheet = make_sheet(1, title, handles, facts_text(section, [one.run_time.cell.problem.ranks for one in predictions]),
                       Form(width=5.2, height=5.2, columns=1), share_x=False, share_y=True)
    axes = sheet.panels[0]
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal",
             xlabel=f"{verb} time of the slowest rank", ylabel="predicted time")
    axes.plot([low, high], [low, high], color="#444444", linewidth=0.9, zorder=1)
    for factor in (NEAR, 1 / NEAR):
        axes.plot([low, high], [low * factor, high * factor], color="#888888", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    for one in predictions:
        look, estimate = looks[one.run_time.cell.algorithm], one.run_time.seconds
        axes.hlines(one.predicted_seconds, estimate.low, estimate.high, color=look.colour, linewidth=0.9)
        axes.plot(estimate.median, one.predicted_seconds, marker=look.marker, color=look.colour, linestyle="none",
                  markerfacecolor=look.colour if one.run_time.is_sure else "white", markersize=4.5)
    log_ticks(axes.xaxis, low, high, SECONDS)
    log_ticks(axes.yaxis, low, high, SECONDS)
    axes.set_title(f"{near} of {len(predictions)} predictions within a factor of {NEAR}", loc="left")
    return [sheet.save(folder, Picture(f"{section.slug}-predictions", title, caption))]
