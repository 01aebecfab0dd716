"""Cases of torch_program.py: both weights of an LSTM's layer, which travel as one, and steps in which they can't."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest import mock

import torch

import dsop
import dsop.torch
from torch_recurrent_cases import HIDDEN, INPUTS, Net, loss_of
from torch_support import (COMM, RANKS, Loss, case, check, has_near_gradients, plain_sum, raises_everywhere, step, whole,
                           whole_weights)

W_IH, W_HH = "net.weight_ih_l0", "net.weight_hh_l0"
LAST = COMM.size - 1
FACTORS = {"net.weight*": "dsop"}  # which is kept to where factors of so small nets don't pay


def lstm(**options: Any) -> Any:
    return Net(dsop.torch.LSTM, **options)


def are_one(attachment: dsop.torch.Attachment) -> bool:
    """Whether the last step has summed both weights by one product, and nothing of one alone."""
    lines = {line.split(" ")[0]: line for line in attachment.describe().split("\n")}
    return all(f"by one product with {other}" in lines[name] for name, other in ((W_IH, W_HH), (W_HH, W_IH)))


def steps(losses: Sequence[Loss], expects_one: Sequence[bool], prepare: Callable[[Any, int], None] = lambda model, number: None,
          policies: Mapping[str, str] = FACTORS) -> dsop.torch.Attachment:
    """Steps of one model have the bits of plain torch, and sum both weights by one product where that is expected."""
    plain = lstm()
    model = copy.deepcopy(plain)
    attachment = dsop.torch.attach(model, average="sum", policies=policies)
    for number, (loss, is_one) in enumerate(zip(losses, expects_one, strict=True)):
        for m in (plain, model):
            prepare(m, number)
        step(model, attachment, loss, plain_sum(plain, loss))
        assert are_one(attachment) == (is_one and COMM.size > 1), number
    return attachment


def nothing_is_left(attachment: dsop.torch.Attachment) -> Any:
    """Within, everything travels while backward goes on."""
    return mock.patch.object(attachment._sums, "_sum", side_effect=AssertionError("something was left"))


@case
def errors_travel_once() -> None:
    """An allgather of 400 errors, 20 inputs and 100 hidden states a pair; both weights by themselves would send 920."""
    counting = COMM.counting()
    torch.manual_seed(1)
    model: Any = dsop.torch.LSTM(20, 100, bias=False)
    attachment = dsop.torch.attach(model, counting)
    for number in range(3):
        before = counting.traffic()["payload_bytes"]
        with nothing_is_left(attachment) if number else contextlib.nullcontext():
            model(whole(COMM.rank, 3, 1, 20))[0].sum().backward()
        sent = counting.traffic()["payload_bytes"] - before
        assert sent <= 1.2 * LAST * 3 * 520 * 4, sent
        assert COMM.size == 1 or "100: factors, by one product with weight_ih_l0; policy dsop;" in attachment.describe()


@case
def one_product_in_nets_of_all_kinds() -> None:
    forms: list[dict[str, Any]] = [{"bidirectional": True}, {"bias": False}, {"num_layers": 2}]
    for options in forms:
        assert are_one(check(lstm(**options), loss_of, policies=FACTORS)) == (COMM.size > 1)
    assert "+" not in check(Net(dsop.torch.GRU), loss_of).describe()


@case
def batches_of_sequences_that_grow() -> None:
    def of(count: int) -> Loss:
        return lambda model, rank: loss_of(model, rank, sequences=count + rank)
    steps([of(count) for count in (2, 2, 5, 1, 20, 3)], [True] * 6)


@case
def ranks_without_gradients() -> None:
    """On which the net is not used, or nothing is; then on all, where no pairs travel."""
    def of_last(model: Any, rank: int) -> Any:
        return loss_of(model, rank) if rank == LAST else torch.zeros(())

    def head_alone(model: Any, rank: int) -> Any:
        return loss_of(model, rank) if rank == LAST else model.head(whole(rank, 1, HIDDEN, dtype=torch.float64)).sum()

    def of_nobody(model: Any, rank: int) -> Any:
        return model.head(whole(rank, 1, HIDDEN, dtype=torch.float64)).sum()
    steps([loss_of, of_last, head_alone, of_nobody, loss_of, loss_of], [True] * 6)


@case
def one_of_two_has_a_dense_part() -> None:
    """As of a penalty in the loss. Each then is summed by itself, and still in the first step without it."""
    def penalized(model: Any, rank: int) -> Any:
        return loss_of(model, rank) + (model.net.weight_hh_l0.sum() if rank == LAST else 0)
    steps([loss_of, loss_of, penalized, penalized, loss_of, loss_of, loss_of], [True, True, False, False, False, True, True])


@case
def one_of_two_is_frozen() -> None:
    def freeze(everywhere: bool) -> Callable[[Any, int], None]:
        def prepare(model: Any, number: int) -> None:
            if everywhere or COMM.rank == LAST:
                model.net.weight_ih_l0.requires_grad_(number not in (2, 3, 4))
        return prepare
    steps([loss_of] * 8, [True, True, False, False, False, False, False, True], freeze(True))
    frozen = steps([loss_of] * 4, [True, True, False, False], freeze(True))
    assert "by one product" not in frozen.describe()

    plain, model = lstm(), lstm()
    attachment = dsop.torch.attach(model, average="sum", policies=FACTORS)
    expected = plain_sum(plain, loss_of)
    without_last = plain_sum(plain, lambda m, rank: loss_of(m, rank) if rank != LAST else torch.zeros(()))
    for number in range(7):
        freeze(False)(model, number)
        with nothing_is_left(attachment) if number in (3, 4) else contextlib.nullcontext():
            step(model, attachment, loss_of, [without_last[0], *expected[1:]] if number in (2, 3, 4) else expected)
    assert are_one(attachment) == (COMM.size > 1)


@case
def one_of_two_has_a_hook() -> None:
    """Which autograd calls with the gradient that it makes."""
    hooks: list[Any] = []

    def prepare(model: Any, number: int) -> None:
        if number == 2 and COMM.rank == LAST:
            hooks.append(model.net.weight_hh_l0.register_hook(lambda grad: grad))
        if number == 4:
            while hooks:
                hooks.pop().remove()
    steps([loss_of] * 7, [True, True, False, False, False, True, True], prepare)


@case
def one_of_two_would_be_cheaper_dense() -> None:
    """A step in which they travel apart does not make it dense for good."""
    torch.manual_seed(1)
    model: Any = dsop.torch.LSTM(20, 100, bias=False)
    attachment = dsop.torch.attach(model)
    for number, is_one in enumerate((True, True, False, False, True, True)):
        penalty = model.weight_hh_l0.sum() if number == 2 and COMM.rank == LAST else 0
        (model(whole(COMM.rank, 40, 1, 20))[0].sum() + penalty).backward()
        assert COMM.size == 1 or ("by one product with weight_hh_l0" in attachment.describe()) == is_one, number


@case
def two_that_share_the_bucket() -> None:
    """Together at most 64 KiB, and far too many pairs: gradients are cheaper."""
    def loss(model: Any, rank: int) -> Any:
        return model(whole(rank, 50, 2, 100))[0].sum()
    torch.manual_seed(1)
    model: Any = dsop.torch.LSTM(100, 20)
    expected = plain_sum(model, loss)
    attachment = dsop.torch.attach(model, average="sum")
    for number in range(3):
        model.zero_grad(set_to_none=number == 1)
        loss(model, COMM.rank).backward()
        has_near_gradients(model, expected, 1e-5)
    assert COMM.size == 1 or attachment.describe().count("dense is cheaper here") == 2, attachment.describe()
    half: Any = dsop.torch.LSTM(100, 20)
    half.weight_ih_l0.requires_grad_(False)
    attachment = dsop.torch.attach(half)
    for _ in range(3):
        loss(half, COMM.rank).backward()
    assert COMM.size == 1 or attachment.describe().count("dense is cheaper here") == 1, attachment.describe()


@case
def backward_to_one_of_two() -> None:
    model = lstm()
    expected = plain_sum(model, loss_of)
    attachment = dsop.torch.attach(model, average="sum")
    for number in range(6):
        model.zero_grad(set_to_none=True)
        loss = loss_of(model, COMM.rank)
        if number % 3 == 2:
            loss.backward(inputs=[model.net.weight_hh_l0])
            assert model.net.weight_ih_l0.grad is None and torch.equal(model.net.weight_hh_l0.grad, expected[1])
        else:
            loss.backward()
            assert torch.equal(model.net.weight_ih_l0.grad, expected[0])
            assert torch.equal(model.net.weight_hh_l0.grad, expected[1])
    attachment.detach()


@case
def each_of_two_on_another_rank() -> None:
    """They then travel each by itself, while backward goes on."""
    model = lstm()
    expected = plain_sum(model, lambda m, rank: loss_of(m, rank) if rank in (0, LAST) else torch.zeros(()))
    attachment = dsop.torch.attach(model, average="sum", policies=FACTORS)
    ours = {0: [model.net.weight_ih_l0], LAST: [model.net.weight_hh_l0]} if COMM.size > 1 else {}
    for number in range(5):
        model.zero_grad(set_to_none=True)
        with nothing_is_left(attachment) if number > 2 else contextlib.nullcontext():
            if COMM.rank in ours:
                loss_of(model, COMM.rank).backward(inputs=ours[COMM.rank])
            else:
                attachment.idle()
    if ours:
        only = plain_sum(lstm(), lambda m, rank: loss_of(m, rank) if rank == 0 else torch.zeros(()))
        assert torch.equal(model.net.weight_ih_l0.grad, only[0])
        assert torch.equal(model.net.weight_hh_l0.grad, expected[1] - only[1])


@case
def weights_that_are_tied() -> None:
    """To another layer's or to each other: each by itself. As a pair to another module's: by one product."""
    def of_both(model: Any, rank: int) -> Any:
        return model(whole(rank, 3, 2, HIDDEN, dtype=torch.float64))[0].sum()
    tied = lstm(num_layers=2)
    tied.net.weight_hh_l1 = tied.net.weight_hh_l0
    assert not are_one(check(tied, loss_of))

    both: Any = whole_weights(dsop.torch.LSTM(HIDDEN, HIDDEN, bias=False, dtype=torch.float64))
    both.weight_hh_l0 = both.weight_ih_l0
    expected, = plain_sum(both, of_both)
    dsop.torch.attach(both, average="sum")
    for _ in range(3):
        both.zero_grad()
        of_both(both, COMM.rank).backward()
        assert torch.allclose(both.weight_ih_l0.grad, expected, rtol=1e-13)

    class Two(Net):
        def __init__(self) -> None:
            super().__init__(dsop.torch.LSTM)
            self.other = dsop.torch.LSTM(INPUTS, HIDDEN, dtype=torch.float64)
            for name, parameter in list(self.net.named_parameters()):
                setattr(self.other, name, parameter)

        def forward(self, x: Any, states: Any) -> Any:
            return super().forward(x, states) + self.head(self.other(x, states)[0])
    assert are_one(check(Two(), loss_of, policies=FACTORS)) == (COMM.size > 1)


@case
def policies_of_two() -> None:
    for policies in ({W_IH: "dense"}, {W_HH: "topk:1"}):
        steps([loss_of] * 2, [False] * 2, policies=policies)
    for pattern in ("*", "weight_ih_l0"):
        model: Any = dsop.torch.LSTM(5, 4)
        attachment = dsop.torch.attach(model, policies={pattern: "dsop-bf16"})
        for _ in range(2):
            model(whole(COMM.rank, 1, 1, 5))[0].sum().backward()
            assert ("by one product with" in attachment.describe()) == (pattern == "*" and COMM.size > 1)


@case
def averages_of_nets() -> None:
    counts = [rank + 1 for rank in RANKS]
    for average in ("ranks", "samples"):
        model = lstm()
        weights = [1 / COMM.size if average == "ranks" else count / sum(counts) for count in counts]
        expected = plain_sum(model, lambda m, rank: weights[rank] * loss_of(m, rank))
        attachment = dsop.torch.attach(model, average=average, policies=FACTORS)
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            if average == "samples":
                attachment.samples(counts[COMM.rank])
            loss_of(model, COMM.rank).backward()
            assert are_one(attachment) == (COMM.size > 1)
            has_near_gradients(model, expected, 1e-14)


@case
def bad_input_of_joints() -> None:
    class Other(dsop.torch.LSTM):
        """Whose gradients travel as such."""
    if COMM.size > 1:
        kind = Other if COMM.rank == LAST else dsop.torch.LSTM
        raises_everywhere("expected rank 0's one product for weight_ih_l0+weight_hh_l0",
                          lambda: dsop.torch.attach(kind(5, 4), policies={"*": "dsop"}))
    model = lstm()
    plain = copy.deepcopy(model)
    attachment = dsop.torch.attach(model, average="sum", find_nans=True)
    for _ in range(3):
        def backward(poison: float) -> None:
            model.zero_grad(set_to_none=True)
            (loss_of(model, COMM.rank) * (poison if COMM.rank == LAST else 1)).backward()
        raises_everywhere("has NaN or infinity, expected finite numbers", lambda: backward(float("nan")))
        assert not any(joint.factors for joint in attachment._joints)
        assert all(parameter.grad is None for parameter in model.parameters())
        step(model, attachment, loss_of, plain_sum(plain, loss_of))
    alone: Any = dsop.torch.LSTM(5, 4, bias=False)
    attachment = dsop.torch.attach(alone, find_nans=True, policies={"weight*": "dsop"})
    words = "gradient of weight_ih_l0 and weight_hh_l0 has NaN" if COMM.size > 1 else "has NaN or infinity, expected finite numbers"
    for _ in range(2):
        x = whole(COMM.rank, 3, 1, 5) * (float("nan") if COMM.rank == LAST else 1)
        raises_everywhere(words, lambda: alone(x)[0].sum().backward())
        assert not any(joint.factors for joint in attachment._joints)
        alone(whole(COMM.rank, 3, 1, 5))[0].sum().backward()
