"""Sorts rows into sections that may be compared within, and into cells (one algorithm on one problem)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .rows import Problem, Refusal, Row

Observation = tuple[str, int]  # job and repetition
PLANNER = "auto"  # the name under which the planner's choice was run
NO_CONTENDERS = {PLANNER, "auto-probed", "sharded"}  # choices of others, and what leaves each rank a part


def bare_name(algorithm: str) -> str:
    """Without how its values travel: allgather:bf16 is allgather."""
    return algorithm.partition(":")[0]


@dataclass(frozen=True)
class Setting:
    """All that must be equal for two times to be comparable."""

    family: str
    dtype: str
    form: str
    transport: str
    machine: str
    cpu: str
    cores: int
    ranks_a_node: float | None  # None: all ranks on one machine, or simulated
    mpi: str
    blas: str
    threads: str
    commit: str
    cluster: str
    simulated: str

    @property
    def is_simulated(self) -> bool:
        return self.simulated != ""

    @property
    def data(self) -> str:
        return f"{self.dtype}, {self.form}" if self.form else self.dtype

    @property
    def verb(self) -> str:
        return "simulated" if self.is_simulated else "measured"

    @property
    def rate(self) -> str:
        """The link rate as written in the description of the emulated cluster or of the simulation, or an empty text."""
        if self.is_simulated:
            return str(json.loads(self.simulated).get("link_rate") or "")
        match = re.search(r"\brate=(\S+)", self.cluster)
        return match.group(1) if match else ""

    def without_rate(self) -> Setting:
        """What settings have in common that differ in the link rate; simulated ones then differ in the platform too."""
        if not self.is_simulated:
            return replace(self, cluster=re.sub(r"\s*\brate=\S+", "", self.cluster))
        facts = {key: value for key, value in json.loads(self.simulated).items() if key not in ("platform", "link_rate")}
        return replace(self, machine="several platforms", simulated=json.dumps(facts, sort_keys=True))

    def ranks_share_cores(self, ranks: int) -> bool:
        return not self.is_simulated and (ranks if self.ranks_a_node is None else self.ranks_a_node) > self.cores


def rate_bits_per_second(rate: str) -> float:
    """"200mbit" -> 2e8; a rate that can't be read sorts first."""
    match = re.fullmatch(r"([0-9.]+)\s*([kmgt]?)(?:bit|bps)(?:/s)?", rate.lower())
    return float(match.group(1)) * 1000.0 ** " kmgt".index(match.group(2) or " ") if match else 0.0


def setting_of(row: Row) -> Setting:
    """The setting of a row. A batch system gives every job nodes of its own: with a job number the digits of the host's
    name don't count ("node017" and "node102" are one machine); without one, another name is another machine. How
    coarse simulated time is changes it by a per cent or two, and does not count."""
    host = row.host
    name = host["hostname"]
    simulated = host.get("simulated")
    if simulated is not None:
        simulated = {key: value for key, value in simulated.items() if key != "resolution_seconds"}
    nodes = host.get("nodes") or 1
    machine = re.sub(r"\d+", "#", name) if row.job else name
    return Setting(
        family=row.family, dtype=row.dtype, form=row.form, transport=row.transport,
        machine=machine if simulated is None else str(simulated.get("platform", "a platform")),
        cpu=host["cpu"], cores=host["cores"],
        ranks_a_node=None if nodes == 1 or simulated is not None else row.problem.ranks / nodes,
        mpi=_text(host["mpi"]), blas=_text(host["blas"]), threads=_text(host["threads"]), commit=host["commit"],
        cluster=" ".join((host.get("cluster") or "").split()),
        simulated=json.dumps(simulated, sort_keys=True) if simulated is not None else "")


def _text(value: object) -> str:
    return "none" if value is None else str(value)


@dataclass
class Cell:
    """One algorithm on one problem in one setting: a row for each observation."""

    problem: Problem
    algorithm: str
    external: bool
    rows: dict[Observation, Row] = field(default_factory=dict)

    @cached_property
    def observations(self) -> dict[Observation, float]:
        """Each job's median over its iterations of the maximum over ranks, in seconds."""
        return {key: float(np.median(row.seconds.max(axis=1))) for key, row in self.rows.items()}

    @cached_property
    def iterations(self) -> np.ndarray:
        """The maximum over ranks of every iteration of every job, in seconds."""
        return np.concatenate([row.seconds.max(axis=1) for row in self.rows.values()])

    @cached_property
    def is_exact(self) -> bool:
        """Whether a simulator gave every iteration the same time, so that there is nothing to estimate."""
        simulated = all(row.host.get("simulated") is not None for row in self.rows.values())
        return simulated and float(np.ptp(self.iterations)) <= 1e-9 * float(self.iterations.max())

    @property
    def stated_interval(self) -> tuple[float, float] | None:
        """The benchmark's own interval of the median, where the sample is the iterations of one job."""
        return next(iter(self.rows.values())).median_interval if len(self.rows) == 1 else None

    @property
    def unit(self) -> str:
        """What one sample is: a job, or, where there was one job only, an iteration of it."""
        return "repetition" if len(self.rows) > 1 else "iteration"

    @property
    def sample(self) -> np.ndarray:
        return np.array(list(self.observations.values())) if len(self.rows) > 1 else self.iterations


@dataclass
class Section:
    """All cells of one setting."""

    number: int
    setting: Setting
    cells: dict[tuple[Problem, str], Cell] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        return f"section{self.number}"

    @property
    def rows(self) -> list[Row]:
        return [row for cell in self.cells.values() for row in cell.rows.values()]

    @property
    def problems(self) -> list[Problem]:
        return sorted({problem for problem, _ in self.cells})

    @property
    def algorithms(self) -> list[str]:
        return sorted({algorithm for _, algorithm in self.cells})

    def contenders(self, problem: Problem) -> list[Cell]:
        return [cell for (of, _), cell in sorted(self.cells.items(), key=lambda item: item[0]) if of == problem]


def _setting_order(setting: Setting) -> tuple[object, ...]:
    return (setting.is_simulated, setting.machine, setting.without_rate().cluster, setting.transport, setting.dtype, setting.form,
            rate_bits_per_second(setting.rate), str(setting))


def make_sections(rows: list[Row]) -> tuple[list[Section], list[Refusal]]:
    """Sections in a fixed order; a second row of the same observation is refused, as it would count twice."""
    by_setting: dict[Setting, list[Row]] = {}
    for row in rows:
        by_setting.setdefault(setting_of(row), []).append(row)
    sections: list[Section] = []
    refusals: list[Refusal] = []
    for number, setting in enumerate(sorted(by_setting, key=_setting_order), 1):
        section = Section(number, setting)
        for row in by_setting[setting]:
            cell = section.cells.setdefault((row.problem, row.algorithm), Cell(row.problem, row.algorithm, row.external))
            first = cell.rows.setdefault((row.job, row.repetition), row)
            if first is not row:
                refusals.append(Refusal(row.source, f"job '{row.job}', repetition {row.repetition} of {row.algorithm} on "
                                        f"this problem stands at {first.source} already, expected one row for each "
                                        "repetition (number them with 'repetition')"))
        sections.append(section)
    return sections, refusals
