#!/usr/bin/python3
"""What training costs and learns with each way of summing gradients: the rows that scripts/training leaves in a folder in,
Markdown tables out, and pictures into the same folder.

A step's time is the slowest rank's; a run's first step warms up and is left out. Ratios are of medians over the steps of all
rounds, with 95 % bootstrap intervals.
Exit status: 0, or 2 if an argument or a file can't be used.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from report_parts.intervals import bootstrap_ratio_estimate
from report_parts.json_lines import Refused
from training_parts import pictures
from training_parts.rows import Runs, add, read_rows, rounds_of


HELD_OUT = ("held_out_loss", "accuracy", "slot_f1", "intent_accuracy", "test_loss", "test_accuracy")


def ratio(base: Runs, runs: Runs) -> str:
    if base is runs:
        return "1"
    estimate = bootstrap_ratio_estimate(base.seconds(), runs.seconds())
    return f"{estimate.median:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "| --- " + "| --: " * (len(head) - 1) + "|"] + [
        "| " + " | ".join(row) + " |" for row in rows] + [""]


def policies_table(title: str, folder: Path, what: str) -> list[str]:
    """A folder a policy; times beside those of dense:mpi and dense:ring."""
    policies = {path.name: rounds_of(path) for path in sorted(folder.iterdir()) if path.is_dir()}
    policies = {name: runs for name, runs in policies.items() if runs.warm}
    bases = [name for name in ("dense:mpi", "dense:ring") if name in policies]
    rows = []
    for name, runs in sorted(policies.items(), key=lambda item: -item[1].median()):
        last_loss = runs.steps[-1]["loss"] if runs.steps else runs.epochs[-1]["loss"]
        rows.append([f"`{name}`", f"{runs.median():.4f}", f"{runs.median('arithmetic_seconds'):.4f}",
                     f"{runs.median('communication_seconds'):.4f}", *(ratio(policies[base], runs) for base in bases),
                     f"{last_loss:.5f}"])
    return [f"**{title}**", ""] + table(
        ["`--sync`", f"seconds {what}", "arithmetic", "communication", *(f"faster than {base}" for base in bases), "last loss"],
        rows)


def breakdown(title: str, policies: dict[str, Runs], picture: Path) -> list[str]:
    """The parts of a step, as Ok-Topk's paper has them, in a table and a picture; nothing where no row tells them apart."""
    parts = {name: runs.parts() for name, runs in policies.items() if runs.parts()}
    if not parts:
        return []
    parts = dict(sorted(parts.items(), key=lambda item: -sum(item[1].values())))
    pictures.breakdown(parts, f"seconds of a step, {title}", picture)
    return [f"**Where a step's seconds go, {title}**", ""] + table(
        ["`--sync`", "arithmetic", "selection", "communication"],
        [[f"`{name}`", *(f"{seconds:.4f}" for seconds in of.values())] for name, of in parts.items()])


def speed(out: Path) -> list[str]:
    lines = []
    for folder in sorted(path for path in (out / "speed").glob("*/*") if path.is_dir()):
        model, rate = folder.parent.name, folder.name
        lines += policies_table(f"{model}, {rate}, 8 hosts", folder, "a step")
        policies = {path.name: rounds_of(path) for path in folder.iterdir() if path.is_dir()}
        lines += breakdown(f"{model}, {rate}, 8 hosts", policies, out / f"parts-{model}-{rate}.png")
    return lines


def linear(out: Path) -> list[str]:
    lines = []
    for folder in sorted(path for path in (out / "linear").glob("*") if path.is_dir()):
        lines += policies_table(f"linear, {folder.name}, 1gbit, 8 hosts", folder, "an epoch")
    return lines


def schedules(out: Path) -> list[str]:
    names = ["overlap", "reduce-broadcast", "allreduce"]
    rows = []
    for folder in sorted((out / "schedules").glob("*")):
        cells = [rounds_of(folder / name) for name in names]
        rows.append([folder.name] + [
            f"{runs.median('communication_seconds'):.4f} / {runs.median('arithmetic_seconds'):.4f}" for runs in cells])
    return ["**Communication / arithmetic, seconds a step**", ""] + table(["collective", *names], rows)


def scaling(out: Path) -> list[str]:
    points = {policy.name.replace("--", " --"): {int(folder.name): rounds_of(folder).median() for folder in policy.glob("*") if folder.is_dir()}
              for policy in sorted((out / "scaling").glob("*"))}
    pictures.scaling(points, "seconds a step", out / "scaling.png")
    most = max(count for of_ranks in points.values() for count in of_ranks)
    at_most_ranks = {policy.name.replace("--", " --"): rounds_of(policy / str(most)) for policy in (out / "scaling").glob("*")}
    return ["**Seconds a step**", ""] + over_ranks("`--sync`", points) + breakdown(
        f"P = {most}", at_most_ranks, out / "scaling-parts.png")


def over_ranks(head: str, points: dict[str, dict[int, float]]) -> list[str]:
    """A table of seconds by name and number of ranks."""
    ranks = sorted({count for of_ranks in points.values() for count in of_ranks})
    return table([head, *(f"P = {count}" for count in ranks)],
                 [[f"`{name}`", *(f"{of_ranks[count]:.4f}" if count in of_ranks else "-" for count in ranks)]
                  for name, of_ranks in points.items()])


def policy_of(row: dict[str, Any]) -> str:
    """The `--sync` of dsop-train that does what a row of dsop-bench timed."""
    if "density" in row:
        return f"{row['algorithm']}:{row['density']:g}"
    return "dsop" if row["algorithm"] == "auto" else "dense:" + row["algorithm"].removeprefix("allreduce-")


