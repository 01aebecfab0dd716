#!/usr/bin/env python3
"""DSOP_REPORT and DSOP_TRACE: what programs then write, on threads, over TCP and under mpirun, and where they can't."""

import fcntl
import json
import os
import re
import subprocess
import tempfile
import unittest
import unittest.mock
from collections import Counter
from pathlib import Path

from command_line import BENCH, MPIRUN, main, run
from programs import each_rank

SUM = ["outer-product", "--rows", "60", "--algorithm", "allgather,allreduce-ring", "--iterations", "3"]


def run_with(*arguments: str, ranks: int = 0, **environment: object) -> subprocess.CompletedProcess:
    with unittest.mock.patch.dict(os.environ, {name: str(value) for name, value in environment.items()}):
        return run(*arguments, ranks=ranks)


class Sight(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.folder / "trace.json"
        self.ranks = {"ranks": 3} if MPIRUN else {}
        self.sum = SUM if MPIRUN else [*SUM, "--ranks", "3"]

    def assert_is_trace(self, ranks: int = 3) -> None:
        events = json.loads(self.trace.read_text())
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual({event["pid"] for event in spans}, set(range(ranks)))
        names = Counter((event["pid"], event["name"]) for event in spans)
        for rank in range(ranks):
            for name in ("outer product", "agree", "allgather", "allreduce-ring", "send", "wait", "product"):
                self.assertGreater(names[rank, name], 0, names)
        self.assertTrue(all(event["dur"] >= 0 for event in spans))
        self.assertTrue(all(0 <= event["args"]["to"] < ranks for event in spans if event["name"] == "send"))
        # On one clock: every call of rank 0 overlaps one of each other rank.
        calls = {rank: [(e["ts"], e["ts"] + e["dur"]) for e in spans if e["pid"] == rank and e["name"] == "outer product"]
                 for rank in range(ranks)}
        for rank in range(1, ranks):
            self.assertEqual(len(calls[rank]), len(calls[0]))
            for (start, end), (others_start, others_end) in zip(calls[0], calls[rank]):
                self.assertLess(max(start, others_start), min(end, others_end) + 1000)

    def test_report_on_stderr_once(self) -> None:
        result = run_with(*self.sum, **self.ranks, DSOP_REPORT=1)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stderr.count("dsop: 3 ranks over "), 1, result.stderr)
        self.assertRegex(result.stderr, r"outer product 60 x 60 f32 +allgather +\d+ ")
        late = re.findall(r"rank (\d) came ([\d.]+) ms late, and last to \d+", result.stderr)
        self.assertEqual(sorted(rank for rank, _ in late), ["0", "1", "2"])
        self.assertEqual(late, sorted(late, key=lambda rank: -float(rank[1])))

    def test_reports_are_added_to_a_file(self) -> None:
        for runs in (1, 2):
            result = run_with(*self.sum, **self.ranks, DSOP_REPORT=self.folder / "report")
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
            self.assertEqual((self.folder / "report").read_text().count("3 ranks over"), runs)

    def test_report_to_where_nothing_can_be_written(self) -> None:
        result = run_with(*self.sum, **self.ranks, DSOP_REPORT=self.folder / "missing/report")
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("can't write DSOP_REPORT's file", result.stderr)
        self.assertIn("3 ranks over", result.stderr)

    def test_trace_of_all_ranks(self) -> None:
        for _ in range(2):  # the second run replaces the file
            result = run_with(*self.sum, **self.ranks, DSOP_TRACE=self.trace)
            self.assertEqual((result.returncode, result.stderr), (0, ""), result)
            self.assert_is_trace()

    def test_trace_to_where_nothing_can_be_written(self) -> None:
        for path, words in ((self.folder / "missing/trace", "No such file or directory; nothing is traced"),
                            ("/dev/full", "can't write all of /dev/full: No space left on device")):
            result = run_with(*self.sum, **self.ranks, DSOP_TRACE=path)
            self.assertEqual(result.returncode, 0, result)
            self.assertEqual(result.stderr.count("dsop: DSOP_TRACE: "), 1, result.stderr)
            self.assertIn(words, result.stderr)

    def test_two_runs_with_one_trace(self) -> None:
        with self.trace.open("w") as other:
            other.write("[]")
            other.flush()
            fcntl.flock(other, fcntl.LOCK_EX)
            result = run_with(*self.sum, **self.ranks, DSOP_TRACE=self.trace)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("is being written by another process, expected a file of this one's own; nothing is traced", result.stderr)
        self.assertEqual(self.trace.read_text(), "[]")

    @unittest.skipUnless(MPIRUN, "ranks with environments of their own")
    def test_trace_on_some_ranks(self) -> None:
        plain, traced = [BENCH, *SUM], ["env", f"DSOP_TRACE={self.trace}", BENCH, *SUM]
        result = subprocess.run(each_rank(MPIRUN, traced, plain), capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("other ranks are not in it: DSOP_TRACE is not set there", result.stderr)
        self.assertEqual({event["pid"] for event in json.loads(self.trace.read_text())}, {0})
        result = subprocess.run(each_rank(MPIRUN, plain, traced), capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)

    @unittest.skipIf(MPIRUN, "without it")
    def test_over_tcp(self) -> None:
        environment = {**os.environ, "DSOP_TRACE": str(self.trace), "DSOP_REPORT": "1"}
        store = ["--transport", "tcp", "--store", f"file:{self.folder}/store", "--ranks", "3"]
        programs = [subprocess.Popen([BENCH, *SUM, *store, "--rank", str(rank)], env=environment, stderr=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, text=True) for rank in range(3)]
        ends = [(program.communicate(timeout=60)[1], program.returncode) for program in programs]
        self.assertEqual([status for _, status in ends], [0] * 3, ends)
        self.assertEqual([text.count("3 ranks over tcp") for text, _ in ends], [1, 0, 0], ends)
        self.assert_is_trace()


if __name__ == "__main__":
    main()
