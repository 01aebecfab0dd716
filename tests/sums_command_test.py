#!/usr/bin/env python3
"""dsop-bench's sparse allreduces, collectives, selections and kernels: wrong options, and what their rows hold."""

import json
import tempfile
from pathlib import Path

from command_line import Refusing, main, run, table_of


class OnThreads(Refusing):
    def test_sparse_allreduce_is_verified_and_written_in_full(self) -> None:
        for distribution in ["uniform", "power-law", "clustered", "one-region", "hot-region", "same", "apart"]:
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

    def test_values_travel_in_16_bits(self) -> None:
        line = ["sparse-allreduce", "--ranks", "3", "--size", "5000", "--density", "0.01,0.6", "--iterations", "1"]
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.jsonl"
            for options in (["--verify"], ["--verify", "--wire", "bf16"], ["--verify", "--select", "exact", "--wire", "bf16"]):
                result = run(*line, "--out", str(out), *options)
                self.assertEqual(result.returncode, 0, result.stderr)
            rows = [json.loads(text) for text in out.read_text().splitlines()]
        self.assertIn("# topk:bf16 used topk, summed by allgather", result.stdout)
        rounded = [row for row in rows if row["wire"] == "bf16"]
        self.assertEqual([row["algorithm"].endswith(":bf16") for row in rows], [row["wire"] == "bf16" for row in rows])
        self.assertEqual({row["wrong"] for row in rounded if row["family"] == "sparse-allreduce"}, {0})
        # What a selecting allreduce rounds off stays in residuals, what a sparse one does is lost.
        self.assertEqual({row["wrong"] for row in rounded if row["family"] == "topk-allreduce"}, {0, None})
        by_name = {(row["family"], row["algorithm"]): row for row in rows if row["density"] == 0.01}
        self.assertNotIn(("sparse-allreduce", "dense-butterfly:bf16"), by_name)
        for name, saved in {"allgather": 2 * 50 * 2, "dense-ring": 2 * 2 * 5000 // 3 * 2}.items():
            full, half = (by_name["sparse-allreduce", name + wire] for wire in ("", ":bf16"))
            self.assertAlmostEqual(full["bytes_sent"] - half["bytes_sent"], saved, delta=saved / 3, msg=name)
            self.assertEqual(half["bytes_sent"], half["formula_bytes"])
        self.assertEqual(by_name["topk-allreduce", "topk:bf16"]["bytes_sent"], 2 * (32 + 50 * 6 + 4))

    def test_selecting_allreduces_are_measured_on_gradients(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.jsonl"
            for options in [[], ["--communication-alone"]]:
                result = run("sparse-allreduce", "--ranks", "4", "--size", "20000", "--density", "0.01", "--select",
                             "exact", "--algorithm", "all,auto,ok-topk(8)", "--iterations", "1", "--out", str(out),
                             "--verify", *options)
                self.assertEqual(result.returncode, 0, result.stderr)
            lines = [json.loads(line) for line in out.read_text().splitlines()]
        rows = {row["algorithm"]: row for row in lines}
        self.assertEqual({row["wrong"] for row in lines}, {0})
        for row in lines:
            alone, parts = row["communication_alone"], [row[f"{part}_seconds"] for part in ("message", "selection", "arithmetic")]
            self.assertEqual([len(part) for part in parts], [1] * 3)
            for whole, message, selection, arithmetic in zip(row["seconds"][0], *(part[0] for part in parts)):
                self.assertAlmostEqual(whole, message + selection + arithmetic)
                self.assertGreater(message, 0)
                self.assertEqual(selection > 0, not alone, row["algorithm"])
            self.assertAlmostEqual(row["busbw"], 20000 * 4 * 2 * 3 / 4 / max(row["seconds"][0]))
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
        self.assert_refused(run("sparse-allreduce", "--communication-alone"), "--select")
        self.assert_refused(run("sparse-allreduce", "--algorithm", "ok-topk"), "algorithm is ok-topk")
        self.assert_refused(run("sparse-allreduce", "--density", "2"), '--density is "2", expected shares from 0 to 1')
        self.assert_refused(run("sparse-allreduce", "--density", "0.1,"), "--density", "expected shares")
        self.assert_refused(run("sparse-allreduce", "--size", "x"), '--size is "x", expected whole numbers')
        self.assert_refused(run("sparse-allreduce", "--distribution", "x"), "--distribution", "one-region")
        self.assert_refused(run("sparse-allreduce", "--algorithm", "nope"), "algorithm is nope", "topk-dsa")
        self.assert_refused(run("sparse-allreduce", "--wire", "f16"), "--wire", "f16", "bf16")
        for options in ([], ["--select", "exact"]):
            bf16 = ["sparse-allreduce", "--size", "100", "--wire", "bf16", *options]
            self.assert_refused(run(*bf16, "--dtype", "f64"), "wire is bf16, expected full for values in f64")
            self.assert_refused(run(*bf16, "--algorithm", "dense-butterfly"),
                                "algorithm dense-butterfly can't be used: it sends values in full only, and wire is bf16")
        self.assert_refused(run("sparse-allreduce", "--wire", "bf16", "--verify", "--ranks", "65"),
                            "--verify compares with ==, expected --wire full, or at most 64 ranks")

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
            self.assertEqual((pipeline["messages_sent"], pipeline["bytes_sent"]), (ways * 21, ways * 20000))
            self.assertAlmostEqual(pipeline["busbw"] * max(pipeline["seconds"][0]), 20000 * (4 / 3 if ways == 2 else 1))

    def test_base_and_sums_by_a_papers_name(self) -> None:
        for command in ["allreduce", "broadcast", "reduce"]:
            result = run(command, "--ranks", "4", "--size", "5000", "--iterations", "1", "--algorithm",
                         "linear-pipeline,auto,bidirectional-exchange")
            ratios = {line[2]: line[-3] for line in table_of(result.stdout)}
            base, = (line.removeprefix("# base: ") for line in result.stdout.splitlines() if line.startswith("# base: "))
            self.assertEqual((len(ratios), ratios[base]), (3, "1.00"), result.stdout)
            self.assertIn(base, ("linear-pipeline", "bidirectional-exchange"))
            self.assertNotIn("-", ratios.values())
        for command in (["outer-product", "--rows", "50", "--algorithm", "allreduce-bidirectional-exchange"],
                        ["sparse-allreduce", "--size", "500", "--algorithm", "dense-bidirectional-exchange"]):
            result = run(*command, "--ranks", "4", "--verify", "--iterations", "1")
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_collectives_refuse_what_makes_no_sense(self) -> None:
        self.assert_refused(run("broadcast", "--ranks", "3", "--root", "3"), "--root is 3, expected a rank from 0 to 2")
        self.assert_refused(run("reduce", "--algorithm", "nope"), "algorithm is nope", "bidirectional-exchange")
        self.assert_refused(run("allreduce", "--algorithm", "linear-pipeline(0)"), "KiB above 0")
        self.assert_refused(run("allreduce", "--size", "x"), '--size is "x", expected whole numbers')
        self.assert_refused(run("allreduce", "--root", "0"), "--root")

    def test_kernel_measures_sums(self) -> None:
        result = run("kernel", "--sums", "20000", "--iterations", "2", "--dtype", "f64")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual([(row[0], row[1]) for row in rows], [("f64", "20000")] * 6)
        self.assertIn("x plain", result.stdout)
        self.assert_refused(run("kernel", "--sums", "0"), "--sums")

    def test_rows_say_where_they_come_from(self) -> None:
        """Those of calls are looked at in command_line_test.py."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.jsonl"
            commands = (["kernel", "--rows", "20", "--cols", "20", "--inner", "1"], ["kernel", "--sums", "100"],
                        ["select", "--size", "100", "--algorithm", "exact"], ["plan", "--rows", "20"],
                        ["sparse-allreduce", "--size", "50", "--algorithm", "auto"], ["reduce", "--size", "20"],
                        ["outer-product", "--rows", "20", "--algorithm", "auto", "--overlap"])
            for command in commands:
                out.unlink(missing_ok=True)
                iterations = [] if command[0] == "plan" else ["--iterations", "1"]
                result = run(*command, *iterations, "--out", str(out))
                self.assertEqual(result.returncode, 0, result)
                for row in map(json.loads, out.read_text().splitlines()):
                    self.assertTrue(row["host"]["commit"] and row["host"]["cpu"], row["host"])
                    self.assertRegex(row["host"]["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
                    self.assertTrue(row["host"]["command"].endswith(" ".join([*command, *iterations, "--out", str(out)])), row["host"])

    def test_select_refuses_what_makes_no_sense(self) -> None:
        self.assert_refused(run("select", "--size", "12x"), '--size is "12x", expected whole numbers')
        self.assert_refused(run("select", "--size", "0"), "--size is 0, expected 1 to 2^32")
        self.assert_refused(run("select", "--size", str(2**32 + 1)), f"--size is {2**32 + 1}, expected 1 to 2^32")
        self.assert_refused(run("select", "--density", "0.1,0"), '--density is "0.1,0", expected shares above 0')
        for text in ["1.5", "-0.1", "1%", "", "0.1,,1", "nan"]:
            self.assert_refused(run("select", "--density", text), f'--density is "{text}", expected shares from 0 to 1')
        self.assert_refused(run("select", "--algorithm", "exakt"), "algorithm is exakt, expected one of exact, threshold-reuse")
        self.assert_refused(run("select", "--algorithm", "exact-per-bucket(0)"), "elements a bucket, is 0, expected a whole number")
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
            if row["algorithm"] in ("exact", "exact-per-bucket"):
                self.assertEqual(row["chosen"], row["k"])
            self.assertEqual(len(row["seconds"]), 3)
            self.assertTrue(all(second > 0 for second in row["seconds"]))
            self.assertIn("instructions", row["host"])
            self.assertTrue(float(line[9]) == 1 or row["algorithm"] != "nth_element")
            self.assertTrue(float(line[10]) == 1 or row["algorithm"] != "read")



if __name__ == "__main__":
    main()
