"""Cases of torch_program.py: what a program does to graph, gradients and model beside calling backward()."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch
from torch import Tensor, nn

import dsop
import dsop.torch
from torch_support import (COMM, case, check, has_gradients, mlp, on_rows, plain_sum, raises_everywhere,
                           same_everywhere, step, whole, whole_weights)


def copied_steps(model: Any, losses: list[Any], **options: Any) -> dsop.torch.Attachment:
    """Steps of an attached model have the bits of its copy's."""
    plain = copy.deepcopy(model)
    attachment = dsop.torch.attach(model, average="sum", **options)
    for loss in losses:
        step(model, attachment, loss, plain_sum(plain, loss))
    return attachment


@case
def hooks_of_the_program() -> None:
    """On the gradients of weights that would travel as factors."""
    def mask(gradient: Tensor) -> Tensor:
        masked = gradient.clone()
        masked[1:] *= 2
        masked[0] = 0
        return masked
    for model, loss in ((mlp(), on_rows(lambda rank: 3)),
                        (whole_weights(nn.Embedding(6, 3)), lambda m, rank: m(torch.tensor([rank % 6, 2])).sum())):
        next(iter(model.parameters())).register_hook(mask)
        check(model, loss)
    recurrent = dsop.torch.LSTM(3, 4)
    dsop.torch.attach(recurrent)
    recurrent.weight_hh_l0.register_hook(torch.zeros_like)
    for _ in range(2):
        recurrent(whole(COMM.rank, 5, 2, 3))[0].sum().backward()
        assert not recurrent.weight_hh_l0.grad.any() and recurrent.weight_ih_l0.grad.any()


@case
def gradients_within_a_backward_pass() -> None:
    """As a deep equilibrium solves for its error: autograd.grad() through attached layers is no part of .grad."""
    def loss(model: Any, rank: int) -> Any:
        x = whole(rank, 2, 5).requires_grad_()
        start = whole(rank, 2, 5, seed=1).requires_grad_()
        made, reached = model(start), model(x)

        def solve(error: Tensor) -> Tensor:
            for _ in range(2):
                error = error + torch.autograd.grad(made, start, error, retain_graph=True)[0]
            return error
        reached.register_hook(solve)
        x.register_hook(solve)  # the weight's gradient is complete by then
        return reached.sum()
    check(whole_weights(nn.Linear(5, 5)), loss)


@case
def samples_of_nobody() -> None:
    """Sums are 0 then, whatever travelled early."""
    model = mlp()
    attachment = dsop.torch.attach(model, average="samples")
    for count in (2, 2, 0, 2, 0):
        model.zero_grad(set_to_none=True)
        attachment.samples(count)
        on_rows(lambda rank: 2)(model, COMM.rank).backward()
        for p in model.parameters():
            assert p.grad is not None and p.grad.isfinite().all() and p.grad.any() == (count > 0), p.grad
    attachment.idle()
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())


@case
def samples_of_a_batch_that_is_none() -> None:
    """They don't count in the next step, after idle()."""
    model = mlp()
    attachment = dsop.torch.attach(model, average="samples")
    for count in (float("nan"), float("inf"), -1):
        raises_everywhere(f"samples({count}) with average=samples, expected", lambda: attachment.samples(count))
    for accumulates in (False, True):
        attachment.samples(100)
        with attachment.no_sync() if accumulates else contextlib.nullcontext():
            attachment.idle()
        raises_everywhere("samples(n) was not called", on_rows(lambda rank: 2)(model, COMM.rank).backward)


@case
def rows_of_nobody() -> None:
    """A sparse gradient in which no rank has a row, in the first step too."""
    for first in (0, 2):
        copied_steps(whole_weights(nn.Embedding(6, 3, sparse=True)),
                     [lambda m, rank, rows=rows: m(torch.arange(rows + (rank if rows else 0)) % 6).sum()
                      for rows in (first, 0, 3, 0, 9)])


