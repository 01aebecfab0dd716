#!/usr/bin/python3
"""What each rank runs: training steps of a model. Rank 0 prints one JSON object: seconds of each step, what the kernel
counted on rank 0 meanwhile, largest peak memory, and how gradients travelled.

Usage: program.py MODEL WAY STEPS
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

import dsop
import dsop.torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from torch_steps.models import MODELS  # noqa: E402

COUNTS = ("utime", "stime", "minflt", "nvcsw", "nivcsw")  # of getrusage(), whose names are known
WARM_UP_STEPS = 2  # in which DistributedDataParallel makes its buckets anew, and attach() learns the order of gradients


def first_host() -> tuple[str, str]:
    """Rank 0's, and the interface that leads there."""
    try:
        socket.gethostbyname("h0")  # an emulated one
    except OSError:
        return "127.0.0.1", "lo"
    return "h0", "eth0"


def place_of_mpirun() -> tuple[int, int]:
    """This process's rank, and how many there are."""
    return int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])


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
    policies: dict[str, str] | None = None

    def meet(self) -> dsop.Communicator:
        return dsop.communicator()

    def wrap(self, model: nn.Module) -> nn.Module:
        self._everybody = self.meet()
        self.rank = self._everybody.rank
        self._attachment = dsop.torch.attach(model, self._everybody, policies=self.policies)
        return model

    def largest(self, value: float) -> float:
        values = np.zeros(self._everybody.size)
        values[self.rank] = value
        dsop.allreduce(values, comm=self._everybody)
        return float(values.max())

    def describe(self) -> str:
        return self._attachment.describe()


class AttachTcp(Attach):
    """Without MPI, though mpirun has started the ranks."""

    def meet(self) -> dsop.Communicator:
        rank, ranks = place_of_mpirun()
        return dsop.connect(distributed.TCPStore(first_host()[0], 29500, ranks, rank == 0), rank, ranks)


class AttachDense(Attach):
    policies = {"*": "dense"}


class Nothing(Attach):
    """Sums nothing: every rank trains a model of its own."""

    lstm = nn.LSTM

    def wrap(self, model: nn.Module) -> nn.Module:
        self._everybody = self.meet()
        self.rank = self._everybody.rank
        return model

    def describe(self) -> str:
        return ""


class Ddp(Plain):
    options: dict[str, Any] = {}

    def meet(self) -> None:
        host, os.environ["GLOO_SOCKET_IFNAME"] = first_host()
        self.rank, ranks = place_of_mpirun()
        distributed.init_process_group("gloo", f"tcp://{host}:29500", rank=self.rank, world_size=ranks)

    def wrap(self, model: nn.Module) -> nn.Module:
        self.meet()
        parallel: Any = nn.parallel.DistributedDataParallel
        return parallel(model, gradient_as_bucket_view=True, **self.options)  # type: ignore[no-any-return]

    def largest(self, value: float) -> float:
        values = torch.tensor([value])
        distributed.all_reduce(values, distributed.ReduceOp.MAX)  # type: ignore[no-untyped-call]
        return float(values.item())


class DdpFp16(Ddp):
    def wrap(self, model: nn.Module) -> nn.Module:
        made: Any = super().wrap(model)
        made.register_comm_hook(None, fp16_compress_hook)
        return made  # type: ignore[no-any-return]


class DdpPowerSgd(Ddp):
    """In one bucket: of several each rank would sum another first, and Gloo ends the program."""

    rank_of_matrices = 1
    options = {"bucket_cap_mb": 4000}

    def wrap(self, model: nn.Module) -> nn.Module:
        made: Any = super().wrap(model)
        state = powerSGD_hook.PowerSGDState(None, self.rank_of_matrices, start_powerSGD_iter=2)
        made.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        return made  # type: ignore[no-any-return]


class DdpPowerSgd4(DdpPowerSgd):
    rank_of_matrices = 4


class Kept(torch.autograd.Function):
    """A Linear's product, whose backward hands (errors, inputs) to `keep`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, layer: nn.Linear, weight: Tensor, keep: Any) -> Tensor:  # type: ignore[override]
        ctx.keep = keep
        ctx.save_for_backward(x, weight)
        return nn.functional.linear(x, weight, layer.bias)

    @staticmethod
    def backward(ctx: Any, errors: Tensor) -> Any:  # type: ignore[override]
        x, weight = ctx.saved_tensors
        ctx.keep(errors, x)
        return errors @ weight, None, None, None


class Allgather(Ddp):
    """Without dsop, of layers that are all alike: one allgather of their factors, and one product of all."""

    def wrap(self, model: nn.Module) -> nn.Module:
        self.meet()
        self._layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
        self._kept: list[Tensor] = []
        for layer in self._layers:
            layer.forward = lambda x, layer=layer: Kept.apply(x, layer, layer.weight, self._keep)  # type: ignore[method-assign]
        return model

    def _keep(self, errors: Tensor, x: Tensor) -> None:
        self._kept.append(torch.cat((errors, x), 1))
        if len(self._kept) < len(self._layers):
            return
        own = torch.stack(self._kept)
        ranks = distributed.get_world_size()
        of_all = torch.empty(ranks, *own.shape)
        distributed.all_gather(list(of_all), own)
        a, b = of_all.transpose(0, 1).flatten(1, 2).split([errors.shape[1], x.shape[1]], 2)
        for layer, weight, bias in zip(reversed(self._layers), torch.bmm(a.transpose(1, 2), b) / ranks, a.sum(1) / ranks):
            layer.weight.grad, layer.bias.grad = weight, bias
        self._kept = []


WAYS = {"plain": Plain, "attach": Attach, "attach-tcp": AttachTcp, "attach-dense": AttachDense, "nothing": Nothing, "ddp": Ddp,
        "allgather": Allgather, "ddp-fp16": DdpFp16, "ddp-powersgd-1": DdpPowerSgd, "ddp-powersgd-4": DdpPowerSgd4}


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
                          "torch": str(torch.__version__), "how": way.describe()}), flush=True)
    if isinstance(way, Ddp):
        way.largest(0)
        os._exit(0)  # torch 1.13's Gloo now and then hangs while it ends


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
