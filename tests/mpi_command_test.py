#!/usr/bin/env python3
"""dsop-bench under mpirun: wrong options, killed and stopped ranks, Ctrl-C."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from command_line import BENCH, MPIRUN, LongRun, Refusing, main, run, table_of
from programs import each_rank


def run_each(*commands: list[str]) -> subprocess.CompletedProcess:
    """dsop-bench under mpirun, each rank with arguments of its own."""
    line = each_rank(MPIRUN, *([BENCH, *arguments] for arguments in commands))
    return subprocess.run(line, capture_output=True, text=True, timeout=60)


@unittest.skipUnless(MPIRUN, "built without MPI")
class UnderMpirun(Refusing):
    def test_uses_mpi_by_itself(self) -> None:
        result = run("outer-product", "--ranks", "3", "--rows", "40", "--verify", ranks=3)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("3 ranks (mpi)", result.stdout)
        self.assertIn("allreduce-mpi", result.stdout)

    def test_bases_are_what_can_send_bf16(self) -> None:
        for wire, bases in (("full", ["allreduce-ring-pipelined", "allreduce-mpi"]), ("bf16", ["allreduce-ring:bf16"])):
            result = run("outer-product", "--rows", "40", "--wire", wire, "--algorithm", "auto", ranks=2)
            self.assertEqual(result.returncode, 0, result)
            table = table_of(result.stdout)
            self.assertEqual([row[4] for row in table[1:]], bases)
            self.assertIn("1.00", [row[13] for row in table[1:]], result.stdout)
            self.assertEqual([row[14] for row in table if row[4] == "allreduce-mpi"], ["1.00"] * (wire == "full"))
            self.assertEqual("-" in [row[14] for row in table], wire == "bf16", result.stdout)

    def test_info_plans_for_ranks_that_share_a_node(self) -> None:
        result = run("info", ranks=4)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("on 4 ranks of 1 node (led by 0)", result.stdout)
        candidates = [line for line in result.stdout.splitlines() if line.startswith("  hierarchical ")]
        self.assertEqual(len(candidates), 6, result.stdout)
        self.assertFalse([line for line in candidates if "not possible" in line])

    def test_tuned_machine_is_planned_for(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            machine, tuned = f"{folder}/machine.json", f"{folder}/tuned.json"
            old = {"rows": 40, "columns": 40, "pairs": 2, "ranks": 3, "dtype": "f32", "algorithm": "allreduce-butterfly"}
            other = old | {"ranks": 8}
            Path(machine).write_text(json.dumps({"winners": [old, other]}))
            result = run("tune", "--machine", machine, "--rows", "40,300", "--pairs", "2", "--iterations", "5", "--out", tuned,
                         ranks=3)
            self.assertEqual(result.returncode, 0, result)
            winners = json.loads(Path(tuned).read_text())["winners"]
            self.assertEqual(winners[0], other, "what was known of other shapes is kept")
            table = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
            self.assertEqual([(w["rows"], w["columns"], w["pairs"], w["ranks"], w["dtype"], w["algorithm"]) for w in winners[1:]],
                             [(int(row[0]), int(row[1]), int(row[2]), int(row[3]), "f32", row[4]) for row in table])
            self.assertEqual([w["rows"] for w in winners[1:]], [40, 300])
            self.assertTrue(all(float(row[5]) <= float(row[7]) for row in table), "a winner is slower than the predicted choice")
            result = run("outer-product", "--machine", tuned, "--rows", "40,300", "--pairs", "2", "--iterations", "1",
                         "--algorithm", "auto", ranks=3)
        for winner in winners[1:]:
            self.assertIn(f"# auto used {winner['algorithm']}: measured to be the fastest on this machine\n", result.stdout)

    def test_launcher_of_another_mpi(self) -> None:
        with unittest.mock.patch.dict(os.environ, {"PMI_SIZE": "2"}):
            result = run("outer-product", "--rows", "40")
        self.assertEqual((result.returncode, result.stdout), (1, ""), result)
        self.assertRegex(result.stderr, "^error: a launcher has started 2 processes, of which MPI sees this one alone.*\n$")

    def test_other_number_of_ranks(self) -> None:
        self.assert_refused(run("outer-product", "--ranks", "4", ranks=2), "--ranks is 4, expected the 2")

    def test_ranks_with_other_commands_or_options_than_rank_0(self) -> None:
        outer_product = ["outer-product", "--rows", "50", "--iterations", "2", "--algorithm", "auto"]
        for first, second, words in (
                (outer_product, ["allreduce"], "the command is allreduce, expected as on rank 0, where the command is outer-product"),
                (outer_product, ["outer-product", "--rows", "60", *outer_product[3:]], "--rows is 60, expected as on rank 0, where --rows is 50"),
                (["allreduce"], ["allreduce", "--verify"], "--verify is given, expected as on rank 0, where --verify is not given"),
                ([*outer_product, "--machine", "euler3"], [*outer_product, "--machine", "ethernet"],
                 "--machine is ethernet, expected as on rank 0, where --machine is euler3"),
                (["info"], ["calibrate"], "the command is calibrate, expected as on rank 0, where the command is info")):
            result = run_each(first, second, second)
            self.assert_refused(result, f"error: ranks 1-2: {words}\n")
            self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
            self.assertEqual(result.stdout, "")
        with tempfile.TemporaryDirectory() as folder:
            result = run_each([*outer_product, "--out", f"{folder}/rows.jsonl"], [*outer_product, "--dtype", "f32"])
        self.assertEqual(result.returncode, 0, result)

    def test_errors_are_told_once(self) -> None:
        result = run("outer-product", "--algorithm", "rign", ranks=3)
        self.assert_refused(result, "algorithm is rign")
        self.assertEqual(result.stderr.count("algorithm is rign"), 1, result.stderr)
        result = run("outer-product", "--rows", "12x", ranks=3)
        self.assertEqual(result.stderr.count('--rows is "12x"'), 1, result.stderr)
        for alone in ("select", "--size"), ("kernel", "--inner"):
            result = run(*alone, "12x", ranks=3)
            self.assert_refused(result, '"12x"')
            self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        result = run("outer-product", "--dtype", "f16", ranks=3)
        self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        self.assertEqual(result.stderr.count("f16"), 1, result.stderr)

    def test_interrupt(self) -> None:
        job = LongRun(ranks=3)
        os.kill(job.process.pid, signal.SIGINT)
        self.assertNotIn(job.end(), [0, -999])
        self.assertEqual(job.orphans, [])

    def test_killed_rank_ends_the_job(self) -> None:
        for options in ([], ["--overlap"]):
            job = LongRun(*options, ranks=3)
            os.kill(job.rank_processes()[1], signal.SIGKILL)
            self.assertNotIn(job.end(), [0, -999])
            self.assertEqual(job.orphans, [])

    def test_rank_that_does_not_come_is_named(self) -> None:
        with unittest.mock.patch.dict(os.environ, DSOP_STALL_SECONDS="1"):
            job = LongRun(ranks=3)
        time.sleep(1.5)  # MPI starts slowly where other programs take the cores
        stopped = job.rank_processes()[1]
        rank = next(entry.split(b"=")[1].decode() for entry in Path(f"/proc/{stopped}/environ").read_bytes().split(b"\0")
                    if entry.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")))
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(5)
        os.kill(stopped, signal.SIGCONT)
        os.kill(job.process.pid, signal.SIGINT)
        self.assertNotIn(job.end(), [0, -999])
        # One that waits too, but answers late where the cores are crowded, may be named beside it.
        self.assertRegex(job.stderr, r"warning: ((preparing an )?outer product 1500 x 1500 f32|messages between calls), after \d+ calls: "
                                     rf"rank \d has waited \d+\.\d s; missing: ranks? [^\n]*\b{rank}\b")

    def test_limit_of_waits_that_makes_no_sense(self) -> None:
        with unittest.mock.patch.dict(os.environ, DSOP_STALL_SECONDS="soon"):
            self.assert_refused(run("info", ranks=2), 'DSOP_STALL_SECONDS is "soon", expected seconds, 0 or more')


if __name__ == "__main__":
    main()
