#!/usr/bin/env python3
"""dsop-data as a person uses it."""

import subprocess

from linear_programs import DATA, MPIRUN, OnTexts, hashed, main, run


class HashTrigrams(OnTexts):
    def test_hashing_is_the_same_every_time_and_splits(self) -> None:
        again = self.folder / "again"
        self.assertEqual(hashed(self.folder, "--bits", "16", "--out", str(again)).returncode, 0)
        lines = again.read_text().splitlines()
        self.assertEqual(lines[4::5], (self.folder / "test").read_text().splitlines())
        del lines[4::5]
        self.assertEqual(lines, (self.folder / "train").read_text().splitlines())
        indices = [int(word.split(":")[0]) for line in lines for word in line.split()[1:]]
        self.assertGreaterEqual(min(indices), 1)
        self.assertLessEqual(max(indices), 2**16)

    def test_hashing_is_done_once_under_mpirun(self) -> None:
        if not MPIRUN:
            self.skipTest("built without MPI")
        out = self.folder / "once"
        launched = [MPIRUN, "-n", "3", DATA, "hash-trigrams", "--out", str(out)]
        result = run(*launched, str(self.folder / "texts.tsv"), "--bits", "16", "--held-out", str(self.folder / "once.test"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("400 texts"), 1, result.stderr)
        self.assertEqual(out.read_bytes(), (self.folder / "train").read_bytes())
        for bits in ("16", "33"):
            refused = run(*launched, "absent.tsv", "--bits", bits)
            self.assertNotEqual(refused.returncode, 0)
            self.assertEqual(refused.stderr.count("error: "), 1, refused.stderr)

    def test_bad_texts_leave_what_is_there(self) -> None:
        out = self.folder / "out"
        out.write_text("old")
        for text, words in {"ham\tyes\nspam no\n": ["line 2", "0 tabs"], "": ["is empty"],
                            "ham\tyes\n": ["1 different labels, expected 2"],
                            "a\t1\nb\t2\nc\t3\n": ["3 different labels, expected 2"]}.items():
            bad = self.folder / "bad.tsv"
            bad.write_text(text)
            result = run(DATA, "hash-trigrams", str(bad), "--out", str(out))
            self.assertEqual(result.returncode, 1)
            for word in [str(bad), *words]:
                self.assertIn(word, result.stderr)
            self.assertEqual(out.read_text(), "old")
        held_out = self.folder / "never"
        for arguments, words in {("--bits", "33"): "--bits", ("--every", "5"): "--every requires --held-out",
                                 ("--held-out", str(held_out)): "--held-out requires --out",
                                 ("--out", str(out), "--held-out", str(held_out), "--every", "401"):
                                     "texts.tsv: has 400 texts, expected 401 or more"}.items():
            result = hashed(self.folder, *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")
            self.assertEqual(out.read_text(), "old")
            self.assertFalse(held_out.exists())

    def test_samples_go_to_stdout_or_a_file(self) -> None:
        out = self.folder / "all"
        self.assertEqual(hashed(self.folder, "--bits", "16", "--out", str(out)).returncode, 0)
        result = hashed(self.folder, "--bits", "16")
        self.assertEqual((result.returncode, result.stdout), (0, out.read_text()), result.stderr)
        self.assertEqual(result.stderr.count("400 texts"), 1)
        with open("/dev/full", "wb") as full:
            refused = subprocess.run([DATA, "hash-trigrams", str(self.folder / "texts.tsv")], stdout=full,
                                     stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((refused.returncode, refused.stderr), (1, "error: stdout can't be written\n"))


if __name__ == "__main__":
    main()
