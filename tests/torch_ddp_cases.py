"""Cases of torch_program.py: an attached model beside a DistributedDataParallel over Gloo of its copy."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import distributed, nn
from torch.nn import functional

import dsop
import dsop.torch
from torch_support import COMM, case, mlp, same_everywhere, whole, whole_weights


@case
def same_bits_as_ddp() -> None:
    """Under a hook that only adds: without one it divides before it adds."""
    def add(_: object, bucket: Any) -> Any:
        work = distributed.all_reduce(bucket.buffer(), async_op=True)  # type: ignore[no-untyped-call]
        return work.get_future().then(lambda sums: sums.value()[0])
    add.__annotations__ = {}  # which torch reads, and takes no texts
    tied: Any = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 9, bias=False))
    tied[2].weight = tied[0].weight
    convolutions = nn.Sequential(nn.Unflatten(1, (1, 5)), nn.Conv1d(1, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2))
    for model, of_words in ((mlp(), False), (whole_weights(tied), True), (whole_weights(convolutions), False)):
        rival: Any = nn.parallel.DistributedDataParallel(copy.deepcopy(model))
        rival.register_comm_hook(None, add)
        dsop.torch.attach(model, average="sum")
        for step in range(3):
            data = whole(COMM.rank, 4, 5, seed=step)
            for either in (model, rival):
                either.zero_grad(set_to_none=True)
                either(data.long() + 2 if of_words else data).pow(2).sum().backward()
            for ours, theirs in zip(model.parameters(), rival.parameters()):
                assert torch.equal(ours.grad, theirs.grad)


@case
def buffers_of_ddp() -> None:
    """Rank 0's, of which the next forward pass goes out."""
    torch.manual_seed(1)
    model: Any = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)).double()
    rival: Any = nn.parallel.DistributedDataParallel(copy.deepcopy(model))
    dsop.torch.attach(model)
    for step in range(4):
        for either in (model, rival):
            either(whole(COMM.rank, 4, 5, seed=step, dtype=torch.float64)).pow(2).sum().backward()
        if COMM.rank == 0:  # DDP's others take its before their next forward pass
            for ours, theirs in zip(model.buffers(), rival.buffers()):
                assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)
        same_everywhere(list(model.buffers()))


@case
def twenty_steps_of_ddp() -> None:
    for kind in (torch.optim.SGD, torch.optim.Adam):
        torch.manual_seed(1)
        model: Any = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 3)).double()
        rival: Any = nn.parallel.DistributedDataParallel(copy.deepcopy(model))
        dsop.torch.attach(model)
        optimizers = {m: kind(m.parameters(), lr=0.05) for m in (model, rival)}
        for step in range(20):
            x = whole(COMM.rank, 4, 5, seed=step, dtype=torch.float64)
            for m, optimizer in optimizers.items():
                optimizer.zero_grad()
                functional.mse_loss(m(x), x[:, :3]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        for ours, theirs in zip(model.parameters(), rival.parameters()):
            assert torch.allclose(ours, theirs, rtol=0, atol=1e-9), (kind, (ours - theirs).abs().max())
        same_everywhere(list(model.parameters()))
