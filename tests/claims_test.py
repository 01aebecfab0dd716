#!/usr/bin/python3
"""README's numbers: they are those of the rows under docs/rows/, which a commit of this history has measured."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import runner

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from calls.builds import Refused  # noqa: E402
from claims import AS_IT_COMES, CASES, PAGES, Claim, claim, claims_of, faults, read_rows, shown  # noqa: E402


def rows(contender: str, *seconds: float, **other: Any) -> list[dict[str, Any]]:
    return [{"case": "call-200mbit-1", "contender": contender, "run": run, "seconds": each, "commit": "c", "cpu": "EPYC",
             "date": "2026-11-29T12:00:00Z", "command": f"run {contender}", "file": "docs/rows/calls.jsonl"} | other
            for run, each in enumerate(seconds, 1)]


class Pages(unittest.TestCase):
    def test_numbers_are_those_of_the_rows(self) -> None:
        self.assertEqual(faults(ROOT), [])

    def test_rows_are_of_this_history(self) -> None:
        def git(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
        commits = sorted({str(row["commit"]) for row in read_rows(ROOT / "docs/rows")})
        self.assertEqual([commit for commit in commits if commit.endswith("-dirty")], [], "rows of a tree that was not committed")
        if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
            self.skipTest("no git history here")
        self.assertEqual([commit for commit in commits if git("merge-base", "--is-ancestor", commit, "HEAD").returncode != 0], [])

    def test_what_was_edited_is_seen(self) -> None:
        for edited in ("docs/claims.csv", "README.md", "docs/numbers.md"):
            with tempfile.TemporaryDirectory() as folder, self.subTest(edited):
                copy = Path(folder)
                for page in (*PAGES, "docs/claims.csv"):
                    (copy / page).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / page, copy / page)
                shutil.copytree(ROOT / "docs/rows", copy / "docs/rows")
                self.assertEqual(faults(copy), [])
                text = (copy / edited).read_text()
                value = next(each.value for each in claims_of(read_rows(ROOT / "docs/rows")) if
                             edited != "docs/numbers.md" or each.claim == "kernel-f32-1")
                self.assertIn(value, text)
                (copy / edited).write_text(text.replace(value, "99999"))
                self.assertIn(edited, "\n".join(faults(copy)))


class Ratios(unittest.TestCase):
    def test_the_base_is_the_dense_form_with_the_least_median(self) -> None:
        of_one = rows("auto", 1, 2, 4) + rows("allreduce-ring", 8, 8, 8) + rows(AS_IT_COMES, 9, 9, 7) + rows("gloo-ring", 7, 99, 99)
        claims = [claim(CASES[0], of_one, rival) for rival in ("allreduce-ring", AS_IT_COMES)]
        self.assertEqual([(each.value, each.low, each.high, each.runs) for each in claims], [("4", "2", "8", 3), ("4.5", "1.75", "9", 3)])
        others = [row | {"case": case.name} for case in CASES[1:] for row in rows(case.contender, 1) + rows("allreduce-ring", 1)]
        self.assertEqual([each.rival for each in claims_of(of_one + others)][:2], ["allreduce-ring", AS_IT_COMES])

    def test_small_gains_are_none(self) -> None:
        self.assertEqual(shown(Claim("", "", "", "1.14", "1.1", "1.3", 5, *[""] * 5)), "no gain (1.14x, 1.1 to 1.3)")
        self.assertEqual(shown(Claim("", "", "", "1.15", "1.1", "1.3", 5, *[""] * 5)), "1.15x (1.1 to 1.3)")

    def test_rows_that_do_not_go_together_are_refused(self) -> None:
        for text, other in (("runs [1, 2] of auto and [1] of allreduce-ring", rows("allreduce-ring", 1)),
                            ("commit of call-200mbit-1 is c and d, expected one", rows("allreduce-ring", 1, 2, commit="d")),
                            ("cpu of call-200mbit-1 is EPYC and Xeon", rows("allreduce-ring", 1, 2, cpu="Xeon"))):
            with self.assertRaises(Refused) as refused:
                claim(CASES[0], rows("auto", 1, 2) + other, "allreduce-ring")
            self.assertIn(text, str(refused.exception))

    def test_wrong_commands(self) -> None:
        for words, text in ((["measure", "speed"], "unknown scene 'speed'"), (["pull"], "'pull', expected measure [SCENE...], draw or check")):
            done = subprocess.run([ROOT / "scripts/claims", *words], capture_output=True, text=True)
            self.assertIn(text, done.stderr)
            self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    runner.main(sys.argv[:1], verbosity=2)
