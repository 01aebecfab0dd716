#!/usr/bin/env python3
"""dsop-bench plan: what its rows, maps and pictures hold, and what it refuses."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from command_line import Refusing, main, run

PLAN_MAP = Path(__file__).resolve().parents[1] / "bench/plan_map.py"
SHAPES = ["--rows", "500,2000", "--pairs", "1,64,100000", "--ranks", "4,16"]


def planned(*options: str) -> tuple[str, list[dict]]:
    """What is printed, and the rows."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.jsonl"
        result = run("plan", *options, "--out", str(out))
        assert result.returncode == 0, result
        return result.stdout, [json.loads(line) for line in out.read_text().splitlines()]


def points(rows: list[dict]) -> dict[tuple, list[dict]]:
    found: dict[tuple, list[dict]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in ("rows", "columns", "pairs", "ranks", "rate")), []).append(row)
    return found


class Plan(Refusing):
    def test_rows_are_those_of_the_table(self) -> None:
        printed, rows = planned(*SHAPES, "--machine", "euler3")
        table = [line.split() for line in printed.splitlines() if not line.startswith("#")]
        self.assertEqual([[int(line[0]), int(line[2]), int(line[3]), line[6]] for line in table],
                         [[row["rows"], row["pairs"], row["ranks"], row["used"]] for row in rows])
        self.assertEqual([line[7] for line in table], [f"{row['predicted_seconds'] * 1e6:.1f}" for row in rows])
        self.assertEqual(len(points(rows)), 12)
        self.assertEqual(printed.count("# auto takes "), 12)
        for row in rows:
            self.assertAlmostEqual(row["predicted_seconds"],
                                   row["agreement_seconds"] + row["communication_seconds"] + row["arithmetic_seconds"])

    def test_choice_is_that_of_a_call(self) -> None:
        machine = {"hidden_share": 0, "gap_per_byte_seconds": 8e-9}
        with tempfile.TemporaryDirectory() as folder:
            path, out = f"{folder}/machine.json", f"{folder}/rows.jsonl"
            Path(path).write_text(json.dumps(machine))
            result = run("outer-product", "--ranks", "4", "--rows", "90,300", "--pairs", "1,200", "--iterations", "1", "--algorithm",
                         "auto", "--machine", path, "--out", out)
            self.assertEqual(result.returncode, 0, result)
            every = [json.loads(line) for line in Path(out).read_text().splitlines()]
            called = [row for row in every if row["algorithm"] == "auto"]
            _, rows = planned("--ranks", "4", "--rows", "90,300", "--pairs", "1,200", "--machine", path)
        for call, (point, candidates) in zip(called, points(rows).items(), strict=True):
            self.assertEqual((call["rows"], call["columns"], call["pairs"]), point[:3])
            chosen = next(row for row in candidates if row["algorithm"] == row["auto_choice"])
            self.assertEqual((chosen["used"], chosen["formula_bytes"]), (call["used"], call["formula_bytes"]))

    def test_where_factors_stop_paying(self) -> None:
        _, rows = planned("--rows", "1000", "--pairs", "1", "--ranks", "8")
        most = rows[0]["factors_pay_to_pairs"]
        self.assertGreater(most, 1)
        printed, rows = planned("--rows", "1000", "--pairs", f"{most},{most + 1}", "--ranks", "8")
        self.assertEqual({(row["pairs"], row["factors_pay"]) for row in rows}, {(most, True), (most + 1, False)})
        self.assertIn(f"factors pay up to {most} pairs a rank", printed)
        for row in rows:
            if not row["factors_pay"]:
                self.assertEqual((row["gain"], row["auto_choice"]), (1, row["dense_choice"]))

    def test_slower_links_gain_more(self) -> None:
        _, rows = planned("--rows", "4000", "--ranks", "8", "--machine", "fat-tree", "--rate", "10gbit,1gbit,200mbit")
        gains = [candidates[0]["gain"] for candidates in points(rows).values()]
        self.assertEqual(gains, sorted(gains))
        self.assertEqual([point[-1] for point in points(rows)], ["10gbit", "1gbit", "200mbit"])

    def test_ranks_a_node(self) -> None:
        problem = ("--rows", "2000", "--pairs", "1", "--ranks", "16", "--machine")
        found = []
        for per_node in ("1", "4"):
            _, rows = planned(*problem, "fat-tree", "--ranks-per-node", per_node)
            found.append({row["algorithm"]: row["communication_seconds"] for row in rows})
        self.assertNotIn("hierarchical", found[0])  # which needs ranks that share a node
        self.assertIn("hierarchical", found[1])
        self.assertNotEqual(found[0]["generalized-rabenseifner"], found[1]["generalized-rabenseifner"])
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/machine.json"
            Path(path).write_text("{}")
            for per_node in ("1", "4"):
                printed, _ = planned(*problem, path, "--ranks-per-node", per_node)
                self.assertEqual("the machine has one level: " in printed, per_node == "4")

    def test_map_over_shapes(self) -> None:
        printed, rows = planned(*SHAPES, "--map")
        cells = [line.split() for line in printed.splitlines() if not line.startswith("#")]
        signs = dict(line.split()[1:3] for line in printed.splitlines() if line.startswith("#  ") and len(line.split()[1]) == 1)
        self.assertEqual([line[0] for line in cells], ["1", "64", "100000"] * 2)
        for ranks, lines in ((4, cells[:3]), (16, cells[3:])):
            for line in lines:
                for n, sign, gain in ((500, *line[1:3]), (2000, *line[3:5])):
                    row = points(rows)[n, n, int(line[0]), ranks, None][0]
                    self.assertEqual(signs[sign].rstrip(":"), row["auto_choice"])
                    self.assertEqual(sign.isdigit(), not row["factors_pay"])
                    self.assertEqual(gain.rstrip("x"), f"{row['gain']:.2f}")
        pay = [[int(word) for word in line.split()[4:]] for line in printed.splitlines() if line.startswith("# pays to pairs")]
        self.assertEqual(pay, [[points(rows)[n, n, 1, ranks, None][0]["factors_pay_to_pairs"] for n in (500, 2000)]
                               for ranks in (4, 16)])

    def test_map_over_rates(self) -> None:
        printed, rows = planned("--rows", "2000", "--ranks", "4,16,64", "--rate", "1gbit,10gbit", "--map")
        cells = [line.split() for line in printed.splitlines() if not line.startswith("#")]
        self.assertEqual([line[0] for line in cells], ["1gbit", "10gbit"])
        self.assertEqual([line[2::2] for line in cells],
                         [[f"{points(rows)[2000, 2000, 1, ranks, rate][0]['gain']:.2f}x" for ranks in (4, 16, 64)]
                          for rate in ("1gbit", "10gbit")])

    def test_pictures(self) -> None:
        for options in (SHAPES, ["--rows", "900", "--cols", "40", "--ranks", "4,8", "--rate", "1gbit,10gbit"]):
            _, rows = planned(*options)
            with tempfile.TemporaryDirectory() as folder:
                lines = Path(folder) / "rows.jsonl"
                lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
                done = subprocess.run([sys.executable, PLAN_MAP, lines, "--out", folder], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (0, f"{folder}/plan.png\n"), done.stderr)
                self.assertGreater(Path(folder, "plan.png").stat().st_size, 10000)
                text = Path(folder, "plan.svg").read_text()
                self.assertIn("<svg", text)

    def test_pictures_of_other_rows(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(folder) / "rows.jsonl"
            for text, words in (("{}\n", "rows.jsonl:1: not a row of dsop-bench plan"), ("", "no row, expected"),
                                ('{"family": "outer-product"}\n', "family is outer-product")):
                lines.write_text(text)
                done = subprocess.run([sys.executable, PLAN_MAP, lines, "--out", folder], capture_output=True, text=True)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)

    def test_a_picture_is_of_one_machine(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(folder) / "rows.jsonl"
            both = [row for dtype in ("f32", "f64") for row in planned("--rows", "500", "--ranks", "4", "--dtype", dtype)[1]]
            lines.write_text("".join(json.dumps(row) + "\n" for row in both))
            done = subprocess.run([sys.executable, PLAN_MAP, lines, "--out", folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("rows.jsonl: rows with dtype f32, f64, expected one of them alone", done.stderr)

    def test_bad_options(self) -> None:
        self.assert_refused(run("plan", "--ranks", "0"), "--ranks is 0, expected 1 to 4096")
        self.assert_refused(run("plan", "--ranks", "4097"), "--ranks is 4097, expected 1 to 4096")
        self.assert_refused(run("plan", "--ranks", "x"), '--ranks is "x", expected whole numbers')
        self.assert_refused(run("plan", "--ranks-per-node", "0"), "--ranks-per-node", "not in range")
        self.assert_refused(run("plan", "--rate", "fast"), '--rate is "fast", expected rates from 1mbit')
        self.assert_refused(run("plan", "--rate", "10gbit,0gbit"), '--rate is "10gbit,0gbit"')
        self.assert_refused(run("plan", "--rows", "1x"), '--rows is "1x", expected whole numbers')
        self.assert_refused(run("plan", "--machine", "nowhere"), "machine file nowhere: can't be opened")
        self.assert_refused(run("plan", "--out", "/no/such/folder/x"), "--out /no/such/folder/x")
        self.assert_refused(run("plan", "--rows", "5000000000", "--ranks", "9"), "does not fit into memory")
        self.assert_refused(run("plan", "--dtype", "f64", "--wire", "bf16"), "wire is bf16")


if __name__ == "__main__":
    main()
