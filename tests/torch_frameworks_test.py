#!/usr/bin/python3
"""Frameworks that train with dsop.torch, each where it is installed: Accelerate, transformers' Trainer, Lightning.

Usage: torch_frameworks_test.py MPIRUN
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import runner
from torchrun import HAS_TORCHRUN, WITHOUT, torchrun

MPIRUN = sys.argv[1]
EXAMPLE = Path(__file__).parent.parent / "examples/accelerate_mlp.py"
TIMEOUT_SECONDS = 300

TRAINER = """
import sys, torch, transformers, dsop.torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 3)
    def forward(self, x, labels):
        return {"loss": torch.nn.functional.cross_entropy(self.layer(x), labels)}
class TopK(transformers.TrainerCallback):
    def on_train_begin(self, args, state, control, **kwargs):
        hook.register(trainer.model_wrapped)
x = torch.randn(64, 8)
data = [{"x": row, "labels": row[:3].argmax()} for row in x]
hook = dsop.torch.TopKHook("topk:1")
by_hook = sys.argv[1] == "hook"
options = transformers.TrainingArguments(sys.argv[2], use_cpu=True, report_to=[], save_strategy="no", max_steps=6,
                                         disable_tqdm=True)
trainer = transformers.Trainer(Net(), options, train_dataset=data, callbacks=[TopK()] if by_hook else [])
trainer.train()
assert not by_hook or "layer.weight" in hook.describe()
print("weights", sum(p.double().abs().sum().item() for p in trainer.model.parameters()))
"""

LIGHTNING = """
import sys, torch, pytorch_lightning, dsop.torch
torch.manual_seed(0)
class Net(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 3)
    def on_train_start(self):
        if sys.argv[1] == "hook":
            hook.register(self.trainer.strategy.model)
    def training_step(self, batch, _):
        return self.layer(batch).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.randn(64, 8), batch_size=8)
hook = dsop.torch.TopKHook("topk:1")
net = Net()
trainer = pytorch_lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=2, logger=False,
                                    enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(net, loader)
assert sys.argv[1] != "hook" or "layer.weight" in hook.describe()
print("weights", sum(p.double().abs().sum().item() for p in net.parameters()))
"""


def has(package: str) -> Any:
    """A decorator: without the package the test is skipped, and says so."""
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} is not installed")


@unittest.skipUnless(HAS_TORCHRUN, WITHOUT)
class FrameworksTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def said(self, command: Sequence[str | Path]) -> str:
        environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29617", "GLOO_SOCKET_IFNAME": "lo", **os.environ}
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def numbers(self, words: str, command: Sequence[str | Path]) -> list[float]:
        found = [float(number) for number in re.findall(words + r" ([\d.]+)", self.said(command))]
        self.assertGreaterEqual(len(found), 1)
        return found

    def program(self, text: str) -> Path:
        path = self.folder / "program.py"
        path.write_text(text)
        return path

    @has("accelerate")
    def test_accelerate(self) -> None:
        """The loss that Accelerate's own DistributedDataParallel comes to."""
        attaches = "attachment = dsop.torch.attach(model)\nmodel.no_sync = attachment.no_sync"
        text = EXAMPLE.read_text()
        self.assertIn(attaches, text)
        by_ddp = self.program(text.replace(attaches, "model = accelerator.prepare(model)\n#"))
        expected = self.numbers("loss", [*torchrun(2), by_ddp])
        for command in ([*torchrun(2), EXAMPLE], [MPIRUN, "-n", "2", sys.executable, EXAMPLE]):
            self.assertEqual(self.numbers("loss", command), expected)
        self.numbers("loss", [sys.executable, EXAMPLE])

    def check_hook(self, text: str, launcher: Sequence[str | Path]) -> None:
        program = self.program(text)
        by_hook, expected = (self.numbers("weights", [*launcher, program, form, self.folder]) for form in ("hook", "none"))
        for ours, theirs in zip(by_hook, expected):
            self.assertAlmostEqual(ours, theirs, places=4)

    @has("transformers")
    @has("accelerate")
    def test_trainer(self) -> None:
        self.check_hook(TRAINER, torchrun(2))

    @has("pytorch_lightning")
    def test_lightning(self) -> None:
        self.check_hook(LIGHTNING, torchrun(2))


if __name__ == "__main__":
    runner.main([sys.argv[0], *sys.argv[2:]])
