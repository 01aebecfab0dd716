#!/usr/bin/python3
"""Which files may include which: a layer of the library those of lower ones, programs the public headers and a list.

Usage: borders_test.py SOURCE_ROOT PROGRAM_HEADER...
"""

from __future__ import annotations

import re
import sys
import unittest
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import runner

ROOT = Path(sys.argv[1]).resolve()
PROGRAM_HEADERS = {Path(header).resolve().relative_to(ROOT) for header in sys.argv[2:]}

PROGRAMS = [Path("bench"), Path("src/launch"), Path("src/learn")]
STAND_INS = Path("bench/simulated")  # for files of the library, whose headers they are made to
# The first that a path begins with holds. Folders of one layer may include each other, but none in a circle.
LAYERS = [
    (Path("src/base"), 0),
    (Path("src/kernels"), 1),
    (Path("src/memory"), 1),
    (Path("src/patterns"), 1),
    (Path("src/sparse"), 1),
    (Path("src/transport"), 1),
    (Path("src/mpi_plugins"), 1),
    (Path("src/machine"), 2),
    (Path("src/call"), 2),
    (Path("algorithms"), 3),
    (Path("src/launch"), 5),
    (Path("src/learn"), 5),
    (Path("bench"), 5),
    (Path("src/precompiled"), 0),
    (Path("src"), 4),  # synchronizer/ and the public calls
]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def is_within(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def layer_of(path: Path) -> int:
    return next(layer for folder, layer in LAYERS if path.is_relative_to(folder))


def header_of(path: Path, name: str) -> Path:
    """The file that `path` includes as "name": as the compiler looks for it."""
    for folder in [ROOT / path.parent, *([ROOT / "bench"] if path.parts[0] == "bench" else []), ROOT, ROOT / "src"]:
        found = folder / name
        if found.is_file() or found.with_name(found.name + ".in").is_file():
            return found.resolve().relative_to(ROOT)
    raise AssertionError(f'{path} includes "{name}", which is in no folder that is searched')


def all_includes() -> Iterator[tuple[Path, Path]]:
    """Each file of the library and the programs, with each header that it includes in quotation marks."""
    for folder in ["algorithms", "bench", "src"]:
        for file in sorted((ROOT / folder).rglob("*.[ch]pp")):
            path = file.relative_to(ROOT)
            for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
                yield path, header_of(path, name)


class BordersTest(unittest.TestCase):
    def assert_none(self, wrong: Iterable[str]) -> None:
        if lines := list(wrong):
            self.fail("\n" + "\n".join(lines))

    def test_arrows_run_one_way(self) -> None:
        self.assert_none(f"{path} includes {header}, which is of a higher layer" for path, header in all_includes()
                         if layer_of(header) > layer_of(path))

    def test_no_folders_include_each_other_in_a_circle(self) -> None:
        why: dict[Path, dict[Path, str]] = {}
        for path, header in all_includes():
            if header.parent != path.parent and path.parts[0] != "bench":
                why.setdefault(path.parent, {})[header.parent] = f"{path} includes {header}"
        try:
            TopologicalSorter(why).prepare()
        except CycleError as error:
            self.assert_none(why[folder][included] for included, folder in pairwise(error.args[1]))

    def test_programs_include_listed_headers_alone(self) -> None:
        used: dict[Path, Path] = {}
        for path, header in all_includes():
            if is_within(path, PROGRAMS) and not is_within(path, [STAND_INS]) and not is_within(header, PROGRAMS):
                used.setdefault(header, path)
        self.assert_none(f"{path} includes {header}, which is neither public nor in program_headers of meson.build"
                         for header, path in used.items() if header not in PROGRAM_HEADERS)
        self.assert_none(f"no program includes {header}, which program_headers of meson.build lists"
                         for header in sorted(PROGRAM_HEADERS - used.keys()))


if __name__ == "__main__":
    runner.main(sys.argv[:1])
