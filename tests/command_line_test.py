#!/usr/bin/env python3
"""dsop-bench as a person uses it: wrong options, killed ranks, Ctrl-C, and what its output holds.

Usage: command_line_test.py DSOP_BENCH README [MPIRUN]
"""

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import unittest.mock
import uuid
from pathlib import Path

BENCH = ""
README = ""
MPIRUN = ""


def run(*arguments: str, ranks: int = 0) -> subprocess.CompletedProcess:
    """dsop-bench with these arguments; with `ranks`, under mpirun."""
    return subprocess.run(command(*arguments, ranks=ranks), capture_output=True, text=True, timeout=60)


def command(*arguments: str, ranks: int = 0) -> list[str]:
    launcher = [MPIRUN, "-n", str(ranks)] if ranks else []
    return [*launcher, BENCH, *arguments]


def processes_marked(mark: str) -> list[int]:
    """The processes whose environment holds this run's mark."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            pass
    return found


class LongRun:
    """A benchmark that would run for hours, with everything it starts marked."""

    def __init__(self, *options: str, ranks: int = 0) -> None:
        self.mark = f"DSOP_TEST_RUN={uuid.uuid4()}"
        name, value = self.mark.split("=")
        line = command("outer-product", "--rows", "1500", "--algorithm", "allreduce-ring", "--iterations", "1000000",
                       *options, ranks=ranks)
        self.process = subprocess.Popen(line, env={**os.environ, name: value}, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        expected = 1 + ranks if ranks else 1
        deadline = time.monotonic() + 20
        while len(processes_marked(self.mark)) < expected and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)  # well into the benchmark

    def end(self) -> int:
        """Its exit status; kills it if it does not end within ten seconds, and says so by -999."""
        try:
            self.stderr = self.process.communicate(timeout=10)[1].decode()
            status = self.process.returncode
        except subprocess.TimeoutExpired:
            status = -999
        deadline = time.monotonic() + 5
        while processes_marked(self.mark) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.orphans = processes_marked(self.mark)
        for process in self.orphans:
            os.kill(process, signal.SIGKILL)
        return status

    def rank_processes(self) -> list[int]:
        names = {p: Path(f"/proc/{p}/comm").read_text().strip() for p in processes_marked(self.mark)}
        return [p for p, name in names.items() if name == Path(BENCH).name]


class Refusing(unittest.TestCase):
    def assert_refused(self, result: subprocess.CompletedProcess, *words: str) -> None:
        self.assertNotEqual(result.returncode, 0, result)
        for word in words:
            self.assertIn(word, result.stderr)


class OnThreads(Refusing):
    def test_wrong_options(self) -> None:
        self.assert_refused(run(), "subcommand is required")
        self.assert_refused(run("outer-produkt"), "outer-produkt")
        self.assert_refused(run("outer-product", "--row", "5"), "--row")
        self.assert_refused(run("outer-product", "--ranks", "0"), "--ranks", "0")
        self.assert_refused(run("outer-product", "--iterations", "-3"), "--iterations")
        self.assert_refused(run("outer-product", "--dtype", "f16"), "--dtype", "f16", "f32")
        self.assert_refused(run("tune", "--dtype", "f16"), "--dtype", "f16", "f32")
        self.assert_refused(run("tune", "--rows", "12x"), '--rows is "12x", expected whole numbers')
        self.assert_refused(run("tune", "--algorithm", "all"), "--algorithm")
        for text in ["12x", "", "5:1:2", "1:5", "1:5:0", "-1", "1,,2", "99999999999999999999999"]:
            self.assert_refused(run("outer-product", "--rows", text), f'--rows is "{text}", expected whole numbers')

    def test_sparse_allreduce_is_verified_and_written_in_full(self) -> None:
        for distribution in ["uniform", "power-law", "clustered", "one-region", "same", "apart"]:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "rows.jsonl"
                result = run("sparse-allreduce", "--ranks", "3", "--size", "5000", "--density", "0.01,0.6", "--verify",
                             "--distribution", distribution, "--iterations", "1", "--out", str(out))
                self.assertEqual(result.returncode, 0, result.stderr)
                rows = [json.loads(line) for line in out.read_text().splitlines()]
            base = [row for row in rows if row["algorithm"] == "dense-ring"]
            self.assertEqual([row["density"] for row in base], [0.01, 0.6])
            self.assertEqual({row["wrong"] for row in rows}, {0})
            self.assertIn("# auto used ", result.stdout)
            gathered = next(row for row in rows if row["algorithm"] == "allgather")
            self.assertEqual(gathered["bytes_sent"], gathered["formula_bytes"])
            if distribution == "one-region":  # no more than a tenth of the elements can be there
                self.assertLessEqual(max(row["nonzeros"] for row in rows), 501)
            if distribution in ("same", "apart"):
                of_all = [row for row in rows if row["density"] == 0.01 and row["algorithm"] == "allgather"]
                self.assertEqual(of_all[0]["result_elements"], 50 if distribution == "same" else 150)
                self.assertGreaterEqual(of_all[0]["path_bytes"], of_all[0]["bytes_sent"])
            if distribution == "power-law":  # the ranks have the most frequent in common
                self.assertLess(gathered["result_elements"], 2.5 * gathered["nonzeros"])

    def test_selecting_allreduces_are_measured_on_gradients(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.jsonl"
            for options in [[], ["--communication-alone"]]:
                result = run("sparse-allreduce", "--ranks", "4", "--size", "20000", "--density", "0.01", "--select",
                             "exact", "--algorithm", "all,auto,ok-topk(8)", "--iterations", "1", "--out", str(out),
                             *options)
                self.assertEqual(result.returncode, 0, result.stderr)
            rows = {row["algorithm"]: row for row in map(json.loads, out.read_text().splitlines())}
        self.assertTrue(rows["ok-topk"]["communication_alone"])
        for name in ["allgather", "topk", "gtopk", "ok-topk", "ok-topk(8)"]:
            self.assertEqual(rows[name]["chosen"], 200, name)
        self.assertEqual(rows["gtopk"]["result_elements"], 200)
        self.assertEqual(rows["dense-ring"]["chosen"], 20000)
        self.assertEqual(rows["dense-ring"]["bytes_sent"], 2 * 3 * 20000)
        self.assertEqual(rows["allgather"]["bytes_sent"], 3 * (32 + 8 * 200))
        self.assertLess(rows["ok-topk"]["bytes_sent"], 6 * 200 * 4 * 3 / 4 + 4 * 14 * 4)
        self.assertLess(rows["ok-topk"]["bytes_sent"], rows["ok-topk"]["first_bytes_sent"])
        self.assertIn("# topk used topk, summed by ", result.stdout)

    def test_sparse_allreduce_refuses_what_makes_no_sense(self) -> None:
        self.assert_refused(run("sparse-allreduce", "--select", "nope"), "algorithm is nope", "threshold-reuse")
        self.assert_refused(run("sparse-allreduce", "--select", "exact", "--algorithm", "nope"), "algorithm is nope")
        self.assert_refused(run("sparse-allreduce", "--select", "exact", "--verify"), "--verify", "expected no --select")
        self.assert_refused(run("sparse-allreduce", "--communication-alone"), "--select")
        self.assert_refused(run("sparse-allreduce", "--algorithm", "ok-topk"), "algorithm is ok-topk")
        self.assert_refused(run("sparse-allreduce", "--density", "2"), '--density is "2", expected shares from 0 to 1')
        self.assert_refused(run("sparse-allreduce", "--density", "0.1,"), "--density", "expected shares")
        self.assert_refused(run("sparse-allreduce", "--size", "x"), '--size is "x", expected whole numbers')
        self.assert_refused(run("sparse-allreduce", "--distribution", "x"), "--distribution", "one-region")
        self.assert_refused(run("sparse-allreduce", "--algorithm", "nope"), "algorithm is nope", "topk-dsa")

    def test_collectives_are_verified_and_written_in_full(self) -> None:
        for command in ["allreduce", "broadcast", "reduce"]:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "rows.jsonl"
                root = [] if command == "allreduce" else ["--root", "2"]
                result = run(command, "--ranks", "3", "--size", "7,5000", "--algorithm", "all,auto,linear-pipeline(1)",
                             "--verify", "--iterations", "1", "--out", str(out), *root)
                self.assertEqual(result.returncode, 0, result.stderr)
                rows = [json.loads(line) for line in out.read_text().splitlines()]
            self.assertEqual({row["family"] for row in rows}, {command})
            self.assertEqual({row["wrong"] for row in rows}, {0})
            self.assertEqual({row["root"] for row in rows}, {2 if root else 0})
            self.assertIn("# auto used ", result.stdout)
            pipeline = next(row for row in rows if row["used"] == "linear-pipeline(1)" and row["size"] == 5000)
            ways = 2 if command == "allreduce" else 1
            self.assertEqual((pipeline["messages_sent"], pipeline["bytes_sent"]), (ways * 20, ways * 20000))

    def test_collectives_refuse_what_makes_no_sense(self) -> None:
        self.assert_refused(run("broadcast", "--ranks", "3", "--root", "3"), "--root is 3, expected a rank from 0 to 2")
        self.assert_refused(run("reduce", "--algorithm", "nope"), "algorithm is nope", "bidirectional-exchange")
        self.assert_refused(run("allreduce", "--algorithm", "linear-pipeline(0)"), "KiB above 0")
        self.assert_refused(run("allreduce", "--size", "x"), '--size is "x", expected whole numbers')
        self.assert_refused(run("allreduce", "--root", "0"), "--root")

    def test_unknown_algorithm_lists_the_known(self) -> None:
        self.assert_refused(run("outer-product", "--algorithm", "rign"), "algorithm is rign", "allreduce-ring")

        self.assert_refused(run("outer-product", "--algorithm", "gloo-rign"), "algorithm is gloo-rign", "gloo-ring",
                            "openmpi-allreduce-segmented_ring", "allgather-per-pair", "external")

    def test_algorithm_that_cannot_run_here(self) -> None:
        self.assert_refused(run("outer-product", "--algorithm", "openmpi-allreduce-ring"),
                            "algorithm openmpi-allreduce-ring can't be used: it ")
        self.assert_refused(run("outer-product", "--algorithm", "allreduce-mpi"), "these ranks do not use MPI")

    def test_sizes_that_overflow(self) -> None:
        big = str(2**32)
        self.assert_refused(run("outer-product", "--rows", big, "--cols", big), "does not fit into memory")

    def test_memory_that_is_not_there(self) -> None:
        self.assert_refused(run("outer-product", "--rows", "8000000"), "ranks 0-3: no memory for a workspace of")
        self.assert_refused(run("outer-product", "--rows", "500000", "--algorithm", "allgather"),
                            "out of memory: the ranks on", "need 4000")

    def test_files(self) -> None:
        self.assert_refused(run("outer-product", "--out", "/no/such/folder/x"), "--out /no/such/folder/x")
        self.assert_refused(run("outer-product", "--machine", "/no/such/file"), "/no/such/file", "can't be opened")
        self.assert_refused(run("calibrate", "--ranks", "1", "--out", "/no/such/folder/x"), "/no/such/folder/x")
        self.assert_refused(run("tune", "--machine", "/no/such/file"), "/no/such/file", "can't be opened")
        with tempfile.NamedTemporaryFile("w") as machine:
            machine.write("{}")
            machine.flush()
            result = run("tune", "--ranks", "1", "--machine", machine.name, "--out", "/no/such/folder/x")
        self.assert_refused(result, "/no/such/folder/x: can't be written")
        self.assertEqual(result.stdout, "", "measured before it knew that it could write")

    def test_overlap(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            result = run("outer-product", "--overlap", "--ranks", "2", "--rows", "60", "--iterations", "3",
                         "--algorithm", "allgather,auto", "--out", out)
            self.assertEqual(result.returncode, 0, result)
            rows = [json.loads(line) for line in Path(out).read_text().splitlines()]
        self.assertEqual([row["algorithm"] for row in rows], ["allgather", "auto"])
        for row in rows:
            medians = {name: sorted(map(max, row[f"{name}_seconds"]))[1] for name in ("call", "arithmetic", "both")}
            hidden = 1 - max(0, medians["both"] - medians["arithmetic"]) / medians["call"]
            self.assertAlmostEqual(row["hidden"], hidden)
            self.assertIs(row["runs_at_wait"], False)
        for option in (["--verify"], ["--repetitions", "2"], ["--density", "0.1"]):
            self.assert_refused(run("outer-product", "--overlap", *option), "excludes", "--overlap", option[0])
        for algorithm in ("allgather-per-pair", "sharded"):
            result = run("outer-product", "--overlap", "--algorithm", f"auto,{algorithm}")
            self.assert_refused(result, f"--algorithm is {algorithm}, expected with --overlap what can be started")
            self.assertEqual(result.stdout, "", "began before it refused")

    def test_full_disk(self) -> None:
        with open("/dev/full", "w") as full:
            result = subprocess.run(command("list"), stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output can't be written", result.stderr)
        self.assert_refused(run("outer-product", "--rows", "9", "--out", "/dev/full"), "--out /dev/full: can't be written")

    def test_json_lines(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            result = run("outer-product", "--ranks", "3", "--rows", "50", "--cols", "20,30", "--pairs", "2", "--verify",
                         "--iterations", "4", "--algorithm", "allgather,allreduce-ring,auto", "--out", out)
            self.assertEqual(result.returncode, 0, result)
            rows = [json.loads(line) for line in Path(out).read_text().splitlines()]
        self.assertEqual(len(rows), 6)
        first = rows[0]
        for name, value in {"family": "outer-product", "algorithm": "allgather", "rows": 50, "columns": 20, "pairs": 2,
                            "ranks": 3, "dtype": "f32", "transport": "threads", "wrong": 0, "messages_sent": 2,
                            "bytes_sent": 2 * 2 * 70 * 4, "formula_bytes": 2 * 2 * 70 * 4, "flops": 2 * 6 * 50 * 20}.items():
            self.assertEqual(first[name], value, name)
        self.assertEqual([len(first["seconds"]), len(first["seconds"][0])], [4, 3])
        self.assertTrue(all(sample > 0 for iteration in first["seconds"] for sample in iteration))
        self.assertIn("cpu", first["host"])
        table = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual([len(line) for line in table], [14] * 6, result.stdout)
        head = next(line for line in result.stdout.splitlines() if line.startswith("#    rows"))
        self.assertEqual(head.split()[5:8], ["algorithm", "median(us)", "predicted(us)"])
        self.assertEqual([line[6] for line in table], [f"{row['predicted_seconds'] * 1e6:.1f}" for row in rows])

    def test_base_and_choice_are_found_whatever_travels(self) -> None:
        line = ["outer-product", "--ranks", "3", "--rows", "40", "--iterations", "6", "--algorithm", "allreduce-ring,auto"]
        for options, names in ((["--wire", "bf16"], ["auto:bf16"]), (["--density", "0.1"], ["auto", "auto:sparse"]),
                               (["--encoding", "sparse", "--wire", "bf16"], ["auto:sparse:bf16"])):
            result = run(*line, *options)
            self.assertEqual(result.returncode, 0, result)
            table = [row.split() for row in result.stdout.splitlines() if not row.startswith("#")]
            self.assertNotIn("-", [row[12] for row in table], result.stdout)
            self.assertEqual(table[0][12], "1.00", "the first is the base")
            self.assertIn("\n# x base, ", result.stdout)
            self.assertEqual([row[4] for row in table if row[4].startswith("auto")], names)
            for name in names:
                self.assertIn(f"\n# {name} used ", result.stdout)

    def test_repetitions_of_several_jobs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            line = ["outer-product", "--ranks", "2", "--rows", "20", "--algorithm", "allgather", "--iterations", "2", "--out", out]
            with unittest.mock.patch.dict(os.environ):
                os.environ.pop("SLURM_JOB_ID", None)
                self.assertEqual(run(*line).returncode, 0)
                os.environ["SLURM_JOB_ID"] = "77"
                self.assertEqual(run(*line, "--repetitions", "2", "--first-repetition", "5").returncode, 0)
            rows = [json.loads(text) for text in Path(out).read_text().splitlines()]
        self.assertEqual([(row.get("job"), row["repetition"]) for row in rows], [(None, 0), ("77", 5), ("77", 6)])
        self.assert_refused(run("outer-product", "--first-repetition", "-1"), "--first-repetition", "-1")

    def test_intervals_know_the_stopping_rule(self) -> None:
        """Looks at 12, 24 and 40 samples, each at 1 - 0.05 / 3, so that all together miss the median in 5 % of runs."""
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            line = ["outer-product", "--ranks", "2", "--rows", "20", "--algorithm", "allgather", "--iterations", "40", "--out", out]
            self.assertEqual(run(*line, "--precision", "1%").returncode, 0)
            self.assertEqual(run(*line).returncode, 0)
            stopped, whole = [json.loads(text) for text in Path(out).read_text().splitlines()]
        for row, confidence in ((stopped, 1 - 0.05 / 3), (whole, 0.95)):
            self.assertAlmostEqual(row["median_interval"]["look_confidence"], confidence)
            samples = sorted(map(max, row["seconds"]))
            missed = [math.comb(len(samples), below) / 2 ** (len(samples) - 1) for below in range(len(samples) // 2)]
            depth = max(depth for depth in range(len(missed)) if sum(missed[:depth + 1]) <= 1 - confidence)
            self.assertEqual([row["median_interval"]["low"], row["median_interval"]["high"]],
                             [samples[depth], samples[-1 - depth]])

    def test_json_lines_of_rivals(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            result = run("outer-product", "--ranks", "3", "--rows", "50", "--cols", "20", "--pairs", "2", "--verify",
                         "--iterations", "4", "--algorithm", "allgather,external", "--out", out)
            self.assertEqual(result.returncode, 0, result)
            rows = {row["algorithm"]: row for row in map(json.loads, Path(out).read_text().splitlines())}
        table = {line.split()[4]: line.split() for line in result.stdout.splitlines() if not line.startswith("#")}
        self.assertEqual(table["allgather-per-pair"][6], "-", "a rival has a prediction")
        self.assertIs(rows["allgather"]["external"], False)
        rival = rows["allgather-per-pair"]
        for name, value in {"external": True, "used": "allgather-per-pair", "wrong": 0, "messages_sent": 2,
                            "bytes_sent": 2 * 2 * 70 * 4, "flops": 2 * 6 * 50 * 20, "predicted_seconds": None}.items():
            self.assertEqual(rival[name], value, name)
        for name in rows.keys() - {"allgather", "allgather-per-pair"}:
            self.assertEqual([rows[name]["external"], rows[name]["wrong"], rows[name]["bytes_sent"]], [True, 0, None])

    def test_calibrated_machine_is_planned_for(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/machine.json"
            self.assertEqual(run("calibrate", "--ranks", "2", "--out", out).returncode, 0)
            result = run("info", "--ranks", "2", "--machine", out)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn(f"machine: {out}", result.stdout)

    def test_tune_keeps_what_it_has_when_it_fails(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            machine, tuned = f"{folder}/machine.json", f"{folder}/tuned.json"
            Path(machine).write_text("{}")
            result = run("tune", "--ranks", "2", "--machine", machine, "--rows", "20,8000000", "--iterations", "1", "--out", tuned)
            self.assert_refused(result, "memory")
            self.assertEqual([winner["rows"] for winner in json.loads(Path(tuned).read_text())["winners"]], [20])
            self.assertEqual(sorted(os.listdir(folder)), ["machine.json", "tuned.json"])

    def test_near_is_what_is_predicted_near_the_best(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            line = ["outer-product", "--ranks", "3", "--rows", "20,600", "--pairs", "1,200", "--iterations", "1", "--out", out]
            self.assertEqual(run(*line, "--algorithm", "all").returncode, 0)
            every = [json.loads(text) for text in Path(out).read_text().splitlines()]
            Path(out).unlink()
            self.assertEqual(run(*line, "--algorithm", "near").returncode, 0)
            near = [json.loads(text) for text in Path(out).read_text().splitlines()]
        chosen = set()
        for shape in {(row["rows"], row["pairs"]) for row in every}:
            seconds = {row["algorithm"]: row["predicted_seconds"] for row in every if (row["rows"], row["pairs"]) == shape}
            expected = {name for name in seconds if seconds[name] <= 2.5 * min(seconds.values())}
            self.assertEqual({row["algorithm"] for row in near if (row["rows"], row["pairs"]) == shape}, expected, shape)
            chosen.add(frozenset(expected))
        self.assertGreater(len(chosen), 1)

    def test_kernel_measures_sums(self) -> None:
        result = run("kernel", "--sums", "20000", "--iterations", "2", "--dtype", "f64")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual([(row[0], row[1]) for row in rows], [("f64", "20000")] * 6)
        self.assertIn("x plain", result.stdout)
        self.assert_refused(run("kernel", "--sums", "0"), "--sums")

    def test_select_refuses_what_makes_no_sense(self) -> None:
        self.assert_refused(run("select", "--size", "12x"), '--size is "12x", expected whole numbers')
        self.assert_refused(run("select", "--size", "0"), "--size is 0, expected 1 to 2^32")
        self.assert_refused(run("select", "--size", str(2**32 + 1)), f"--size is {2**32 + 1}, expected 1 to 2^32")
        self.assert_refused(run("select", "--density", "0.1,0"), '--density is "0.1,0", expected shares above 0')
        for text in ["1.5", "-0.1", "1%", "", "0.1,,1", "nan"]:
            self.assert_refused(run("select", "--density", text), f'--density is "{text}", expected shares from 0 to 1')
        self.assert_refused(run("select", "--algorithm", "exakt"), "algorithm is exakt, expected one of exact, bucketed")
        self.assert_refused(run("select", "--algorithm", "bucketed(0)"), "elements a bucket, is 0, expected a whole number")
        self.assert_refused(run("select", "--dtype", "f16"), "--dtype", "f16", "f32")
        self.assert_refused(run("select", "--iterations", "0"), "--iterations")
        self.assert_refused(run("select", "--out", "/no/such/folder/x"), "--out /no/such/folder/x")
        self.assert_refused(run("select", "--ranks", "2"), "--ranks")

    def test_select(self) -> None:
        names = [line.split()[1] for line in run("list").stdout.splitlines() if line.startswith("selection ")]
        self.assertIn("exact", names)
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            result = run("select", "--size", "1000,5000", "--density", "0.01,0.5", "--dtype", "both", "--iterations", "3",
                         "--out", out)
            self.assertEqual(result.returncode, 0, result)
            rows = [json.loads(line) for line in Path(out).read_text().splitlines()]
        table = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
        points = [(size, density, dtype) for size in (1000, 5000) for density in (0.01, 0.5) for dtype in ("f32", "f64")]
        expected = [(*point, name) for point in points for name in ["read", "nth_element", *names]]
        self.assertEqual([(row["size"], row["density"], row["dtype"], row["algorithm"]) for row in rows], expected)
        self.assertEqual([(row[0], int(row[1]), row[3]) for row in table],
                         [(dtype, size, name) for size, density, dtype, name in expected])
        for row, line in zip(rows, table):
            self.assertEqual(row["k"], round(row["size"] * row["density"]))
            self.assertEqual(int(line[2]), row["k"])
            self.assertEqual(line[4], "-" if row["chosen"] is None else str(row["chosen"]))
            if row["algorithm"] in ("exact", "bucketed"):
                self.assertEqual(row["chosen"], row["k"])
            self.assertEqual(len(row["seconds"]), 3)
            self.assertTrue(all(second > 0 for second in row["seconds"]))
            self.assertIn("instructions", row["host"])
            self.assertTrue(float(line[9]) == 1 or row["algorithm"] != "nth_element")
            self.assertTrue(float(line[10]) == 1 or row["algorithm"] != "read")

    def test_readme_is_current(self) -> None:
        readme = Path(README).read_text()
        table = run("list", "--markdown").stdout
        self.assertIn(table, readme, "the table of algorithms differs from dsop-bench list --markdown")
        example = (Path(README).parent / "examples/minimal.cpp").read_text()
        self.assertIn(example, readme, "the example differs from examples/minimal.cpp")
        example = (Path(README).parent / "examples/synchronizer.cpp").read_text()
        sample = example[example.index("    dsop::Synchronizer<float>") : example.index("    if (rank == 0)")]
        self.assertIn(textwrap.dedent(sample).strip(), readme, "the sample differs from examples/synchronizer.cpp")

    def test_interrupt_on_threads(self) -> None:
        job = LongRun()
        os.kill(job.process.pid, signal.SIGINT)
        self.assertNotIn(job.end(), [0, -999])
        self.assertEqual(job.orphans, [])


@unittest.skipUnless(sys.argv[3:], "built without MPI")
class UnderMpirun(Refusing):
    def test_uses_mpi_by_itself(self) -> None:
        result = run("outer-product", "--ranks", "3", "--rows", "40", "--verify", ranks=3)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("3 ranks (mpi)", result.stdout)
        self.assertIn("allreduce-mpi", result.stdout)

    def test_base_is_what_can_send_bf16(self) -> None:
        for wire, base in (("full", "allreduce-mpi"), ("bf16", "allreduce-ring")):
            result = run("outer-product", "--rows", "40", "--wire", wire, "--algorithm", f"{base},auto", ranks=2)
            self.assertEqual(result.returncode, 0, result)
            self.assertIn(f"how many times faster than {base} ", result.stdout)
            table = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
            self.assertEqual(table[0][12], "1.00", result.stdout)

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

    def test_other_number_of_ranks(self) -> None:
        self.assert_refused(run("outer-product", "--ranks", "4", ranks=2), "--ranks is 4, expected the 2")

    def test_errors_are_told_once(self) -> None:
        result = run("outer-product", "--algorithm", "rign", ranks=3)
        self.assert_refused(result, "algorithm is rign")
        self.assertEqual(result.stderr.count("algorithm is rign"), 1, result.stderr)
        result = run("outer-product", "--rows", "12x", ranks=3)
        self.assertEqual(result.stderr.count('--rows is "12x"'), 1, result.stderr)
        result = run("outer-product", "--dtype", "f16", ranks=3)
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
        stopped = job.rank_processes()[1]
        rank = next(entry.split(b"=")[1].decode() for entry in Path(f"/proc/{stopped}/environ").read_bytes().split(b"\0")
                    if entry.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")))
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(5)
        os.kill(stopped, signal.SIGCONT)
        os.kill(job.process.pid, signal.SIGINT)
        self.assertNotIn(job.end(), [0, -999])
        # One that waits too, but answers late where the cores are crowded, may be named beside it.
        self.assertRegex(job.stderr, r"warning: (outer product 1500 x 1500 f32|messages between calls), after \d+ calls: "
                                     rf"rank \d has waited \d+\.\d s; missing: ranks? [^\n]*\b{rank}\b")

    def test_limit_of_waits_that_makes_no_sense(self) -> None:
        with unittest.mock.patch.dict(os.environ, DSOP_STALL_SECONDS="soon"):
            self.assert_refused(run("info", ranks=2), 'DSOP_STALL_SECONDS is "soon", expected seconds, 0 or more')


if __name__ == "__main__":
    BENCH, README = sys.argv[1:3]
    MPIRUN = sys.argv[3] if sys.argv[3:] else ""
    unittest.main(argv=sys.argv[:1], verbosity=2)
