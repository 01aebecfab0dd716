"""Predicted beside measured times, by whose machine they were predicted for and by how ranks share hosts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROBED = "auto-probed"


def bound(chooser: str, shares_hosts: bool, is_simulated: bool) -> float:
    """What a good prediction is within: the machine that the probe finds, and real hosts that ranks share, are known less well."""
    return 1.5 if chooser == PROBED or (shares_hosts and not is_simulated) else 1.3


@dataclass(frozen=True)
class Prediction:
    shares_hosts: bool  # several ranks a host: two levels of the machine
    chooser: str  # for whose machine
    predicted_seconds: float
    measured_seconds: float
    is_simulated: bool = False

    @property
    def is_near(self) -> bool:
        factor = bound(self.chooser, self.shares_hosts, self.is_simulated)
        return 1 / factor <= self.predicted_seconds / self.measured_seconds <= factor


def draw(predictions: list[Prediction], file: Path) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = sorted({one.shares_hosts for one in predictions})
    columns = sorted({one.chooser for one in predictions})
    milliseconds = [1e3 * value for one in predictions for value in (one.predicted_seconds, one.measured_seconds)]
    low, high = min(milliseconds) / 1.6, max(milliseconds) * 1.6
    figure, panels = pyplot.subplots(len(rows), len(columns), figsize=(4.2 * len(columns), 4.2 * len(rows)), squeeze=False,
                                     sharex=True, sharey=True, layout="constrained")
    for axes_of_row, shares_hosts in zip(panels, rows):
        for axes, chooser in zip(axes_of_row, columns):
            group = [one for one in predictions if (one.shares_hosts, one.chooser) == (shares_hosts, chooser)]
            factor = bound(chooser, shares_hosts, all(one.is_simulated for one in group))
            axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
            axes.grid(color="#e4e4e4", linewidth=0.6)
            axes.plot([low, high], [low, high], color="#444444", linewidth=0.9)
            for side in (factor, 1 / factor):
                axes.plot([low, high], [low * side, high * side], color="#888888", linewidth=0.9, linestyle=(0, (4, 2)))
            axes.plot([1e3 * one.measured_seconds for one in group], [1e3 * one.predicted_seconds for one in group], "o",
                      color="#0072B2", markersize=3.5, alpha=0.6)
            axes.set_title(f"{'the probe' if chooser == PROBED else 'calibrated'}, "
                           f"{'several ranks' if shares_hosts else 'one rank'} a host\n"
                           f"within {factor}x: {sum(one.is_near for one in group)} of {len(group)}", fontsize=9, loc="left")
    for axes in panels[-1]:
        axes.set_xlabel("measured, ms")
    for axes_of_row in panels:
        axes_of_row[0].set_ylabel("predicted, ms")
    figure.savefig(file, dpi=150, metadata={"Software": None})
