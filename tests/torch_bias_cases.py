"""Cases of torch_program.py: biases of nn.Linear, which cost no byte where their weight's errors travel."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import dsop.torch
from torch_support import (COMM, case, check, has_gradients, mlp, plain_sum, raises_everywhere, step, whole,
                           whole_weights)

LAST = COMM.size - 1


@case
def biases_cost_no_byte() -> None:
    counting = COMM.counting()
    model = whole_weights(nn.Linear(30, 40))
    attachment = check(model, lambda model, rank: model(whole(rank, 3, 30)).sum(), counting)
    if COMM.size > 1:
        text = attachment.describe()
        assert "bias 40: nothing, but for the errors of weight" in text, text
        assert [line.split()[-3] for line in text.splitlines() if "column sums of weight" in line] == ["0"], text


@case
def biases_that_are_more_than_sums_of_errors() -> None:
    """Of a weight's errors, and of something else, with another scale, or on one rank alone."""
    def loss(model: Any, rank: int) -> Any:
        return model(whole(rank, 2, 5)).pow(2).sum()
    for more in (lambda model, rank: loss(model, rank) + model[0].bias.sum(),
                 lambda model, rank: loss(model, rank) + (model[0].bias.sum() if rank == LAST else 0),
                 lambda model, rank: model[0].bias.sum() if rank == LAST else loss(model, rank)):
        check(mlp(), more)
    doubled = mlp()
    expected = plain_sum(doubled, loss)
    expected[1] = 2 * expected[1]
    attachment = dsop.torch.attach(doubled, average="sum")
    hook = doubled[0].bias.register_hook(lambda grad: 2 * grad)
    for _ in range(3):
        step(doubled, attachment, loss, expected)
    hook.remove()
    made = loss(doubled, COMM.rank)
    hook = doubled[0].bias.register_hook(lambda grad: 2 * grad)  # once it is made
    doubled.zero_grad()
    made.backward()
    has_gradients(doubled, expected)
    hook.remove()
    step(doubled, attachment, loss, plain_sum(mlp(), loss))
    of_bias, = torch.autograd.grad(loss(doubled, COMM.rank), [doubled[0].bias])
    plain = mlp()
    loss(plain, COMM.rank).backward()
    assert torch.equal(of_bias, plain[0].bias.grad)
    for alone in ([0], [1], [0, 1]):
        some = mlp()
        sums = plain_sum(some, loss)
        attachment = dsop.torch.attach(some, average="sum")
        for _ in range(2):
            some.zero_grad()
            wanted = [list(some[0].parameters())[i] for i in alone]
            loss(some, COMM.rank).backward(inputs=wanted)
            assert all(torch.equal(p.grad, sums[i]) for i, p in zip(alone, wanted))
            assert some[2].weight.grad is None


@case
def sums_that_overflow() -> None:
    model: Any = nn.Linear(5, 3)
    dsop.torch.attach(model, find_nans=True)
    x = whole(COMM.rank, 2, 5)
    raises_everywhere("NaN or infinity", lambda: (model(x) * 3e38).sum().backward())


@case
def more_pairs_without_a_bias_than_with_it() -> None:
    """A step that has both of fewer pairs does not make a later one register its weight again."""
    model: Any = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 400)).float()
    attachment = dsop.torch.attach(model)
    for rows, has_head, is_frozen in ((64, True, True), (64, True, True), (1, False, True), (5, True, False), (64, True, True)):
        model[1].bias.requires_grad_(not is_frozen)
        made = model[0](whole(COMM.rank, rows, 4))
        (model[1](made) if has_head else made).sum().backward()
    assert COMM.size == 1 or "1.weight 400x4" in attachment.describe()
