"""What README.md and docs/numbers.md claim: ratios of rows under docs/rows/, their list docs/claims.csv, and the tables drawn from it."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from calls.builds import Refused
from calls.results import table

Row = dict[str, Any]  # case, contender, run, seconds, commit, cpu, date, command

AS_IT_COMES = "MPI_Allreduce, Open MPI"
DENSE = re.compile(r"MPI_Allreduce|allreduce-|gloo-|dense:|DDP|gemm")  # what a user could have instead
NO_GAIN = 1.15
PAGES = ("README.md", "docs/numbers.md", "docs/programs/rivals.md")
TABLE = re.compile(r"(<!-- claims: (\S+), by scripts/claims -->\n).*?(<!-- end of claims -->)", re.DOTALL)


@dataclass(frozen=True)
class Case:
    """What is claimed of the rows of one case: how many times faster `contender` is than the fastest dense form there."""

    name: str
    words: str
    contender: str
    pages: tuple[str, ...] = ("README.md",)


CASES = (
    Case("call-200mbit-1", "a call, n = m = 1000, one pair a rank, 200 Mbit/s", "auto"),
    Case("call-200mbit-32", "the same with 32 pairs", "auto"),
    Case("call-200mbit-128", "the same with 128 pairs (as many bytes as G)", "auto"),
    Case("step-200mbit", "a training step, perceptron 784-4096-4096-10, 16 samples a rank, 200 Mbit/s", "dsop"),
    Case("torch-1gbit", "a PyTorch 2.13 step, mlp 784-4096-4096-10, 16 samples a rank, 1 Gbit/s", "attach()"),
    Case("call-1gbit-1", "a call, n = m = 1000, one pair a rank, 1 Gbit/s", "auto", ("docs/numbers.md",)),
    Case("call-1gbit-32", "the same with 32 pairs", "auto", ("docs/numbers.md",)),
    Case("call-1gbit-128", "the same with 128 pairs", "auto", ("docs/numbers.md",)),
    Case("simulated-48-neutral", "a call on the [DSOP paper](docs/reference/papers.md)'s cluster, [**simulated**](docs/simulation.md), "
         "48 ranks, n = m = 1000 to 8000, f64, one pair, neutral latency factors", "auto"),
    Case("simulated-48-default", "README's simulated call with SimGrid's default latency factors", "auto", ("docs/numbers.md",)),
    *(Case(f"kernel-{dtype}-{K}", f"the product kernel, one core, n = m = 4096, {dtype}, K = {K}", "dsop's kernel", ("docs/numbers.md",))
      for dtype in ("f32", "f64") for K in (1, 16, 64)),
)


@dataclass(frozen=True)
class Claim:
    """A line of docs/claims.csv: `value` is the median over runs of the rival's seconds over the contender's, low and high their range."""

    claim: str
    contender: str
    rival: str
    value: str
    low: str
    high: str
    runs: int
    rows: str
    command: str
    commit: str
    machine: str
    date: str


def three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def read_rows(folder: Path) -> list[Row]:
    rows: list[Row] = []
    for file in sorted(folder.glob("*.jsonl")):
        rows += [json.loads(line) | {"file": f"docs/rows/{file.name}"} for line in file.read_text(encoding="utf-8").splitlines()]
    return rows


def one_of(rows: Iterable[Row], key: str, case: str) -> str:
    values = sorted({str(row[key]) for row in rows})
    if len(values) != 1:
        raise Refused(f"docs/rows: {key} of {case} is {' and '.join(values)}, expected one: measure it again, scripts/claims measure")
    return values[0]


def seconds_of_runs(rows: Iterable[Row], contender: str) -> dict[int, float]:
    return {int(row["run"]): float(row["seconds"]) for row in rows if row["contender"] == contender}


def claim(case: Case, rows: list[Row], rival: str) -> Claim:
    mine, its = seconds_of_runs(rows, case.contender), seconds_of_runs(rows, rival)
    if not mine or mine.keys() != its.keys():
        raise Refused(f"docs/rows: {case.name} has runs {sorted(mine)} of {case.contender} and {sorted(its)} of {rival}, expected the same")
    ratios = sorted(its[run] / mine[run] for run in mine)
    of_both = [row for row in rows if row["contender"] in (case.contender, rival)]
    value, low, high = (three_digits(number) for number in (statistics.median(ratios), ratios[0], ratios[-1]))
    return Claim(case.name, case.contender, rival, value, low, high, len(ratios), one_of(rows, "file", case.name),
                 next(str(row["command"]) for row in rows if row["contender"] == case.contender), one_of(of_both, "commit", case.name),
                 one_of(of_both, "cpu", case.name), max(str(row["date"])[:10] for row in of_both))


def claims_of(all_rows: list[Row]) -> list[Claim]:
    """Two a case: beside the dense form whose median is the least, and beside MPI_Allreduce as it comes, where that is another."""
    claims: list[Claim] = []
    for case in CASES:
        rows = [row for row in all_rows if row["case"] == case.name]
        medians = {row["contender"]: statistics.median(seconds_of_runs(rows, row["contender"]).values())
                   for row in rows if DENSE.search(row["contender"])}
        if not medians:
            raise Refused(f"docs/rows: no row of {case.name}: scripts/claims measure")
        fastest = min(medians, key=medians.__getitem__)
        claims += [claim(case, rows, rival) for rival in dict.fromkeys((fastest, AS_IT_COMES)) if rival in medians]
    return claims


def as_csv(claims: Iterable[Claim]) -> str:
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(field.name for field in fields(Claim))
    lines.writerows(astuple(each) for each in claims)
    return out.getvalue()


def shown(each: Claim | None) -> str:
    if each is None:
        return ""
    if float(each.value) < NO_GAIN:
        return f"no gain ({each.value}x, {each.low} to {each.high})"
    return f"{each.value}x ({each.low} to {each.high})"


def claims_table(claims: Iterable[Claim], page: str) -> str:
    lines = []
    for case in (case for case in CASES if page in case.pages):
        best, *rest = (each for each in claims if each.claim == case.name)
        mpi = best if best.rival == AS_IT_COMES else rest[0] if rest else None
        words = case.words if page == "README.md" else case.words.replace("](docs/", "](")
        lines.append([words, shown(best), best.rival, shown(mpi)])
    return table(["what", "beside the fastest dense form", "which is", "beside MPI_Allreduce as it comes"], lines)


def rivals_table(rows: list[Row]) -> str:
    """Median ms of every contender, a column a case."""
    cases = [f"call-{rate}-{pairs}" for rate in ("200mbit", "1gbit") for pairs in (1, 32, 128)]
    seconds = {(row["case"], row["contender"]): seconds_of_runs([one for one in rows if one["case"] == row["case"]], row["contender"])
               for row in rows if row["case"] in cases}
    lines = [[name, *(three_digits(1e3 * statistics.median(seconds[case, name].values())) for case in cases)]
             for name in dict.fromkeys(name for _, name in seconds)]
    return table(["ms, median of five runs", *(" ".join(case.split("-")[1:]).replace("mbit", " Mbit/s,").replace("gbit", " Gbit/s,") +
                                               (" pair" if case.endswith("-1") else " pairs") for case in cases)], lines)


def drawn(text: str, rows: list[Row]) -> str:
    """The page with its table drawn anew."""
    def anew(found: re.Match[str]) -> str:
        made = rivals_table(rows) if found[2] == "docs/programs/rivals.md" else claims_table(claims_of(rows), found[2])
        return f"{found[1]}{made}\n{found[3]}"
    return TABLE.sub(anew, text)


def faults(root: Path) -> list[str]:
    """What is wrong in the list and on the pages, a line each; none where all numbers are those of the rows."""
    rows = read_rows(root / "docs/rows")
    found = []
    if (root / "docs/claims.csv").read_text(encoding="utf-8") != as_csv(claims_of(rows)):
        found.append("docs/claims.csv is not what docs/rows/ says: scripts/claims draw")
    for page in PAGES:
        text = (root / page).read_text(encoding="utf-8")
        if not TABLE.search(text) or drawn(text, rows) != text:
            found.append(f"{page}: its table is not what docs/rows/ says: scripts/claims draw")
    outside = re.findall(r"\b\d[\d.]*x\b(?! \d)", re.sub(r"`[^`]*`", "", TABLE.sub("", (root / "README.md").read_text(encoding="utf-8"))))
    if outside:
        found.append(f"README.md: {', '.join(outside)} stand outside its table, expected each number that is claimed in it")
    return found
