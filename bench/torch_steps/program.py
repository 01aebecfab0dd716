#!/usr/bin/python3
"""What each rank runs: training steps of a model. Rank 0 prints one JSON object: seconds of each step, what the kernel
counted on rank 0 meanwhile, largest peak memory, and how gradients travelled.

Usage: program.py MODEL WAY STEPS
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

import dsop
import dsop.torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from torch_steps.models import MODELS  # noqa: E402

COUNTS = ("utime", "stime", "minflt", "nvcsw", "nivcsw")  # of getrusage(), whose names are known
WARM_UP_STEPS = 2  # in which DistributedDataParallel makes its buckets anew, and attach() learns the order of gradients


class Plain:
    """One rank."""

    lstm: Any = nn.LSTM
    rank = 0

    def wrap(self, model: nn.Module) -> nn.Module:
        return model

    def largest(self, value: float) -> float:
        """Of all ranks' values. Waits for all."""
        return value

    def describe(self) -> str:
        return ""


class Attach(Plain):
    lstm = dsop.torch.LSTM

    def wrap(self, model: nn.Module) -> nn.Module:
        self.rank = dsop.communicator().rank
        self._attachment = dsop.torch.attach(model)
        return model

    def largest(self, value: float) -> float:
        values = np.zeros(dsop.communicator().size)
        values[self.rank] = value
        dsop.allreduce(values)
        return float(values.max())

    def describe(self) -> str:
        return self._attachment.describe()


class Nothing(Attach):
    """Sums nothing: every rank trains a model of its own."""

    lstm = nn.LSTM

    def wrap(self, model: nn.Module) -> nn.Module:
        self.rank = dsop.communicator().rank
        return model

    def describe(self) -> str:
        return ""


class Ddp(Plain):
    def wrap(self, model: nn.Module) -> nn.Module:
        os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
        self.rank, ranks = (int(os.environ[f"OMPI_COMM_WORLD_{name}"]) for name in ("RANK", "SIZE"))
        distributed.init_process_group("gloo", "tcp://h0:29500", rank=self.rank, world_size=ranks)
        parallel: Any = nn.parallel.DistributedDataParallel
        return parallel(model, gradient_as_bucket_view=True)  # type: ignore[no-any-return]

    def largest(self, value: float) -> float:
        values = torch.tensor([value])
        distributed.all_reduce(values, distributed.ReduceOp.MAX)  # type: ignore[no-untyped-call]
        return float(values.item())


class DdpFp16(Ddp):
    def wrap(self, model: nn.Module) -> nn.Module:
        made: Any = super().wrap(model)
        made.register_comm_hook(None, fp16_compress_hook)
        return made  # type: ignore[no-any-return]


WAYS = {"plain": Plain, "attach": Attach, "nothing": Nothing, "ddp": Ddp, "ddp-fp16": DdpFp16}


def counted() -> list[float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return [getattr(usage, f"ru_{name}") for name in COUNTS]


def main(name: str, way_name: str, steps: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    way = WAYS[way_name]()
    problem = MODELS[name](way.lstm)
    model = way.wrap(problem.model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    random = torch.Generator().manual_seed(100 + way.rank)
    seconds, usage = [], []
    for _ in range(WARM_UP_STEPS + steps):
        inputs, targets = problem.draw(random)
        way.largest(0)
        before, begin = counted(), time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = problem.loss(model(inputs), targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        end, after = time.perf_counter(), counted()
        seconds.append(way.largest(end - begin))
        usage.append([later - earlier for earlier, later in zip(before, after)])
    peak = way.largest(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if way.rank == 0:
        by_step = dict(zip(COUNTS, zip(*usage[WARM_UP_STEPS:])))
        print(json.dumps({"seconds": seconds[WARM_UP_STEPS:], **by_step, "peak_mib": peak, "loss": loss.item(),
                          "how": way.describe()}), flush=True)
    if isinstance(way, Ddp):
        way.largest(0)
        os._exit(0)  # torch 1.13's Gloo now and then hangs while it ends


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
