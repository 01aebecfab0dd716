"""What a sweep varies and how it runs: options, a file of them, and the checked result."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Callable

from . import values
from .values import BadValue

ROOT = Path(__file__).resolve().parents[3]  # the checkout, or PREFIX/share/dsop
DEFAULT_BENCH = str(ROOT / "build/bench/dsop-bench" if (ROOT / "meson.build").exists() else ROOT.parents[1] / "bin/dsop-bench")


class SweepError(Exception):
    """The text for the user."""


@dataclass(frozen=True)
class Option:
    """`bare` is the value of an option given without one; without `bare` it needs one."""

    parse: Callable[[str], Any]
    default: str | None
    help: str
    bare: str | None = None


@dataclass(frozen=True)
class Command:
    """`family`: of its algorithms in `dsop-bench list`; `sizes`: a point has a value of each of these options, which its rows
    have under these keys."""

    family: str
    sizes: dict[str, str]


COMMANDS = {
    "outer-product": Command("outer-product", {"rows": "rows", "cols": "columns", "pairs": "pairs"}),
    "sparse-allreduce": Command("sparse", {"size": "size", "density": "density"}),
    "allreduce": Command("dense", {"size": "size"}),
    "broadcast": Command("broadcast", {"size": "size"}),
    "reduce": Command("reduce", {"size": "size"}),
}

# The keys of a file of options are the same names.
OPTIONS: dict[str, Option] = {
    "procs": Option(values.number_list(1), None, "ranks P: 8,16,32 or first:last:step; one job each"),
    "command": Option(values.one_of(*COMMANDS), "outer-product", f"of dsop-bench: {', '.join(COMMANDS)}"),
    "rows": Option(values.number_list(1), None, "rows n: 1000,2000 or first:last:step"),
    "cols": Option(values.columns, "same", "columns m: same, or a list"),
    "layers": Option(values.layers, None, "instead of both: the shapes of a model's layers, as 1024x2048,2048x100"),
    "pairs": Option(values.number_list(0), "1", "pairs a rank: a list"),
    "size": Option(values.number_list(1), None, "elements of a vector: a list"),
    "density": Option(values.shares, "0.001,0.01,0.1", "share of them that a rank has: a list"),
    "algorithm": Option(values.names, "all,auto", "all, auto, or a list of names, perhaps with numbers, as allreduce-ring-pipelined(4)"),
    "dtype": Option(values.one_of("f32", "f64"), "f32", "f32 or f64"),
    "repetitions": Option(values.whole_number(1, 100000), "1", "observations of every point"),
    "iterations": Option(values.whole_number(1), "20", "timed calls an observation is the median of"),
    "precision": Option(values.percentage, None, "ends a repetition when all medians are known to so much: 5%%"),
    "verify": Option(values.yes_or_no, "no", "compare every element with a plain sum: yes or no", "yes"),
    "calibrate": Option(values.yes_or_no, "yes", "let each job measure its machine first, for auto to plan with: yes or no", "yes"),
    "jobs-per-point": Option(values.jobs_per_point, "1", "share the repetitions out to so many jobs; all: one each", "all"),
    "cpus-per-task": Option(values.whole_number(1), "1", "cores, and threads, of a rank"),
    "ntasks-per-node": Option(values.whole_number(1), None, "most ranks a node"),
    "nodes": Option(values.whole_number(1), None, "nodes of each job (unless given: as few as its ranks need)"),
    "exclusive": Option(values.yes_or_no, "no", "no other job on its nodes: yes or no", "yes"),
    "side-by-side": Option(values.yes_or_no, "no", "jobs may run at one time, and share the network: yes or no", "yes"),
    "sbatch": Option(values.sbatch_options, None, "further options of sbatch: \"--partition=long --time=4:00:00\""),
    "out": Option(values.folder_name, None, "folder of the results; one that holds this sweep is continued"),
    "bench": Option(values.file_name, DEFAULT_BENCH, "dsop-bench, built with MPI"),
}
SIZES = dict.fromkeys(["layers", *(name for command in COMMANDS.values() for name in command.sizes)])
REQUIRED = ("procs", "out")


@dataclass(frozen=True)
class Settings:
    """What decides which rows a sweep has. `algorithm` lists names, "all" and "auto" among them. Sizes that are not of its
    command are None, as is "cols" that are the same as rows."""

    procs: list[int]
    command: str
    rows: list[int] | None
    cols: list[int] | None
    layers: list[list[int]] | None
    pairs: list[int] | None
    size: list[int] | None
    density: list[float] | None
    algorithm: list[str]
    dtype: str
    repetitions: int
    iterations: int
    precision: str | None
    verify: bool
    calibrate: bool
    jobs_per_point: int
    cpus_per_task: int
    ntasks_per_node: int | None
    nodes: int | None
    exclusive: bool
    side_by_side: bool

    @property
    def sizes(self) -> dict[str, str]:
        return COMMANDS[self.command].sizes

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def check_algorithms(self, known: list[str]) -> None:
        """SweepError for a name that dsop-bench does not know."""
        for name in self.algorithm:
            if name not in ("all", "auto") and name.partition("(")[0] not in known:
                raise SweepError(f"--algorithm has '{name}', expected all, auto, or some of {', '.join(known)}")

    def with_all(self, names: list[str]) -> Settings:
        """`all` becomes these."""
        listed = [one for name in self.algorithm for one in (names if name == "all" else [name])]
        return replace(self, algorithm=list(dict.fromkeys(listed)))


@dataclass(frozen=True)
class Request:
    """All options of one call of `sweep`."""

    settings: Settings
    out: Path
    bench: Path
    sbatch: str | None


Given = dict[str, tuple[str, str]]  # option: its text, and where it stands (empty for the command line)


def read_file(path: str) -> Given:
    """The lines `key = value` of a file; `#` begins a comment."""
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SweepError(f"{path}: can't be read: {getattr(error, 'strerror', None) or 'it is not text'}") from None
    given: Given = {}
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}: "
        key, equals, text = (part.strip() for part in line.split("#")[0].partition("="))
        if not key and not equals:
            continue
        if not key or not equals or not text:
            raise SweepError(f"{where}the line is '{line.strip()}', expected key = value")
        if key not in OPTIONS:
            raise SweepError(f"{where}unknown key '{key}', expected one of {', '.join(OPTIONS)}")
        if key in given:
            raise SweepError(f"{where}key '{key}' stands on line {given[key][1].split(':')[-2]} already, expected it once")
        given[key] = (text, where)
    return given


def make_request(given: Given) -> Request:
    parsed: dict[str, Any] = {}
    needed = set(REQUIRED)
    for name, option in OPTIONS.items():
        text, where = given.get(name, (option.default, ""))
        if name in SIZES and name not in needed:
            if name in given:
                raise SweepError(f"{where or '--'}{name} is '{text}', expected it left out: points of {parsed['command']} "
                                 f"here have {', '.join(size for size in SIZES if size in needed)}")
            text = None
        if text is None and name in needed:
            raise SweepError(f"--{name} is missing, expected {option.help}")
        try:
            parsed[name] = None if text is None else option.parse(text)
        except BadValue as expected:
            raise SweepError(f"{where or '--'}{name} is '{text}', expected {expected}") from None
        if name == "command":
            sizes = set(COMMANDS[parsed[name]].sizes)
            needed |= {"layers", "pairs"} if "layers" in given and "rows" in sizes else sizes
    out = str(Path(parsed["out"]).absolute())
    try:
        values.folder_name(out)
    except BadValue as expected:
        raise SweepError(f"{given['out'][1] or '--'}out is '{out}', expected {expected}") from None
    repetitions, jobs = parsed["repetitions"], parsed["jobs-per-point"]
    if jobs is not None and jobs > repetitions:
        raise SweepError(f"{given['jobs-per-point'][1] or '--'}jobs-per-point is '{jobs}', expected at most the "
                         f"{repetitions} of repetitions")
    parsed["jobs-per-point"] = jobs or repetitions
    settings = Settings(**{field.name: parsed[field.name.replace("_", "-")] for field in fields(Settings)})
    return Request(settings, Path(parsed["out"]).absolute(), Path(parsed["bench"]).absolute(), parsed["sbatch"])
