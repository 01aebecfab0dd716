"""Cases of torch_program.py: biases of nn.Linear, which cost no byte where their weight's errors travel."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import dsop.torch
from torch_support import COMM, case, check, mlp, plain_sum, step, whole, whole_weights

LAST = COMM.size - 1


@case
def biases_cost_no_byte() -> None:
    counting = COMM.counting()
    model = whole_weights(nn.Linear(30, 40))
    attachment = check(model, lambda model, rank: model(whole(rank, 3, 30)).sum(), counting)
    if COMM.size > 1 and torch.__version__ >= "2":
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
