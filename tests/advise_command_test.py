#!/usr/bin/env python3
"""dsop-bench advise: its verdict, its rows, and what it refuses."""

import json
import tempfile
from pathlib import Path

from command_line import Refusing, main, run

ON_A_GIGABIT = ("--ranks", "4", "--rate", "1gbit")


def advised(*options: str) -> tuple[list[str], list[dict]]:
    """The lines printed, and the rows."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.jsonl"
        result = run("advise", *options, "--out", str(out))
        assert result.returncode == 0, result
        return result.stdout.splitlines(), [json.loads(line) for line in out.read_text().splitlines()]


class Advise(Refusing):
    def test_verdict_comes_first_and_is_the_sum_of_the_rows(self) -> None:
        printed, rows = advised("--model", "1024-2048-2048-100", "--batch", "64", *ON_A_GIGABIT, "--cores", "16", "--step-ms", "180")
        self.assertTrue(printed[0].startswith("it helps: a step of "), printed[0])
        self.assertTrue(printed[3].endswith(" inside; 16 cores a rank, assumed"), printed[3])
        self.assertTrue(printed[1].startswith("it pays up to a batch of "), printed[1])
        self.assertEqual([(row["rows"], row["columns"], row["pairs"]) for row in rows], [(1024, 2048, 64), (2048, 2048, 64), (2048, 100, 64)])
        saved = sum(row["dense_seconds"] - row["predicted_seconds"] for row in rows)
        with_dense, with_dsop = (float(words.split(" ms")[0]) for words in printed[0].split("a step of ")[1].split(" takes "))
        self.assertAlmostEqual(with_dense - with_dsop, 1e3 * saved, delta=1.5)

    def test_weights_of_one_shape_are_one_row(self) -> None:
        _, rows = advised("--lstm", "512-512", "--batch", "2", "--time-steps", "20", *ON_A_GIGABIT)
        self.assertEqual([(row["rows"], row["columns"], row["pairs"], row["weights"]) for row in rows], [(512, 2048, 40, 2)])

    def test_small_layers_share_calls(self) -> None:
        many, few = ("-".join(["64"] * (layers + 1)) for layers in (100, 1))
        printed, rows = advised("--model", many, "--batch", "2", *ON_A_GIGABIT)
        self.assertEqual([(row["weights"], row["shares"]) for row in rows], [(100, "factors")])
        self.assertTrue(printed[-1].startswith("# 100 weights share calls that gather their factors, 1 in all: "), printed)
        seconds = float(printed[-1].split(": ")[1].split(" ms")[0]) / 1e3
        self.assertLess(seconds, 50 * rows[0]["predicted_seconds"])
        self.assertFalse(any("share" in line for line in advised("--model", few, "--batch", "2", *ON_A_GIGABIT)[0]))

    def test_no_gain(self) -> None:
        printed, _ = advised("--model", "64-64", "--batch", "500", *ON_A_GIGABIT)
        self.assertTrue(printed[0].startswith("no gain: "), printed[0])
        printed, _ = advised("--model", "1000-1000", "--batch", "1", *ON_A_GIGABIT, "--step-ms", "100000")
        self.assertTrue(printed[0].startswith("no gain: "), printed[0])

    def test_it_pays_up_to_the_batch_that_it_says(self) -> None:
        model = ("--model", "300-400-20", *ON_A_GIGABIT)
        batch = int(advised(*model, "--batch", "1")[0][1].split("batch of ")[1].split()[0])
        self.assertTrue(advised(*model, "--batch", str(batch))[0][0].startswith("it helps"))
        self.assertTrue(advised(*model, "--batch", str(batch + 1))[0][0].startswith("no gain"))

    def test_probes_the_ranks_at_hand(self) -> None:
        printed, rows = advised("--model", "1000-1000", "--batch", "1", "--probe")
        self.assertEqual([(row["ranks"], row["rows"]) for row in rows], [(4, 1000)])
        self.assertIn(": sums take ", printed[0])

    def test_bad_input(self) -> None:
        model = ("--model", "10-10", "--batch", "1")
        for arguments, text in (
            (("--batch", "1", "--rate", "1gbit"), "no model, expected --model"),
            (model, "nothing says how fast the network is"),
            (("--model", "10-ten", "--batch", "1", "--rate", "1gbit"), "--model is '10-ten', expected widths"),
            (("--model", "10", "--batch", "1", "--rate", "1gbit"), "--model is '10', expected two to a thousand widths"),
            (("--model", "-".join(["1"] * 1001), "--batch", "1", "--rate", "1gbit"), "expected two to a thousand widths"),
            (("--lstm", "1000000000-5", "--batch", "1", "--rate", "1gbit"), "--lstm is '1000000000-5', expected widths"),
            ((*model, "--rate", "1gbit,2gbit"), "--rate is '1gbit,2gbit', expected one rate"),
            ((*model, "--rate", "fast"), "--rate"),
            ((*model, "--rate", "1gbit", "--ranks", "2,4"), "--ranks has 2 numbers, expected one"),
            ((*model, "--rate", "1gbit", "--ranks", "1"), "--ranks is 1, expected at least 2: one sends nothing"),
            (("--batch", "1", "--probe"), "no model, expected --model"),
        ):
            self.assert_refused(run("advise", *arguments), text)
        for arguments in (("--model", "10-10", "--rate", "1gbit"), (*model, "--probe", "--rate", "1gbit"),
                          (*model, "--machine", "ethernet", "--cores", "2"), (*model, "--rate", "1gbit", "--step-ms", "-3"), (*model, "--rate", "1gbit", "--cores", "0")):
            result = run("advise", *arguments)
            self.assertGreater(result.returncode, 0, arguments)


if __name__ == "__main__":
    main()
