"""Cases of torch_program.py: random steps, in which each rank does something of its own, beside plain torch.

All ranks draw the same numbers, so each knows what the others do. With DSOP_TEST_ALL set there are more of them.
"""

from __future__ import annotations

import contextlib
import copy
import os
import random
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

import dsop
import dsop.torch
from torch_support import COMM, RANKS, case, same_everywhere

SEEDS, STEPS = (8, 20) if "DSOP_TEST_ALL" in os.environ else (2, 8)


class Net(nn.Module):
    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.rows = nn.Embedding(7, 5, sparse=draw.random() < 0.3)
        self.first = dsop.torch.LSTM(5, 4, num_layers=draw.choice((1, 2)), bidirectional=True)
        self.second, self.third, self.head = dsop.torch.LSTM(8, 3), dsop.torch.GRU(3, 3), nn.Linear(3, 2)

    def forward(self, indices: Tensor) -> Tensor:
        return self.head(self.third(self.second(self.first(self.rows(indices))[0])[0])[0])  # type: ignore[no-any-return]


class Pass(NamedTuple):
    """What one rank does in one backward pass."""

    seed: int
    shape: tuple[int, int]  # of what is looked up; no steps: it makes no loss
    penalty: str  # on one parameter alone; empty: none


def loss_of(model: Any, one: Pass) -> Any:
    """None where nothing needs a gradient."""
    parameters = dict(model.named_parameters())
    losses = [parameters[one.penalty].pow(2).sum()] if one.penalty else []
    if one.shape[0]:
        indices = torch.randint(0, 7, one.shape, generator=torch.Generator().manual_seed(one.seed))
        losses.append(model(indices).pow(2).sum())
    losses = [loss for loss in losses if loss.requires_grad]
    return sum(losses) if losses else None


def draw_pass(draw: random.Random, names: list[str]) -> Pass:
    steps = draw.choice((0, 1, 2, 2, 3, 8))
    return Pass(draw.randrange(10**6), (steps, draw.choice((1, 2, 3))), draw.choice(names) if draw.random() < 0.15 else "")


def freeze(model: Any, frozen: set[str]) -> None:
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)


def added(model: Any, sums: dict[str, Any]) -> None:
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            grad = parameter.grad.to_dense()
            sums[name] = grad if sums.get(name) is None else sums[name] + grad
            parameter.grad = None


def run_passes(model: Any, attachment: dsop.torch.Attachment, passes: list[Pass], fails: bool) -> None:
    for number, one in enumerate(passes):
        is_last = number == len(passes) - 1
        loss = loss_of(model, one)
        if is_last and fails:
            return attachment.fail("by a draw")
        with contextlib.nullcontext() if is_last else attachment.no_sync():
            loss.backward() if loss is not None else attachment.idle()


def check_step(draw: random.Random, model: Any, plain: Any, attachment: dsop.torch.Attachment,
               frozen: list[set[str]]) -> None:
    names = [name for name, _ in plain.named_parameters()]
    count = draw.choice((1, 1, 1, 2, 4))
    passes = [[draw_pass(draw, names) for _ in range(count)] for _ in RANKS]
    failing = draw.choice(RANKS) if draw.random() < 0.1 else None
    sums: dict[str, Any] = {name: None if p.grad is None else p.grad.to_dense() for name, p in model.named_parameters()}
    for rank in RANKS:
        freeze(plain, frozen[rank])
        for one in passes[rank]:
            loss = loss_of(plain, one)
            if loss is not None:
                loss.backward()
        added(plain, sums)
    freeze(model, frozen[COMM.rank])
    try:
        run_passes(model, attachment, passes[COMM.rank], failing == COMM.rank)
    except dsop.ArgumentError as error:
        assert failing is not None and "by a draw" in str(error), error
    grads = [None if p.grad is None else p.grad.to_dense() for p in model.parameters()]
    for name, grad in zip(names, grads):
        theirs = None if failing is not None else sums[name]
        assert (grad is None) == (theirs is None), name
        assert grad is None or (grad - theirs).abs().max() <= 1e-12 * (1 + theirs.abs().max()), name
    same_everywhere(grads)


@case
def random_steps() -> None:
    for seed in range(SEEDS):
        draw = random.Random(seed)
        torch.manual_seed(seed)
        plain = Net(draw).double()
        model: Any = copy.deepcopy(plain)
        names = [name for name, _ in plain.named_parameters()]
        policies = draw.choice(({}, {"*weight_?h*": "dsop"}))
        attachment = dsop.torch.attach(model, average="sum", policies=policies)
        frozen: list[set[str]] = [set() for _ in RANKS]
        for number in range(STEPS):
            if draw.random() < 0.3:
                frozen[draw.choice(RANKS)] ^= {draw.choice(names)}
            if draw.random() < 0.2:
                frozen = [set(frozen[0]) for _ in RANKS]
            zeroes = draw.choice(("none", "zeros", "kept"))
            if zeroes != "kept":
                model.zero_grad(set_to_none=zeroes == "none")
            if draw.random() < 0.1:
                state = attachment.state_dict()
                attachment.detach()
                attachment = dsop.torch.attach(model, average="sum", policies=policies)
                attachment.load_state_dict(state)
            try:
                check_step(draw, model, plain, attachment, frozen)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, step {number}") from error
        attachment.detach()
