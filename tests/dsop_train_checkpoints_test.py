#!/usr/bin/env python3
"""Checkpoints of dsop-train's perceptron and LSTMs, and what is left of a run that breaks."""

import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from dsop_train import ATIS, CHARACTERS, FOLDER, LINEAR, MLP, MODELS, MPIRUN, TRAIN, Refusing, Rows, at, changed, main, run
from programs import run_in


# Weights that grow a thousand thousand times a step: in the seventh they are larger than a float can be.
GROWING = changed(MLP, "--activation", "tanh", "--momentum", "0", "--weight-decay", "1e3", "--learning-rate", "1e3")


class Checkpoints(Refusing):
    def setUp(self) -> None:
        self.path = FOLDER / "checkpoint"
        self.path.unlink(missing_ok=True)

    def test_resumed_run_has_the_same_bits(self) -> None:
        ways = [[], ["--optimizer", "adam", "--sync", "dense"], ["--optimizer", "sgd", "--weight-decay", "0.01"],
                ["--optimizer", "sgd", "--momentum", "0"],
                ["--optimizer", "adam", "--schedule", "overlap"], ["--sync", "topk:0.1"]]
        of_mlp = [["--sync", "ok-topk:0.1", "--residual-holds-step"], ["--schedule", "reduce-broadcast"],
                  ["--schedule", "allreduce"], ["--sync", "topk:0.1", "--dense-steps", "13"],
                  ["--sync", "topk:0.1", "--dense-steps", "7"], ["--sync", "ok-topk:0.1", "--dense-steps", "20"]]
        cases = [(name, way, 0) for name, way in [*itertools.product(MODELS, ways), *itertools.product(["mlp"], of_mlp)]]
        if MPIRUN:
            cases += [("mlp", ["--sync", "ok-topk:0.1"], 2), ("mlp", ["--schedule", "reduce-broadcast"], 2)]
        for name, way, processes in cases:
            common = [*MODELS[name], *(["--batch", "4"] if processes else at(2)), *way]
            whole = Rows(*common, "--steps", "30", processes=processes)
            self.path.unlink(missing_ok=True)
            Rows(*common, "--steps", "13", "--save", str(self.path), processes=processes)
            rest = Rows(*common, "--steps", "30", "--resume", str(self.path), processes=processes)
            self.assertEqual(rest.losses(), whole.losses()[13:], f"{name} {way}")
            self.assert_same_end(rest, whole, f"{name} {way}")

    def assert_same_end(self, one: Rows, other: Rows, words: str) -> None:
        for row in (one.last(), other.last()):
            row.pop("seconds")
            row.pop("host")  # has the command
        self.assertEqual(one.last(), other.last(), words)  # the hash of all weights is in it

    def test_saved_while_it_runs(self) -> None:
        result = run(*GROWING, *at(2), "--save", str(self.path), "--save-every", "5")
        self.assert_refused(result, "The last checkpoint stays as it was")
        self.assertEqual([path.name for path in FOLDER.iterdir() if path.name.startswith("checkpoint")], ["checkpoint"])
        whole = Rows(*GROWING, *at(2), "--steps", "6")
        rest = Rows(*GROWING, *at(2), "--steps", "6", "--resume", str(self.path))
        self.assertEqual(rest.rows[0]["resumed_after_step"], 5)
        self.assertEqual(rest.losses(), whole.losses()[5:])
        self.assert_same_end(rest, whole, "interrupted")

    @unittest.skipUnless(MPIRUN, "needs mpirun")
    def test_hosts_without_common_files(self) -> None:
        hosts = [FOLDER / "host0", FOLDER / "host1"]
        for host in hosts:
            shutil.copytree(FOLDER / "digits", host / "digits", dirs_exist_ok=True)

        def run_there(*options: str) -> subprocess.CompletedProcess:
            return run_in(hosts, MPIRUN, TRAIN, *MLP, "--batch", "4", *options)

        saved = run_there("--steps", "3", "--save", "checkpoint")
        self.assertEqual((saved.returncode, saved.stderr), (0, ""))
        self.assertEqual([(host / "checkpoint").exists() for host in hosts], [True, False])
        whole, rest = run_there("--steps", "5"), run_there("--steps", "5", "--resume", "checkpoint")
        self.assertEqual((rest.returncode, rest.stderr), (0, ""))
        weights = [re.search("weights [0-9a-f]{8,}", result.stdout).group() for result in (whole, rest)]
        self.assertEqual(*weights)

        pixels = hosts[1] / "digits" / "train-images-idx3-ubyte"
        changed_pixels = bytearray(pixels.read_bytes())
        changed_pixels[16] ^= 1
        pixels.write_bytes(changed_pixels)
        self.assert_refused(run_there("--steps", "3"), "rank 1", "the task is mlp 50-12-9-10 relu", "expected as on rank 0")
        last_pixel = bytearray((hosts[0] / "digits" / pixels.name).read_bytes())  # of what is held out
        last_pixel[-1] ^= 1
        pixels.write_bytes(last_pixel)
        self.assert_refused(run_there("--steps", "3"), "rank 1", "what is held out is data ", "expected as on rank 0")
        changed_pixels[-1] ^= 1  # a resumed run may be tested with other pictures, but not learn from others
        for host in hosts:
            (host / "digits" / pixels.name).write_bytes(changed_pixels)
        self.assert_refused(run_there("--steps", "5", "--resume", "checkpoint"), "is of another run", ", data ")

    @unittest.skipUnless(Path("/dev/full").exists(), "sets limits that other systems may not have")
    def test_rows_that_can_not_be_written_cost_no_checkpoint(self) -> None:
        out, limit = FOLDER / "rows", 100_000
        out.write_text(" " * (limit - 1000))  # there is room for the run's row, not for all steps'

        def fill_up() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        result = subprocess.run([TRAIN, *MLP, *at(2), "--steps", "9", "--save", str(self.path), "--out", str(out)],
                                cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False,
                                preexec_fn=fill_up)  # which has SIGXFSZ's default: to end without a word
        self.assert_refused(result, f"--out {out}: can't be written: File too large")
        out.unlink()
        self.assertEqual(Rows(*MLP, *at(2), "--steps", "9", "--resume", str(self.path)).rows[0]["resumed_after_step"], 9)

    def test_a_second_run_with_the_same_path_is_refused_and_hurts_nothing(self) -> None:
        lock = FOLDER / "checkpoint.lock"
        command = [TRAIN, *MLP, *at(2), "--epochs", "100000", "--save", str(self.path)]
        with subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
            self.addCleanup(first.kill)
            while not self.path.exists() and first.poll() is None:
                time.sleep(0.01)
            for resume_options in ([], ["--resume", str(self.path)]):
                for model in (MLP, LINEAR):
                    second = run(*model, *at(2), "--save", str(self.path), *resume_options)
                    self.assert_refused(second, f"{self.path}: is written by another run, which holds {lock}")
                    self.assertEqual(second.stdout, "", "it trained first")
            self.assertIsNone(first.poll(), "the first run has ended")
            first.kill()
        (FOLDER / "checkpoint.0badcafe.unfinished").write_text("of a run that was killed while it wrote")
        self.assertEqual(run(*MLP, *at(2), "--steps", "1", "--resume", str(self.path), "--save", str(self.path)).returncode, 0)
        self.assertEqual([path.name for path in FOLDER.iterdir() if path.name.startswith("checkpoint")], ["checkpoint"])

    def test_a_machine_file_whose_name_is_no_text_costs_no_checkpoint(self) -> None:
        machine = FOLDER / os.fsdecode(b"machine\xff.json")
        machine.write_text('{"latency_seconds": 1e-5}')
        self.addCleanup(machine.unlink)
        for model in (MLP, LINEAR):
            self.path.unlink(missing_ok=True)
            Rows(*model, *at(2), "--epochs", "1", "--sync", "auto" if model is LINEAR else "dsop", "--machine", str(machine),
                 "--save", str(self.path))
            Rows(*model, *at(2), "--epochs", "2", "--sync", "auto" if model is LINEAR else "dsop", "--resume", str(self.path))

    def test_a_machine_file_of_any_length_can_be_resumed(self) -> None:
        winner = {"rows": 7, "columns": 9, "pairs": 0, "ranks": 2, "dtype": "f32", "algorithm": "allgather"}
        machine = FOLDER / "winners.json"
        machine.write_text(json.dumps({"winners": [{**winner, "rows": rows} for rows in range(12_000)]}))
        self.addCleanup(machine.unlink)
        for model in (MLP, LINEAR):
            self.path.unlink(missing_ok=True)
            sync = ["--sync", "auto" if model is LINEAR else "dsop"]
            Rows(*model, *at(2), *sync, "--epochs", "1", "--machine", str(machine), "--save", str(self.path))
            self.assertGreater(self.path.stat().st_size, 1 << 20)
            Rows(*model, *at(2), *sync, "--epochs", "2", "--resume", str(self.path))

    def test_says_that_nothing_is_left(self) -> None:
        Rows(*MLP, *at(2), "--epochs", "1", "--save", str(self.path))
        for option, count, words in (("--epochs", "1", "all 1 epochs"), ("--steps", "7", "all 7 steps")):
            result = run(*MLP, *at(2), option, count, "--resume", str(self.path))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, f"{self.path} already has {words} that are asked for\n")
        self.assertEqual(run(*MLP, *at(2), "--epochs", "2", "--resume", str(self.path)).stderr, "")

    def test_says_what_options_are_other_ones(self) -> None:
        Rows(*MLP, "--batch", "4", "--ranks", "2", "--steps", "2", "--save", str(self.path))
        same = ["--learning-rate", "0.10", "--clip", "0", "--sync", "dsop"]
        others = ["--learning-rate", "0.05", "--momentum", "0.5", "--weight-decay", "1e-3", "--sync", "topk:0.1",
                  "--wire", "bf16"]
        words = (f"{self.path}: goes on with --learning-rate 0.05 instead of 0.1, --momentum 0.5 instead of 0.9, "
                 "--no-overlap given instead of not given, --sync [topk:0.1] instead of [dsop], "
                 "--weight-decay 1e-3 instead of 0, --wire bf16 instead of full\n")
        for processes in (0, 2) if MPIRUN else (0,):
            ranks = [] if processes else ["--ranks", "2"]
            for options, expected in ((same, ""), ([*others, "--no-overlap"], words)):
                result = run(*MLP[:4], "--batch", "4", *ranks, "--steps", "3", "--resume", str(self.path), *options,
                             processes=processes)
                self.assertEqual((result.returncode, result.stderr), (0, expected))

    def test_what_can_not_be_resumed(self) -> None:
        Rows(*MLP, *at(2), "--steps", "3", "--save", str(self.path))
        whole = self.path.read_bytes()

        def resume(data: bytes, *options: str) -> subprocess.CompletedProcess:
            self.path.write_bytes(data)
            result = run(*changed([*MLP, *at(2)], *options), "--resume", str(self.path), "--save", str(self.path))
            self.assertEqual(self.path.read_bytes(), data, "the file was overwritten")
            return result

        for length in (1, 10, 30, 60, len(whole) // 2, len(whole) - 1):
            self.assert_refused(resume(whole[:length]), str(self.path), "cut off")
        self.assert_refused(resume(b""), str(self.path), "no checkpoint")
        self.assert_refused(resume(b"seven, two, one, and so on, for a while"), str(self.path), "no checkpoint")
        damaged = bytearray(whole)
        damaged[-20] ^= 1
        self.assert_refused(resume(bytes(damaged)), str(self.path), "damaged")
        older = bytearray(whole)
        for version in (1, 2, 3, 4):
            older[len("dsop-train checkpoint\n")] = version
            self.assert_refused(resume(bytes(older)), str(self.path), f"version {version}, expected 5")
        for options, words in {
            ("--hidden", "12"): ["50-12-9-10", "50-12-10"],
            ("--activation", "tanh"): ["relu", "tanh"],
            ("--seed", "2"): ["seed 1", "seed 2"],
            ("--optimizer", "adam"): ["optimizer sgd", "optimizer adam"],
            ("--batch", "2"): ["batch 4", "batch 2"],
            ("--ranks", "1"): ["2 ranks", "1 ranks"],
            ("--schedule", "allreduce"): ["synchronizer", "schedule allreduce"],
        }.items():
            self.assert_refused(resume(whole, *options), str(self.path), *words)
        self.path.write_bytes(whole)
        self.assert_refused(run(*MLP, *at(2), "--residual-holds-step", "--resume", str(self.path)), str(self.path),
                            '"strategy synchronizer", expected "strategy synchronizer with --residual-holds-step"')
        other = FOLDER / "other"
        other.write_bytes(whole)
        for resume_options in ([], ["--resume", str(other)]):
            self.assert_refused(run(*MLP, *at(2), *resume_options, "--save", str(self.path)), str(self.path), "there already")
        self.assertEqual(self.path.read_bytes(), whole)
        self.assert_refused(run(*MLP, "--resume", "absent"), "absent", "can't be opened")
        unsaved = run(*MLP, *at(2), "--steps", "3", "--save", "nowhere/checkpoint")
        self.assert_refused(unsaved, "nowhere/checkpoint", "can't be written")
        self.assertEqual(unsaved.stdout, "", "it trained first")

    def test_rows_go_to_no_file_that_is_another(self) -> None:
        Rows(*MLP, *at(2), "--steps", "1", "--save", str(self.path))
        folder = {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
        digits = "digits/" + min(path.name for path in (FOLDER / "digits").iterdir())
        for model, option, path in ((MLP, "--resume", str(self.path)), (MLP, "--save", "new"), (MLP, "--machine", "text.txt"),
                                    (ATIS, "--test", "test.iob"), (CHARACTERS, "DATA", "text.txt"), (MLP, "DATA", digits)):
            arguments = changed(model, option, path) if option.startswith("--") else model
            self.assert_refused(run(*arguments, *at(2), "--out", f"{FOLDER}/./{Path(path).relative_to(FOLDER) if Path(path).is_absolute() else path}"),
                                f"is the same file as {option} {path}, expected another")
        self.assertEqual({path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}, folder)

    def test_loss_that_is_no_number(self) -> None:
        for way in ([], ["--sync", "ok-topk:0.1"], ["--schedule", "overlap"]):
            self.path.unlink(missing_ok=True)
            Rows(*GROWING, *at(2), *way, "--steps", "3", "--save", str(self.path))
            before = self.path.read_bytes()
            for processes in (0, 2) if MPIRUN else (0,):
                ranks = ["--batch", "4"] if processes else at(2)
                result = run(*GROWING, *ranks, *way, "--resume", str(self.path), "--save", str(self.path),
                             processes=processes)
                self.assert_refused(result, "The last checkpoint stays as it was")
                self.assertRegex(result.stderr, r"step 8: the loss is -?(nan|inf), .* not finite is layer\d")
                self.assertEqual(self.path.read_bytes(), before)

    def test_loss_that_is_no_number_before_anything_is_saved(self) -> None:
        self.assert_refused(run(*GROWING, *at(2), "--save", str(self.path)), "step 8: the loss is ", "Nothing was saved")
        self.assertFalse(self.path.exists())

    def test_what_is_no_number_after_the_last_step(self) -> None:
        self.assert_refused(run(*GROWING, *at(2), "--steps", "7"), "step 7: weights of layer1 are not finite",
                            "Nothing was saved")
        # Weights that are finite yet, but not what they make of the pictures that are held out.
        large = changed(MLP, "--weight-decay", "1e9", "--learning-rate", "1e9")
        self.assert_refused(run(*large, *at(2), "--steps", "1"), "step 1: held_out_loss is ", "Nothing was saved")


if __name__ == "__main__":
    main()
