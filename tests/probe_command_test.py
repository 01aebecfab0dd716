#!/usr/bin/env python3
"""The environment variable DSOP_MACHINE under mpirun, and machine files that do not fit the ranks."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from command_line import BENCH, MPIRUN, Refusing, main, run
from programs import each_rank

POINT = ("outer-product", "--rows", "40", "--iterations", "1")


def with_machines(*values: str | None, folders: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Rank r has values[r] as DSOP_MACHINE, and runs in folders[r]."""
    commands = [["env", "-u", "DSOP_MACHINE", *(["-C", folders[rank]] if folders else []),
                 *([] if value is None else [f"DSOP_MACHINE={value}"]), os.path.abspath(BENCH), *POINT]
                for rank, value in enumerate(values)]
    return subprocess.run(each_rank(MPIRUN, *commands), capture_output=True, text=True, timeout=60, check=False)


class OfEnvironment(Refusing):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "machine.json"

    def test_all_ranks_measure(self) -> None:
        for values in [(None, None, None), ("probe", None, "probe")]:
            result = with_machines(*values)
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)

    def test_ranks_that_are_told_otherwise_are_named(self) -> None:
        self.assert_refused(with_machines("probe", "default", None),
                            "the ranks disagree: machine is described on rank 1, to be measured on ranks 0, 2",
                            "; DSOP_MACHINE is default on rank 1, probe on ranks 0, 2")

    def test_file_on_one_rank_alone(self) -> None:
        self.file.write_text("{}")
        other = self.folder / "other"
        other.mkdir()
        result = with_machines("machine.json", "machine.json", folders=(str(self.folder), str(other)))
        self.assert_refused(result, "rank 1: DSOP_MACHINE: machine file machine.json: can't be opened")

    def test_files_that_differ(self) -> None:
        folders = []
        for rank in range(2):
            folder = self.folder / f"rank{rank}"
            folder.mkdir()
            (folder / "machine.json").write_text(json.dumps({"latency_seconds": 1e-5 * (rank + 1)}))
            folders.append(str(folder))
        self.assert_refused(with_machines("machine.json", "machine.json", folders=tuple(folders)),
                            "the ranks disagree: machine.latency_seconds is ", " on rank 0, ", " on rank 1")

    def test_files_that_make_no_sense(self) -> None:
        for text, expected in [("", "is empty"), ('{"gap_seconds": 1e-6,', "not JSON"), ('{"version": 9}', "version is 9"),
                               ('{"gap_seconds": 0}', "gap_seconds is 0")]:
            self.file.write_text(text)
            self.assert_refused(with_machines(str(self.file), str(self.file)), f"DSOP_MACHINE: machine file {self.file}",
                                expected)
        self.file.unlink()
        self.assert_refused(with_machines(str(self.file), str(self.file)), "can't be opened")

    def test_file_of_other_ranks_is_warned_of(self) -> None:
        self.file.write_text(json.dumps({"measured_on": {"ranks": 8, "nodes": 8, "threads": 1, "transport": "mpi"}}))
        with unittest.mock.patch.dict(os.environ, {"DSOP_MACHINE": str(self.file)}):
            result = run("info", ranks=2)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("warning: the machine was measured elsewhere, ranks: 2 instead of 8, nodes: 1 instead of 8\n",
                      result.stdout)


if __name__ == "__main__":
    main()