def simulated(out: Path) -> list[str]:
    """A folder a model, in it one a parameter or bucket, in it files P-*.jsonl; a step's calls run one after the other."""
    lines = []
    for model in sorted((out / "simulated").iterdir()):
        parts: dict[str, dict[int, list[tuple[int, float]]]] = {}  # elements and seconds
        chosen: dict[int, list[str]] = {}
        for path in sorted(model.glob("*/*.jsonl")):
            for row in read_rows(path):
                elements = row["size"] if "size" in row else row["rows"] * row["columns"]
                parts.setdefault(policy_of(row), {}).setdefault(row["ranks"], []).append((elements, max(row["seconds"][0])))
                if row["algorithm"] == "auto":
                    chosen.setdefault(row["ranks"], []).append(f"{path.parent.name} `{row['used']}`")
        sums = {name: {ranks: [sum(column) for column in zip(*pairs)] for ranks, pairs in of_ranks.items()}
                for name, of_ranks in sorted(parts.items())}
        whole = max(elements for of_ranks in sums.values() for elements, _ in of_ranks.values())
        points = {name: {ranks: seconds for ranks, (elements, seconds) in of_ranks.items() if elements == whole}
                  for name, of_ranks in sums.items()}
        points = {name: of_ranks for name, of_ranks in points.items() if of_ranks}
        pictures.scaling(points, "seconds of one step's collectives, simulated", out / f"simulated-{model.name}.png")
        lines += [f"**{model.name}, simulated seconds of one step's collectives**", ""] + over_ranks("`--sync`", points)
        lines += ["What `dsop` took:", ""] + [
            f"- P = {ranks}: {', '.join(chosen[ranks])}" for ranks in sorted(points.get("dsop", {}))] + [""]
    return lines


def curves(out: Path) -> list[str]:
    runs = {path.stem: Runs() for path in sorted((out / "curves").glob("*.jsonl"))}
    for name, one in runs.items():
        add(one, out / "curves" / f"{name}.jsonl")
    pictures.curves({name: [row["loss"] for row in one.steps] for name, one in runs.items()}, out / "curves.png")
    chosen = {name: pictures.ratios(one.steps, "chosen") for name, one in runs.items()}
    in_sum = {name: pictures.ratios(one.steps, "in_sum") for name, one in runs.items()}
    lines = {f"{name}, rank 0": values for name, values in chosen.items() if values}
    predicted = {name: pictures.ratios(one.steps, "predicted") for name, one in runs.items() if "gaussian-k" in name}
    lines |= {f"{name}, predicted": values for name, values in predicted.items() if values}
    lines |= {f"{name}, sum": in_sum[name] for name in ("ok-topk:0.01", "gtopk:0.01") if in_sum.get(name)}
    pictures.chosen(lines, out / "chosen.png")
    lines_of_xi = [line for name, one in runs.items() for line in xi(name, one, out / "xi.png")]
    rows = [[f"`{name}`", f"{one.epochs[-1]['loss']:.4f}", f"{one.epochs[-1].get('accuracy', float('nan')):.4f}",
             *(f"{np.mean(of[name]) - 1:+.1%}" if of.get(name) else "-" for of in (predicted, chosen, in_sum))] for name, one in runs.items()]
    return ["**After the last epoch**", ""] + table(
        ["`--sync`", "mean loss", "accuracy", "its threshold predicted beside k, mean", "rank 0 chose beside k, mean",
         "the sum has beside k, mean"], rows) + lines_of_xi


def xi(name: str, runs: Runs, picture: Path) -> list[str]:
    """Of a run in which it was measured: beside the chosen elements as a picture, and in words."""
    values = {row["step"]: row["xi"] for row in runs.steps if "xi" in row}
    if not values:
        return []
    pictures.xi({f"{words}, beside k": pictures.ratios(runs.steps, of) for words, of in (("rank 0 chose", "chosen"), ("the sum has", "in_sum"))},
                values, picture)
    far = [float(np.mean(np.abs(np.array(pictures.ratios(runs.steps, of)) - 1))) for of in ("chosen", "in_sum")]
    return [f"`{name}`: xi in {len(values)} steps has the median {np.median(list(values.values())):.2f}, the mean {np.mean(list(values.values())):.2f}, "
            f"at most {max(values.values()):.2f}. Steps are off k by {far[0]:.1%} (rank 0) and {far[1]:.1%} (sum), up or down.", ""]


def accuracy(out: Path) -> list[str]:
    rows = []
    for path in sorted((out / "accuracy").glob("*.jsonl")):
        runs = Runs()
        add(runs, path)
        last = runs.epochs[-1]
        figures = ", ".join(f"{name} {last[name]:.4f}" for name in HELD_OUT if isinstance(last.get(name), float))
        seconds = sum(row.get("seconds", row.get("total_seconds", 0)) for row in runs.epochs)
        rows.append([path.stem, str(last["epoch"]), figures, f"{seconds:.0f}"])
    return ["**What is held out, after the last epoch**", ""] + table(["run", "epochs", "figures", "seconds"], rows)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="what scripts/training wrote to")
    out = parser.parse_args(arguments).folder
    try:
        lines = []
        for part in (speed, linear, schedules, scaling, simulated, curves, accuracy):
            if (out / part.__name__).is_dir():
                lines += [f"## {part.__name__.capitalize()}", ""] + part(out)
        if not lines:
            raise Refused(f"{out}: no rows, expected folders as scripts/training makes them")
    except (Refused, OSError, KeyError, ValueError, IndexError) as error:
        print(f"training.py: {error!r}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
