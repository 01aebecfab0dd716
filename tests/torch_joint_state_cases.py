"""Cases of torch_program.py: what two weights that travel as one keep over passes, steps and runs."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import torch
from torch import nn

import dsop
import dsop.torch
from torch_joint_cases import FACTORS, are_one, lstm
from torch_recurrent_cases import loss_of
from torch_support import COMM, Attached, case, plain_sum, resumed_model, same_everywhere, whole


@case
def collected_over_passes() -> None:
    """The errors are kept once, until they take more memory than both gradients."""
    def loss(model: Any, rank: int) -> Any:
        return loss_of(model, rank, steps=1, sequences=1)
    for passes in (4, 30):
        model = lstm()
        once = plain_sum(model, loss)
        attachment = dsop.torch.attach(model, average="sum", policies=FACTORS)
        for _ in range(2):
            model.zero_grad(set_to_none=True)
            with attachment.no_sync():
                for _ in range(passes):
                    loss(model, COMM.rank).backward()
            first, second = (attachment._of_id[id(weight)] for weight in (model.net.weight_ih_l0, model.net.weight_hh_l0))
            if COMM.size > 1 and passes == 4:
                ours, others = ([a.data_ptr() for a, _ in p.factors] for p in (first, second))
                assert ours == others and len(set(ours)) == passes
            else:
                assert COMM.size == 1 or first.dense is not None and second.dense is not None
            loss(model, COMM.rank).backward()
            for parameter, expected in zip(model.parameters(), once):
                assert torch.equal(parameter.grad, (passes + 1) * expected)
            assert are_one(attachment) == (COMM.size > 1 and passes == 4)


@case
def grads_that_stay_where_they_are() -> None:
    model = lstm()
    once = plain_sum(model, loss_of)
    dsop.torch.attach(model, average="sum")
    kept: list[Any] = []
    for number in range(1, 4):
        loss_of(model, COMM.rank).backward()
        grads = [parameter.grad for parameter in model.parameters()]
        kept = kept or grads
        for grad, other, expected in zip(grads, kept, once):
            assert grad is other and grad.is_contiguous() and torch.equal(grad, number * expected)


@case
def memory_of_grads_that_are_dropped() -> None:
    """Both lie in one memory, that of the step before, unless somebody still has one of them; the wider weight is either."""
    def loss(model: Any, rank: int) -> Any:
        return model(whole(rank, 2, 1, model.input_size))[0].sum()
    for inputs, hidden in ((20, 100), (200, 50)):
        torch.manual_seed(1)
        model: Any = dsop.torch.LSTM(inputs, hidden, bias=False)
        expected = plain_sum(model, loss)
        dsop.torch.attach(model, average="sum", policies={"*": "dsop"})

        def backward() -> list[Any]:
            loss(model, COMM.rank).backward()
            grads = [parameter.grad for parameter in model.parameters()]
            for grad, theirs in zip(grads, expected):
                assert grad.is_contiguous() and (grad - theirs).abs().max() <= 1e-5 * theirs.abs().max()
            return grads
        places = []
        for _ in range(4):
            model.zero_grad(set_to_none=True)
            places.append({grad.storage().data_ptr() for grad in backward()})
        assert COMM.size == 1 or len(places[1]) == 1 and places[1] == places[2] == places[3], places
        for which in range(2):
            model.zero_grad(set_to_none=True)
            held = backward()[which]
            before = held.clone()
            model.zero_grad(set_to_none=True)
            later = backward()
            assert torch.equal(held, before) and held.data_ptr() not in [grad.data_ptr() for grad in later]
            later[which].zero_()
            list(model.parameters())[1 - which].grad = None
            backward()


@case
def resumed_nets() -> None:
    """Also from a state of before two weights could travel as one."""
    def start() -> Attached:
        torch.manual_seed(5)
        model: Any = nn.ModuleList([dsop.torch.LSTM(9, 12, bidirectional=True), nn.Linear(24, 3)])
        return model, dsop.torch.attach(model)

    def train(model: Any, numbers: range) -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for number in numbers:
            optimizer.zero_grad()
            model[1](model[0](whole(COMM.rank, 3 + number, 2, 9, seed=number))[0]).pow(2).mean().backward()
            optimizer.step()
    uninterrupted, _ = start()
    train(uninterrupted, range(8))
    for is_older in (False, True):
        with mock.patch("dsop.torch._attach.joints_of", lambda groups, biases: []) if is_older else contextlib.nullcontext():
            first = start()
        model = resumed_model(train, first, start())
        for ours, theirs in zip(model.parameters(), uninterrupted.parameters()):
            assert torch.equal(ours, theirs) or is_older and torch.allclose(ours, theirs, atol=1e-6)
        same_everywhere(list(model.parameters()))
