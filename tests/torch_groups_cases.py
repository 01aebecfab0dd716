"""Cases of torch_program.py: process groups of torch.distributed as comm."""

from __future__ import annotations

import numpy as np
import torch
from torch import distributed, nn

import dsop
import dsop.torch
from torch_support import COMM, RANKS, case, mlp, on_rows, plain_sum, raises_everywhere, step, whole


@case
def group_of_everybody() -> None:
    group = distributed.group.WORLD
    model = mlp()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    attachment = dsop.torch.attach(model, group, "sum")
    for _ in range(3):
        step(model, attachment, on_rows(lambda rank: 2), expected)
    ranks = dsop.communicator(group)
    assert ranks is dsop.communicator(group) and ranks is not COMM and (ranks.rank, ranks.size) == (COMM.rank, COMM.size)


@case
def groups_of_some() -> None:
    """Each rank is in one of two, in an order of its own; and the same again, as later in the program."""
    evens, odds = (list(range(first, COMM.size, 2)) for first in (0, 1))
    for _ in range(2):
        groups = [distributed.new_group(ranks) for ranks in (evens, odds) if ranks]  # type: ignore[no-untyped-call]
        mine = evens if COMM.rank % 2 == 0 else odds
        group = groups[COMM.rank % 2]
        ones = np.array([float(COMM.rank)])
        dsop.allreduce(ones, group)
        assert ones[0] == sum(mine)
        model = nn.Linear(5, 3)
        dsop.torch.attach(model, group)
        model(torch.full((2, 5), float(COMM.rank))).sum().backward()
        assert torch.equal(model.weight.grad, torch.full((3, 5), 2.0) * (sum(mine) / len(mine)))
        for each in groups:
            if each is not group:
                words = "expected None, a Communicator, or an mpi4py communicator or a process group of torch's"
                raises_everywhere(words, lambda each=each: dsop.communicator(each))  # type: ignore[misc]


@case
def hook_over_a_group() -> None:
    model = nn.parallel.DistributedDataParallel(mlp())
    hook = dsop.torch.TopKHook("topk:1", distributed.group.WORLD)
    model.register_comm_hook(hook, dsop.torch.topk_hook)
    model(whole(COMM.rank, 2, 5)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())



@case
def group_that_has_ended() -> None:
    groups = [distributed.new_group([rank]) for rank in RANKS]  # type: ignore[no-untyped-call]
    distributed.destroy_process_group(groups[COMM.rank])
    raises_everywhere("comm is a ProcessGroup without a store", lambda: dsop.communicator(groups[COMM.rank]))