class Added(nn.Module):
    """What autograd makes of views may be one tensor for two parameters, or for one and a factor."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.zeros(6)), nn.Parameter(torch.zeros(2, 3))
        self.layer, self.place = nn.Linear(5, 3), nn.Parameter(torch.zeros(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        made = self.layer(x) + self.place.unsqueeze(0)
        return made.sum(1) @ (self.a.view(-1) + self.b.view(-1)).view(2, 3).t()  # type: ignore[no-any-return]


@case
def gradients_in_one_place() -> None:
    def loss(model: Any, rank: int, seed: int = 0) -> Any:
        return model(whole(rank, 1, 4, 5, seed=seed)).sum()
    check(whole_weights(Added()), loss)
    model = whole_weights(Added())
    expected = plain_sum(model, lambda m, rank: loss(m, rank, seed=1) + loss(m, rank))
    attachment = dsop.torch.attach(model, average="sum")
    for _ in range(3):
        model.zero_grad(set_to_none=True)
        with attachment.no_sync():
            loss(model, COMM.rank, seed=1).backward()
        loss(model, COMM.rank).backward()
        has_gradients(model, expected)


@case
def buffers_that_can_not_travel() -> None:
    for buffer, words in ((torch.eye(3).to_sparse(), "buffer held is torch.float32, torch.sparse_coo on cpu, expected"),
                          (torch.zeros(1).expand(3), "buffer held is expanded, expected elements of its own on cpu")):
        model = mlp()
        model.register_buffer("held", buffer)
        if COMM.size > 1:
            raises_everywhere(words, lambda: dsop.torch.attach(model))
        else:
            check(model, on_rows(lambda rank: 2))


@case
def two_models_on_one_queue() -> None:
    """Of communicators that are two objects, over the same ranks: calls of both are in one order on all ranks."""
    first, second = whole_weights(nn.Linear(5, 4)), whole_weights(nn.Linear(4, 3))

    def loss(both: Any, rank: int) -> Any:
        alone = COMM.size > 1 and rank == COMM.size - 1
        return both[1](whole(rank, 2, 4) if alone else both[0](whole(rank, 2, 5))).pow(2).sum()
    both = nn.ModuleList([first, second])
    expected = plain_sum(both, loss)
    attachments = [dsop.torch.attach(m, comm, "sum") for m, comm in ((first, COMM.counting()), (second, COMM))]
    for _ in range(4):
        both.zero_grad(set_to_none=True)
        loss(both, COMM.rank).backward()
        if COMM.size > 1 and COMM.rank == COMM.size - 1:
            attachments[0].idle()
        has_gradients(both, expected)


@case
def detached_before_backward() -> None:
    """The rest of the step is this rank's alone, as an ordinary model's."""
    for model, given in ((mlp(), whole(COMM.rank, 3, 5)),
                         (whole_weights(nn.Embedding(6, 3)), torch.tensor([1, 4, 1]))):
        plain = copy.deepcopy(model)
        attachment = dsop.torch.attach(model, average="sum")
        made = model(given).pow(2).sum()
        attachment.detach()
        for loss in (made, plain(given).pow(2).sum()):
            loss.backward()
        for ours, theirs in zip(model.parameters(), plain.parameters()):
            assert ours.grad is not None and theirs.grad is not None and torch.equal(ours.grad, theirs.grad)
    model = mlp()
    attachment = dsop.torch.attach(model)
    with attachment.no_sync():
        model(whole(COMM.rank, 3, 5)).sum().backward()
    raises_everywhere("detach() between no_sync() and the backward() that sums", attachment.detach)
    model(whole(COMM.rank, 3, 5)).sum().backward()
    attachment.detach()


@case
def types_there_and_back() -> None:
    """As an exponential moving average in half precision does: the engine then has other nodes for parameters."""
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.layer, self.net = nn.Embedding(6, 5), nn.Linear(5, 5), dsop.torch.LSTM(5, 2)

        def forward(self, indices: Tensor) -> Any:
            return self.net(self.layer(self.rows(indices)).unsqueeze(1))[0].sum()

    def loss(m: Any, rank: int) -> Any:
        return m(torch.tensor([rank % 6, 2, 2]))
    model = whole_weights(Net())
    expected = plain_sum(copy.deepcopy(model), loss)
    attachment = dsop.torch.attach(model, average="sum")
    for there in ("half", "double", "double", ""):
        for _ in range(2):
            model.zero_grad(set_to_none=True)
            made = loss(model, COMM.rank)
            if there:
                getattr(model, there)().float()
            made.backward()
            for parameter, theirs in zip(model.parameters(), expected):
                assert parameter.grad is not None and torch.allclose(parameter.grad, theirs, atol=1e-4), there
            same_everywhere([parameter.grad for parameter in model.parameters()])
    assert "used outside" not in attachment.describe(), attachment.describe()


@case
def buffers_that_change() -> None:
    """Alike on all ranks: they become rank 0's. Else the step fails on all ranks, also where one alone has changed."""
    model = mlp()
    loss = on_rows(lambda rank: 2)
    expected = plain_sum(mlp(), loss)
    attachment = dsop.torch.attach(model, average="sum")

    def fails(words: str) -> None:
        raises_everywhere(words, lambda: loss(model, COMM.rank).backward())
        assert all(p.grad is None for p in model.parameters())
    for shape in ((2, 3), (3, 2), (1, 6), (7,)):
        model.register_buffer("cache", torch.full(shape, COMM.rank + 1.))
        for _ in range(2):
            step(model, attachment, loss, expected)
            assert (model.cache == 1).all() and model.cache.shape == shape
    del model.cache  # which was the last
    for _ in range(2):
        step(model, attachment, loss, expected)
    model.register_buffer("cache", torch.zeros(7))
    if COMM.size == 1:
        return
    last = COMM.rank == COMM.size - 1
    for buffer, words in ((torch.zeros(2), "buffer cache [2]"), (None, "has nothing more"),
                          (torch.zeros(7).double(), "buffer cache [7] torch.float64"),
                          (torch.zeros(1).expand(7), "buffer cache is expanded")):
        model.cache = buffer if last else torch.zeros(7)
        for _ in range(2):
            fails(words)
    model.cache = torch.zeros(7)
    model.register_buffer("other", torch.zeros(2) if last else None)
    fails("buffer other")
    model.register_buffer("other", None)
    for _ in range(2):
        step(model, attachment, loss, expected)
