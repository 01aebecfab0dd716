#!/usr/bin/env python3
"""dsop-bench as a person uses it, on ranks that are threads: wrong options, and what its output holds."""

import json
import math
import operator
import os
import resource
import signal
import subprocess
import tempfile
import unittest
import unittest.mock
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median

from command_line import ALGORITHMS_PAGE, LongRun, Refusing, command, main, run, table_of


def time_of_children() -> float:
    """Seconds of processors that programs which have ended have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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

    def test_unknown_algorithm_lists_the_known(self) -> None:
        self.assert_refused(run("outer-product", "--algorithm", "rign"), "algorithm is rign", "allreduce-ring")

        self.assert_refused(run("outer-product", "--algorithm", "gloo-rign"), "algorithm is gloo-rign", "gloo-ring",
                            "openmpi-allreduce-segmented_ring", "allgather-per-pair", "external",
                            "expected all, near, eligible, auto, auto-probed, sharded, external, or one of allgather, ")

        started = run("outer-product", "--overlap", "--algorithm", "rign")
        self.assert_refused(started, "algorithm is rign, expected all, near, eligible, auto, or one of allgather, ")
        self.assertNotIn("allgather-per-pair", started.stderr)

    def test_algorithm_that_cannot_run_here(self) -> None:
        self.assert_refused(run("outer-product", "--algorithm", "openmpi-allreduce-ring"),
                            "algorithm openmpi-allreduce-ring can't be used: it ")
        self.assert_refused(run("outer-product", "--algorithm", "allreduce-mpi"), "these ranks do not use MPI")

    def test_sizes_that_overflow(self) -> None:
        big = str(2**32)
        self.assert_refused(run("outer-product", "--rows", big, "--cols", big), "does not fit into memory")

    def test_memory_that_is_not_there(self) -> None:
        self.assert_refused(run("outer-product", "--rows", "8000000", "--pairs", "1", "--ranks", "2"),
                            "ranks 0-1: no memory for a workspace of")
        self.assert_refused(run("outer-product", "--rows", "500000", "--algorithm", "allgather", "--overlap"),
                            "out of memory: the ranks on", "need 4000")

    def test_files(self) -> None:
        self.assert_refused(run("outer-product", "--out", "/no/such/folder/x"), "--out /no/such/folder/x")
        self.assert_refused(run("outer-product", "--machine", "/no/such/file"), "/no/such/file", "can't be opened")
        self.assert_refused(run("tune", "--machine", "/no/such/file"), "/no/such/file", "can't be opened")

    def test_machine_files_that_can_not_be_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for path, reason in ("/no/such/folder/x", "No such file or directory"), (folder, "Is a directory"):
                for command in ("calibrate", "tune"):
                    before = time_of_children()
                    result = run(command, "--ranks", "2", "--out", path)
                    self.assert_refused(result, f"error: rank 0: --out {path}: can't be written: {reason}\n")
                    self.assertEqual(result.stdout, "")
                    self.assertLess(time_of_children() - before, 0.5, "measured before it knew that it could not write")
            machine = f"{folder}/machine.json"
            Path(machine).write_text("{}")
            result = run("tune", "--ranks", "1", "--rows", "9", "--machine", machine, "--out", "/dev/full")
            self.assert_refused(result, "rank 0: --out /dev/full: machine file /dev/full: can't be written")
            self.assertEqual(os.listdir(folder), ["machine.json"])

    def test_overlap(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            result = run("outer-product", "--overlap", "--ranks", "2", "--rows", "60", "--iterations", "3",
                         "--algorithm", "allgather,allreduce-ring-pipelined,auto", "--out", out)
            self.assertEqual(result.returncode, 0, result)
            rows = [json.loads(line) for line in Path(out).read_text().splitlines()]
        self.assertEqual([row["algorithm"] for row in rows], ["allgather", "allreduce-ring-pipelined", "auto"])
        self.assertEqual(rows[0]["used"], "allgather")
        self.assertRegex(rows[1]["used"], r"^allreduce-ring-pipelined\([0-9]+\)$")
        self.assertEqual([line for line in result.stdout.splitlines() if " used " in line],
                         [f"# {row['algorithm']} used {row['used']}" for row in rows[1:]])
        for row in rows:
            def median_of(name: str, over_ranks: Callable[[list[float]], float]) -> float:
                return sorted(map(over_ranks, row[f"{name}_seconds"]))[1]

            waited = median_of("both", max) - median_of("arithmetic", max)
            self.assertAlmostEqual(row["saved"], 1 - max(0, waited) / median_of("call", max))
            waited = median_of("timed_both", mean) - median_of("timed_arithmetic", mean)
            self.assertAlmostEqual(row["hidden_by_clock"], 1 - max(0, waited) / median_of("call", mean))
            self.assertGreater(row["asked_arithmetic_seconds"], 0)
            for arithmetic, both in zip(row["timed_arithmetic_seconds"], row["timed_both_seconds"]):
                self.assertGreaterEqual(min(arithmetic), row["asked_arithmetic_seconds"])
                self.assertTrue(all(map(operator.lt, arithmetic, both)), row)
            self.assertIs(row["runs_at_wait"], False)
        for option in (["--verify"], ["--repetitions", "2"], ["--density", "0.1"]):
            self.assert_refused(run("outer-product", "--overlap", *option), "excludes", "--overlap", option[0])
        for algorithm in ("allgather-per-pair", "sharded", "auto-probed"):
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
                         "--iterations", "4", "--algorithm", "allgather,allreduce-ring-pipelined,auto", "--out", out)
            self.assertEqual(result.returncode, 0, result)
            rows = [json.loads(line) for line in Path(out).read_text().splitlines()]
        self.assertEqual(len(rows), 6)
        self.assertEqual([row["used"] for row in rows if row["algorithm"] == "allgather"], ["allgather"] * 2)
        parameters = [row["used"] for row in rows if row["algorithm"] == "allreduce-ring-pipelined"]
        self.assertRegex(" ".join(parameters), r"^allreduce-ring-pipelined\([0-9]+\) allreduce-ring-pipelined\([0-9]+\)$")
        self.assertEqual([line for line in result.stdout.splitlines() if line.startswith("# allreduce-ring-pipelined used ")],
                         [f"# allreduce-ring-pipelined used {used}" for used in parameters])
        first = rows[0]
        for name, value in {"family": "outer-product", "algorithm": "allgather", "rows": 50, "columns": 20, "pairs": 2,
                            "ranks": 3, "dtype": "f32", "transport": "threads", "wrong": 0, "messages_sent": 0,
                            "bytes_sent": 2 * 2 * 70 * 4, "formula_bytes": 2 * 2 * 70 * 4, "flops": 2 * 6 * 50 * 20}.items():
            self.assertEqual(first[name], value, name)
        self.assertEqual([len(first["seconds"]), len(first["seconds"][0])], [4, 3])
        self.assertTrue(all(sample > 0 for iteration in first["seconds"] for sample in iteration))
        for row in rows:
            self.assertEqual([len(iteration) for iteration in row["message_seconds"]], [3] * 4)
            for whole, part in zip(sum(row["seconds"], []), sum(row["message_seconds"], [])):
                self.assertTrue(0 < part <= whole, row)
            rests = [[whole - part for whole, part in zip(*both)] for both in zip(row["seconds"], row["message_seconds"])]
            self.assertEqual(row["arithmetic_seconds"], rests)
            self.assertIsNone(row["selection_seconds"])
            bus_bytes = row["rows"] * row["columns"] * 4 * 2 * (3 - 1) / 3  # as nccl-tests count them, of G in full
            self.assertAlmostEqual(row["busbw"] * median(map(max, row["seconds"])) / bus_bytes, 1)
        self.assertIn("cpu", first["host"])
        self.assertEqual(first["host"]["command"].split()[1:6], ["outer-product", "--ranks", "3", "--rows", "50"])
        self.assertTrue(first["host"]["commit"] and first["host"]["date"].endswith("Z"), first["host"])
        table = table_of(result.stdout)
        self.assertEqual([len(line) for line in table], [16] * 6, result.stdout)
        head = next(line for line in result.stdout.splitlines() if line.startswith("#    rows"))
        self.assertEqual(head.split()[5:8], ["algorithm", "median(us)", "predicted(us)"])
        self.assertEqual(head.split()[-5:], ["x", "base", "x", "mpi", "#wrong"])
        shares = [[100 * sum(part) / sum(whole) for part, whole in zip(row["message_seconds"], row["seconds"])] for row in rows]
        self.assertEqual([line[9] for line in table], [f"{median(share):.1f}" for share in shares])
        self.assertEqual([line[6] for line in table], [f"{row['predicted_seconds'] * 1e6:.1f}" for row in rows])

    def test_base_and_choice_are_found_whatever_travels(self) -> None:
        line = ["outer-product", "--ranks", "3", "--rows", "40", "--iterations", "6", "--algorithm", "allreduce-ring,auto"]
        for options, names in ((["--wire", "bf16"], ["auto:bf16"]), (["--density", "0.1"], ["auto", "auto:sparse"]),
                               (["--encoding", "sparse", "--wire", "bf16"], ["auto:sparse:bf16"])):
            result = run(*line, *options)
            self.assertEqual(result.returncode, 0, result)
            table = table_of(result.stdout)
            self.assertNotIn("-", [row[13] for row in table], result.stdout)
            self.assertEqual({row[14] for row in table}, {"-"}, "no rank uses MPI")
            base, = (line.removeprefix("# base: ") for line in result.stdout.splitlines() if line.startswith("# base: "))
            self.assertEqual([row[13] for row in table if row[4] == base], ["1.00"], result.stdout)
            self.assertTrue(base.startswith("allreduce-ring"), base)
            self.assertIn("\n# x base, ", result.stdout)
            self.assertEqual([row[4] for row in table if row[4].startswith("auto")], names)
            for name in names:
                self.assertIn(f"\n# {name} used ", result.stdout)

    def test_base_is_the_fastest_dense_form_of_the_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.jsonl"
            result = run("outer-product", "--ranks", "3", "--rows", "30,200", "--iterations", "3", "--algorithm",
                         "allgather,allreduce-ring,allreduce-butterfly,auto", "--repetitions", "2", "--out", str(out))
            self.assertEqual(result.returncode, 0, result)
            rows = [json.loads(line) for line in out.read_text().splitlines()]
        table = table_of(result.stdout)
        for n in (30, 200):
            own = [row for row in rows if row["rows"] == n]
            base = own[0]["base"]
            medians = {row["algorithm"]: median(median(map(max, other["seconds"])) for other in own
                                                if other["algorithm"] == row["algorithm"]) for row in own}
            dense = {name: seconds for name, seconds in medians.items() if name.startswith("allreduce-")}
            self.assertEqual({row["base"] for row in own}, {min(dense, key=lambda name: dense[name])})
            for row in own:  # of its own repetition
                beside, = (other for other in own if (other["algorithm"], other["repetition"]) == (base, row["repetition"]))
                self.assertAlmostEqual(row["x_base"], median(map(max, beside["seconds"])) / median(map(max, row["seconds"])))
                self.assertIsNone(row["x_mpi"])
            for line in (line for line in table if int(line[0]) == n):
                gain = medians[base] / medians[line[4]]
                self.assertEqual(line[13], "no-gain" if 1 < gain < 1.15 else f"{gain:.2f}", line)

    def test_layers_of_a_model(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.jsonl"
            result = run("outer-product", "--ranks", "2", "--layers", "20x30,30x30,30x5", "--pairs", "4", "--iterations", "3",
                         "--algorithm", "allreduce-ring,auto", "--verify", "--out", str(out))
            self.assertEqual(result.returncode, 0, result)
            rows = [json.loads(line) for line in out.read_text().splitlines()]
        *rows, dense_step, step = rows
        self.assertEqual([(row["rows"], row["columns"], row["pairs"]) for row in rows[::2]], [(20, 30, 4), (30, 30, 4), (30, 5, 4)])
        sums = [line.replace("no gain", "no-gain").split() for line in result.stdout.split("# all layers, ")[1].splitlines()[1:3]]
        medians = {name: sum(median(map(max, row["seconds"])) for row in rows if row["algorithm"] == name)
                   for name in ("allreduce-ring", "auto")}
        gain = medians["allreduce-ring"] / medians["auto"]
        self.assertEqual(sums, [["#", "allreduce-ring", f"{medians['allreduce-ring'] * 1e6:.1f}", "1.00"],
                                ["#", "auto", f"{medians['auto'] * 1e6:.1f}", "no-gain" if 1 < gain < 1.15 else f"{gain:.2f}"]])
        self.assertEqual([(row["family"], row["algorithm"], row["wrong"]) for row in (dense_step, step)],
                         [("layers", "synchronizer:dense", 0), ("layers", "synchronizer:dsop", 0)])
        self.assertLess(step["bytes_sent"], dense_step["bytes_sent"])
        self.assertIn("bucket 1", step["description"])
        for line in step["description"].splitlines():
            self.assertIn("# " + line, result.stdout.splitlines())
        for text in ("", "20", "20x", "20x30x4", "axb", "20x30,", "0x5", "-1x5", "99999999999999999999x2"):
            self.assert_refused(run("outer-product", "--layers", text), f'--layers is "{text}", expected rows x columns of at most')
        self.assert_refused(run("outer-product", "--layers", "5x5", "--rows", "5"), "--layers", "--rows", "excludes")

    def test_where_no_dense_form_is_named_one_runs(self) -> None:
        line = ["outer-product", "--ranks", "2", "--rows", "20", "--iterations", "1", "--algorithm"]
        for named, expected in (("allgather", ["allgather", "allreduce-ring-pipelined"]), ("auto", ["auto", "allreduce-ring-pipelined"]),
                                ("allgather,allreduce-ring", ["allgather", "allreduce-ring"])):
            result = run(*line, named)
            self.assertEqual(result.returncode, 0, result)
            self.assertEqual([row[4] for row in table_of(result.stdout)], expected)

    def test_whole_numbers_that_bf16_holds_are_verified(self) -> None:
        line = ["outer-product", "--ranks", "3", "--rows", "40", "--iterations", "1", "--wire", "bf16", "--verify", "--pairs"]
        result = run(*line, "5")
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual({row[15] for row in table_of(result.stdout)}, {"0"})
        self.assert_refused(run(*line, "8"), "--verify compares with ==, expected --wire full, or at most 2 ranks")

    def test_type_of_elements(self) -> None:
        for name in ("outer-product", "sparse-allreduce", "allreduce", "broadcast", "reduce"):
            size = ["--rows" if name == "outer-product" else "--size", "20"]
            for options, found in (([], "f32"), (["--dtype", "f64"], "f64"), (["--dtype", "f32"], "f32")):
                result = run(name, *size, "--ranks", "2", "--iterations", "1", "--algorithm", "auto", *options)
                self.assertIn(f" {name}, {found}, ", result.stdout, result.stderr)

    def test_repetitions_of_several_jobs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            line = ["outer-product", "--ranks", "2", "--rows", "20", "--algorithm", "allreduce-ring", "--iterations", "2", "--out", out]
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
            line = ["outer-product", "--ranks", "2", "--rows", "20", "--algorithm", "allreduce-ring", "--iterations", "40", "--out", out]
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
        table = {line[4]: line for line in table_of(result.stdout)}
        self.assertEqual(table["allgather-per-pair"][6], "-", "a rival has a prediction")
        self.assertIs(rows["allgather"]["external"], False)
        rival = rows["allgather-per-pair"]
        for name, value in {"external": True, "used": "allgather-per-pair", "wrong": 0, "messages_sent": 4,
                            "bytes_sent": 2 * 2 * 70 * 4, "flops": 2 * 6 * 50 * 20, "predicted_seconds": None}.items():
            self.assertEqual(rival[name], value, name)
        for name in rows.keys() - {"allgather", "allgather-per-pair"}:
            self.assertEqual([rows[name]["external"], rows[name]["wrong"], rows[name]["bytes_sent"]], [True, 0, None])
            self.assertIsNone(rows[name]["message_seconds"])
            self.assertEqual(table[name][9], "-")
        self.assertGreater(rival["message_seconds"][0][0], 0)

    def test_calibrated_machine_is_planned_for(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/machine.json"
            self.assertEqual(run("calibrate", "--ranks", "2", "--out", out).returncode, 0)
            result = run("info", "--ranks", "2", "--machine", out)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn(f"machine: {out}", result.stdout)

    def test_machine_that_was_measured_elsewhere(self) -> None:
        warning = "warning: the machine was measured elsewhere, ranks: 2 instead of 8\n"
        with tempfile.TemporaryDirectory() as folder:
            machine = f"{folder}/machine.json"
            for ranks, expected in ((8, warning), (2, "")):
                on = {"ranks": ranks, "nodes": 0, "threads": 0, "transport": "threads"}
                Path(machine).write_text(json.dumps({"version": 2, "measured_on": on}))
                for arguments in (["outer-product", "--rows", "20,30"], ["outer-product", "--rows", "20", "--overlap"],
                                  ["allreduce", "--size", "20"], ["sparse-allreduce", "--size", "20"],
                                  ["tune", "--rows", "20", "--out", f"{folder}/tuned.json"]):
                    algorithm = [] if arguments[0] == "tune" else ["--algorithm", "auto"]
                    result = run(*arguments, *algorithm, "--ranks", "2", "--iterations", "1", "--machine", machine)
                    self.assertEqual(result.returncode, 0, result)
                    self.assertEqual("".join(line for line in result.stderr.splitlines(keepends=True) if "warning" in line),
                                     expected, arguments)

    def test_tune_calibrates_where_no_machine_is_given(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tuned = f"{folder}/tuned.json"
            result = run("tune", "--ranks", "3", "--rows", "30", "--iterations", "2", "--out", tuned)
            self.assertEqual(result.returncode, 0, result)
            machine = json.loads(Path(tuned).read_text())
        self.assertGreater(machine["indexed_addition_factor"], 0)
        self.assertEqual([(winner["rows"], winner["ranks"]) for winner in machine["winners"]], [(30, 3)])

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

    def test_near_knows_what_is_not_zero(self) -> None:
        """Predictions of rows are those of the zeros that there are, near's of those that were to be expected."""
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/rows.jsonl"
            line = ["outer-product", "--ranks", "4", "--rows", "400", "--pairs", "64", "--iterations", "1", "--out", out]
            for density in ("0.01", "1,0.02"):
                Path(out).unlink(missing_ok=True)
                for words in ("near", "all,auto"):
                    result = run(*line, "--density", density, "--encoding", "dense,find-zeros,sparse", "--algorithm", words)
                    self.assertEqual(result.returncode, 0, result)
                    if words == "near":
                        near = [json.loads(text)["algorithm"] for text in Path(out).read_text().splitlines()]
                rows = [json.loads(text) for text in Path(out).read_text().splitlines()][len(near):]
                chosen = {}
                for encoding in ("dense", "find-zeros", "sparse"):
                    end = "" if encoding == "dense" else f":{encoding}"
                    seconds = {row["algorithm"]: row["predicted_seconds"] for row in rows if row["encoding"] == encoding}
                    least = min(seconds.values())
                    chosen[encoding] = {name for name in near if name in seconds}
                    self.assertLessEqual({name for name in seconds if seconds[name] <= 2.4 * least} - {f"auto{end}"},
                                         chosen[encoding], (density, encoding))
                    self.assertLessEqual(chosen[encoding], {name for name in seconds if seconds[name] <= 2.6 * least})
                    auto, = (row for row in rows if row["algorithm"] == f"auto{end}")
                    self.assertIn(auto["used"].split("(")[0] + end, near)
                self.assertEqual(len(near), sum(map(len, chosen.values())))
                self.assertEqual({f"{name.removesuffix(':sparse')}:find-zeros" for name in chosen["sparse"]}, chosen["find-zeros"])
                self.assertNotEqual({f"{name}:sparse" for name in chosen["dense"]}, chosen["sparse"])

    def test_table_of_algorithms_is_current(self) -> None:
        table = run("list", "--markdown").stdout
        self.assertIn(table, Path(ALGORITHMS_PAGE).read_text(), "the table differs from dsop-bench list --markdown")

    def test_interrupt_on_threads(self) -> None:
        job = LongRun()
        os.kill(job.process.pid, signal.SIGINT)
        self.assertNotIn(job.end(), [0, -999])
        self.assertEqual(job.orphans, [])


if __name__ == "__main__":
    main()
