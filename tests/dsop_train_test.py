#!/usr/bin/env python3
"""dsop-train's perceptron and LSTMs as a person uses them: the same losses however it is done, bad input."""

import subprocess
import unittest
from pathlib import Path

from dsop_train import (ATIS, CHARACTERS, FOLDER, GLOBAL_BATCH, MLP, MODELS, MPIRUN, TRAIN, Refusing, Rows, at, changed, main,
                        run)
from programs import each_rank, shown_on_terminal


def policies_in(plan: str) -> dict[str, str]:
    """Of each parameter, from a table with rows such as "# layer2  13 x 9  dsop  allgather  352"."""
    rows = [line.strip("# ").split() for line in plan.splitlines()]
    return {row[0]: row[4] for row in rows if row[:1] and row[0].startswith("layer")}


class Losses(unittest.TestCase):
    def assert_near(self, found: Rows, expected: Rows, what: str) -> None:
        self.assertEqual(len(found.losses()), len(expected.losses()), what)
        for step, (a, b) in enumerate(zip(found.losses(), expected.losses()), 1):
            self.assertLess(abs(a - b), 1e-4 * max(abs(b), 0.1), f"{what}, step {step}: {a} and {b}")
        for name, value in expected.last().items():
            if name.startswith(("held_out", "accuracy", "slot", "intent")):
                self.assertLess(abs(found.last()[name] - value), 0.02, f"{what}: {name}")

    def test_dense_steps_drop_nothing(self) -> None:
        common = [*MLP, *at(2), "--steps", "8"]
        dense = Rows(*common, "--sync", "dense")
        both = Rows(*common, "--sync", "topk:0.1", "--dense-steps", "5")
        self.assertEqual(both.losses()[:6], dense.losses()[:6])  # a loss is of the weights before its step
        self.assertNotEqual(both.losses()[6:], dense.losses()[6:])
        self.assertEqual(["target" in row for row in both.of_kind("step")], 5 * [False] + 3 * [True])

    def test_same_for_any_ranks_and_way_to_sum(self) -> None:
        for name, model in MODELS.items():
            expected = Rows(*model, *at(1), "--steps", "20")
            self.assertEqual(len(expected.losses()), 20)
            self.assertLess(sum(expected.losses()[-5:]), 0.97 * sum(expected.losses()[:5]), name)
            ways = {f"dsop, ranks {ranks}": at(ranks) for ranks in (2, 4, 8)}
            for way in (["--sync", "dense"], ["--sync", "dense:ring", "--no-overlap"], ["--sync", "sparse"],
                        ["--sync", "dsop:generalized-rabenseifner"], ["--schedule", "overlap"],
                        ["--schedule", "reduce-broadcast", "--collective", "minimum-spanning-tree"],
                        ["--schedule", "allreduce", "--collective", "linear-pipeline"]):
                ways[" ".join(way)] = [*at(4), *way]
            for what, options in ways.items():
                self.assert_near(Rows(*model, *options, "--steps", "20"), expected, f"{name}, {what}")
            if MPIRUN:
                found = Rows(*model, "--batch", str(GLOBAL_BATCH // 2), "--steps", "20", processes=2)
                self.assertEqual(found.rows[0]["transport"], "mpi")
                self.assert_near(found, expected, f"{name}, mpirun")

    def test_nothing_dropped_by_a_policy_that_could(self) -> None:
        expected = Rows(*MLP, *at(1), "--steps", "20")
        for option in ([], ["--residual-holds-step"]):  # the same while the learning rate does not change
            self.assert_near(Rows(*MLP, *at(2), "--steps", "20", "--sync", "topk:1", *option), expected, str(option))

    def test_sgd_adds_sums_to_momentum_or_weights(self) -> None:
        for name, model in MODELS.items():
            for sgd in (["--momentum", "0"], ["--momentum", "0", "--weight-decay", "0.01"], ["--momentum", "0.9"],
                        ["--momentum", "0.9", "--weight-decay", "0.01"]):
                common = [*model, "--optimizer", "sgd", *sgd, "--steps", "20"]
                gradients = Rows(*common, *at(2), "--clip", "1e9")  # what may be clipped stands by itself
                for sync in ("dsop", "dense", "sparse", "topk:1"):
                    self.assert_near(Rows(*common, *at(2), "--clip", "0", "--sync", sync), gradients, f"{name} {sgd} {sync}")

    def test_values_travel_in_16_bits(self) -> None:
        for sync in ("dsop:allreduce-ring", "dense", "topk:1", "ok-topk:0.5"):
            full, rounded = (Rows(*MLP, *at(4), "--steps", "20", "--sync", sync, "--wire", wire) for wire in ("full", "bf16"))
            self.assertNotEqual(rounded.losses(), full.losses(), sync)
            for step, (a, b) in enumerate(zip(rounded.losses(), full.losses()), 1):
                self.assertLess(abs(a - b), 0.05 * b, f"{sync}, step {step}")
        self.assertIn("values travel as bf16\n", run(*MLP, *at(2), "--steps", "1", "--wire", "bf16").stdout)

    def test_one_parameter_under_another_policy(self) -> None:
        plan = run(*MLP, *at(2), "--steps", "1", "--sync", "dense", "--sync", "layer2=dsop").stdout
        self.assertEqual(policies_in(plan), {"layer1": "dense", "layer2": "dsop", "layer3": "dense"}, plan)

    def test_steps_tell_what_ran_and_how_often_thresholds_were_evaluated(self) -> None:
        mixed = ["--sync", "ok-topk-published(4,8):0.1", "--sync", "layer2=topk:0.1", "--sync", "layer3=dense"]
        for sync, every_fourth, algorithms in (
                (["--sync", "ok-topk-published(4,8):0.1"], 3, ["ok-topk-published(4,8)"]),
                (["--sync", "ok-topk-adapting(4,8):0.1"], 3, ["ok-topk-adapting(4,8)"]),
                (mixed, 1, ["ok-topk-published(4,8)", "topk, summed by allgather"])):
            steps = Rows(*MLP, *at(2), "--steps", "9", "--sparsify-from", "0", *sync).of_kind("step")
            evaluated = [every_fourth if step % 4 == 0 else 0 for step in range(9)]
            self.assertEqual([step["local_evaluations"] for step in steps], evaluated, sync)
            self.assertEqual([step["global_evaluations"] for step in steps], evaluated, sync)
            self.assertEqual([step["algorithms"] for step in steps], [algorithms] * 9, sync)
        replaced = Rows(*MLP, *at(2), "--steps", "9", "--sparsify-from", "0", "--sync", "ok-topk(4):0.1").of_kind("step")
        for step in (0, 4, 8):  # in others where a threshold would choose too many or too few
            self.assertEqual((replaced[step]["local_evaluations"], replaced[step]["global_evaluations"]), (3, 3), step)
        self.assertNotIn("algorithms", Rows(*MLP, *at(2), "--steps", "1", "--sync", "dense").of_kind("step")[0])

    def test_small_parameters_are_not_sparsified(self) -> None:
        plan = run(*MLP, *at(2), "--steps", "1", "--sync", "topk:0.1", "--sparsify-from", "120").stdout
        self.assertEqual(policies_in(plan), {"layer1": "topk:0.1", "layer2": "dense", "layer3": "dense"}, plan)

    def test_they_learn(self) -> None:
        self.assertGreater(Rows(*MLP, *at(2), "--epochs", "8").last()["accuracy"], 0.95)
        self.assertLess(Rows(*CHARACTERS, *at(2), "--epochs", "4").last()["held_out_loss"], 0.5)
        atis = Rows(*ATIS, *at(2), "--epochs", "8").last()
        self.assertGreater(atis["slot_f1"], 0.95)
        self.assertGreater(atis["intent_accuracy"], 0.95)

    def test_terminal_shows_how_far_it_is(self) -> None:
        line = rb"\[[# ]{30}\] step \d+/100000, loss \d\.\d{4}, \d+ samples/s, \d+ % communication"
        self.assertRegex(shown_on_terminal(line, [TRAIN, *MLP, *at(2), "--steps", "100000"], FOLDER), line)

    def test_seconds_of_each_rank(self) -> None:
        for row in Rows(*MLP, *at(4), "--steps", "3").of_kind("step"):
            parts = [row[f"{part}_seconds"] for part in ("arithmetic", "selection", "communication")]
            self.assertEqual([len(of_ranks) for of_ranks in parts], [4, 4, 4])
            self.assertAlmostEqual(max(map(sum, zip(*parts))), row["seconds"])
            self.assertTrue(all(s > 0 for s in parts[0] + parts[2]), row)
            self.assertEqual(parts[1], [0.0] * 4)  # nothing is selected

    def test_selecting_is_told_from_communication(self) -> None:
        selecting = [*MLP, *at(4), "--steps", "3", "--sparsify-from", "0", "--sync", "topk:0.1"]
        for row in Rows(*selecting, "--no-overlap").of_kind("step"):
            self.assertTrue(all(s > 0 for s in row["selection_seconds"] + row["communication_seconds"]), row)
        for row in Rows(*selecting).of_kind("step"):  # backpropagation may hide it
            self.assertTrue(all(s >= 0 for s in row["selection_seconds"]), row)

    def test_what_gaussian_k_predicts_stands_beside_what_it_chooses(self) -> None:
        common = [*MLP, *at(2), "--steps", "6", "--sparsify-from", "0", "--sync"]
        for row in Rows(*common, "gaussian-k:0.5").of_kind("step"):  # of so many its threshold gives too few
            self.assertLess(row["predicted"], row["chosen"], row)
        for row in Rows(*common, "topk:0.02").of_kind("step"):
            self.assertEqual(row["predicted"], row["chosen"])


class Drawn(unittest.TestCase):
    def test_draws_digits_without_a_folder(self) -> None:
        result = run("mlp", "--ranks", "2", "--hidden", "8", "--steps", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("784-8-10 relu, 8000 samples", result.stdout)


class BadInput(Refusing):
    def test_bad_input(self) -> None:
        cases = {
            (*MLP, "--ranks", "3", "--batch", "100"): ["--batch is 100", "3 ranks", "300", "240"],
            ("mlp", "few", "--ranks", "8", "--batch", "4"): ["32 samples", "16 to train on"],
            (*MLP, "--sync", "layer9=dsop"): ["layer9", "layer1 layer2 layer3"],
            (*MLP, "--sync", "dsoup"): ["dsoup", "expected dsop"],
            (*MLP, "--sync", "dense:ringing"): ["ringing"],
            (*MLP, "--sync", "dense:mpi", "--wire", "bf16"): ["algorithm mpi", "in full only, and wire is bf16"],
            (*MLP, "--schedule", "overlap", "--collective", "square"): ["square"],
            (*MLP, "--test", "absent"): ["absent", "no such folder"],
            ("mlp", "absent"): ["absent", "no such folder"],
            ("lstm", "digits/train-images-idx3-ubyte", "--task", "characters"): ["train-images-idx3-ubyte"],
            ("lstm", "text.txt", "--task", "atis", "--test", "test.iob"): ["text.txt"],
            tuple(changed(CHARACTERS, "--window", "3000")): ["characters, too few", "3000"],
            (*MLP, "--out", "nowhere/rows.jsonl"): ["nowhere/rows.jsonl"],
            (*MLP, "--machine", "absent.json"): ["absent.json"],
            (*MLP, "--residual-holds-step", "--optimizer", "adam"): ["--residual-holds-step", "sgd"],
        }
        for arguments, words in cases.items():
            self.assert_refused(run(*arguments), *words)
        for arguments, words in {
            (*MLP, "--sync", "dsop", "--schedule", "overlap"): ["excludes", "--schedule", "--sync"],
            (*MLP, "--no-overlap", "--schedule", "overlap"): ["excludes", "--schedule", "--no-overlap"],
            (*MLP, "--bucket-bytes", "0", "--schedule", "overlap"): ["excludes", "--schedule", "--bucket-bytes"],
            (*MLP, "--wire", "bf16", "--schedule", "overlap"): ["excludes", "--schedule", "--wire"],
            (*MLP, "--wire", "f16"): ["--wire", "f16", "bf16"],
            (*MLP, "--collective", "ring"): ["--collective requires --schedule"],
            (*MLP, "--hidden", "0"): ["--hidden"],
            (*MLP, "--batch", "0"): ["--batch"],
            (*MLP, "--steps", "3", "--epochs", "2"): ["excludes", "--epochs", "--steps"],
            ("lstm", "train.iob", "--task", "atis"): ["--test"],
            ("mlpp", "digits"): ["mlpp"],
            (): ["subcommand is required"],
        }.items():
            result = run(*arguments)
            self.assertGreater(result.returncode, 0, arguments)
            for word in words:
                self.assertIn(word, result.stderr)

    def test_models_that_do_not_fit_in_memory(self) -> None:
        wide = 2**20  # of 60 pictures that are held out each rank evaluates 30, more than it has in a step
        for optimizer, of_each_weight in (["adam"], 4), (["sgd", "--momentum", "0.5"], 3), (["sgd", "--momentum", "0"], 2):
            weights = 51 * wide + (wide + 1) * wide + (wide + 1) * 10
            of_step = 30 * (51 + wide + wide + 1 + wide + wide + 1 + 10)
            for processes in (0, 2) if MPIRUN else (0,):
                result = run(*changed(MLP, "--hidden", f"{wide},{wide}"), "--optimizer", *optimizer, "--batch", "4",
                             *([] if processes else ["--ranks", "2"]), processes=processes)
                self.assert_refused(result, "rank 0: out of memory: the ranks on ",
                                    f" need {2 * 4 * (of_each_weight * weights + of_step)} bytes and ", " are available")
                self.assertEqual(result.stdout, "")
        for name in ("characters", "atis"):
            result = run(*changed(MODELS[name], "--hidden", "65536", "--layers", "100"), *at(2))
            self.assert_refused(result, "rank 0: out of memory: the ranks on ", " bytes and ")

    @unittest.skipUnless(Path("/dev/full").exists(), "needs a device that is always full")
    def test_rows_that_can_not_be_written(self) -> None:
        for processes in (0, 2) if MPIRUN else (0,):
            ranks = ["--batch", "4"] if processes else at(2)
            result = run(*MLP, *ranks, "--steps", "3", "--out", "/dev/full", processes=processes)
            self.assert_refused(result, "--out /dev/full: can't be written: No space left on device")
            self.assertNotIn("MPI_ABORT", result.stderr)

    @unittest.skipUnless(Path("/dev/full").exists(), "needs a device that is always full")
    def test_a_table_that_can_not_be_written(self) -> None:
        with open("/dev/full", "w") as full:
            result = subprocess.run([TRAIN, *MLP, "--steps", "2"], cwd=FOLDER, stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: standard output can't be written", result.stderr)

    @unittest.skipUnless(MPIRUN, "built without MPI")
    def test_ranks_agree_on_what_is_wrong(self) -> None:
        for options, words in {
            ("--sync", "layer9=dsop"): "ranks 0-1: --sync layer9=dsop: no parameter is named layer9",
            ("--sync", "topk:0.1", "--xi-every", "2"): "ranks 0-1: --xi-every 2: no parameter is under ok-topk",
            ("--sync", "topk:7", "--dense-steps", "1000"): "ranks 0-1: parameter layer1: policy is topk:7, expected topk:DENSITY",
            ("--sync", "none", "--save", "unsaved"): "ranks 0-1: --save and --resume need weights that are equal",
        }.items():
            result = run(*MLP, *options, processes=2)
            self.assert_refused(result, words)
            self.assertNotIn("MPI_ABORT", result.stderr)

    @unittest.skipUnless(MPIRUN, "built without MPI")
    def test_ranks_with_other_options_than_rank_0(self) -> None:
        for second, words in (([*MLP, "--steps", "4"], "--steps is 4, expected as on rank 0, where --steps is 3"),
                              ([*changed(MLP, "--hidden", "12"), "--steps", "3"],
                               "--hidden is [12], expected as on rank 0, where --hidden is [12,9]"),
                              (["linear", "text.txt"], "the command is linear, expected as on rank 0, where the command is mlp")):
            command = each_rank(MPIRUN, [TRAIN, *MLP, "--steps", "3"], [TRAIN, *second], [TRAIN, *second])
            result = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
            self.assert_refused(result, f"error: ranks 1-2: {words}\n")
        given = [*MLP, "--steps", "3", "--sync", "dsop", "--batch", "32"]  # what is there by default
        command = each_rank(MPIRUN, [TRAIN, *MLP, "--steps", "3", "--out", "rows"], [TRAIN, *given])
        result = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    main()
