"""Cases of torch_program.py: parameters of bf16, whose sums over ranks are made in float32 and rounded once.

Factors are what plain torch's layers see; their products are exact in float32, and bf16 does not hold them.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import dsop.torch
from torch_support import COMM, RANKS, case, plain_sum, same_everywhere, whole, whole_weights

BF16 = torch.bfloat16


def net() -> Any:
    return whole_weights(nn.Sequential(nn.Linear(60, 300), nn.ReLU(), nn.Linear(300, 60)).to(BF16))


def loss(model: Any, rank: int, seed: int = 0) -> Any:
    made = model(1001 * whole(rank, 3, 60, seed=seed, dtype=BF16))
    return (made * whole(rank, 3, 60, seed=seed + 50, dtype=BF16)).sum()


def sums_of_factors(backward: Callable[[Any, int], Any] = loss) -> list[Tensor]:
    """The gradients of net(), of all ranks, in float32: products of factors, and autograd's own of biases."""
    plain, sums = net(), [torch.zeros(p.shape) for p in net().parameters()]

    def watch(weight: Tensor, bias: Tensor, layer: nn.Module, inputs: Any, output: Tensor) -> None:
        def add(grad: Tensor) -> None:
            weight.addmm_(grad.float().t(), inputs[0].detach().float())
            bias.add_(grad.sum(0))
        output.register_hook(add)  # type: ignore[no-untyped-call]
    for layer, weight, bias in zip((plain[0], plain[2]), sums[::2], sums[1::2]):
        layer.register_forward_hook(functools.partial(watch, weight, bias))
    for rank in RANKS:
        backward(plain, rank).backward()
    assert not any(torch.equal(weight.to(BF16).float(), weight) for weight in sums[::2])
    return sums


def sums_of_gradients(model: Any, backward: Callable[[Any, int], Any]) -> list[Tensor]:
    """In float32, of what autograd makes on each rank."""
    plain = copy.deepcopy(model)
    sums = [torch.zeros(p.shape) for p in plain.parameters()]
    for rank in RANKS:
        plain.zero_grad(set_to_none=True)
        backward(plain, rank).backward()
        for total, p in zip(sums, plain.parameters()):
            total.add_(p.grad)
    return sums


def is_equal(model: Any, expected: list[Tensor]) -> bool:
    same_everywhere([p.grad.float() for p in model.parameters()])
    return all(p.grad.dtype == p.dtype and torch.equal(p.grad, total.to(p.dtype))
               for p, total in zip(model.parameters(), expected))


@case
def sums_of_bf16_are_rounded_once() -> None:
    for policies in (None, {"*.weight": "dsop"}, {"*": "dense"}):
        model = net()
        sums = sums_of_gradients(model, loss) if policies == {"*": "dense"} else sums_of_factors()
        attachment = dsop.torch.attach(model, average="sum", policies=policies)
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            loss(model, COMM.rank).backward()
            assert COMM.size == 1 or is_equal(model, sums), policies
        said = attachment.describe()
        assert COMM.size == 1 or ("factors in 16 bits" in said) == (policies is None), said
        attachment.load_state_dict(attachment.state_dict())
        model.zero_grad(set_to_none=True)
        loss(model, COMM.rank).backward()
        assert COMM.size == 1 or is_equal(model, sums), policies


@case
def averages_of_bf16() -> None:
    """Counts of samples that are powers of 2 leave factors as they are, others do not."""
    sums = sums_of_factors()
    for average, samples in (("ranks", 0), ("samples", 4), ("samples", 3)):
        model = net()
        attachment = dsop.torch.attach(model, average=average)
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            if samples:
                attachment.samples(samples)
            loss(model, COMM.rank).backward()
            for p, total in zip(model.parameters(), sums):
                expected = total / COMM.size
                assert torch.equal(p.grad, expected.to(BF16)) or COMM.size != 2 or samples == 3, (average, samples)
                # Where a scale is no power of 2, a float32 that was rounded elsewhere may be the next bf16, or not 0.
                nearby = 1e-6 * expected.abs().max().item()
                assert COMM.size == 1 or torch.allclose(p.grad.float(), expected, rtol=2**-7, atol=nearby), (average, samples)


@case
def bf16_is_added_to_what_is_there() -> None:
    first, second = (sums_of_factors(lambda m, rank, seed=seed: loss(m, rank, seed)) for seed in (0, 1))
    model = net()
    attachment = dsop.torch.attach(model, average="sum")
    loss(model, COMM.rank).backward()
    kept = [p.grad for p in model.parameters()]
    loss(model, COMM.rank, 1).backward()
    assert COMM.size == 1 or is_equal(model, [one.to(BF16).float() + other for one, other in zip(first, second)])
    assert all(p.grad is grad for p, grad in zip(model.parameters(), kept))
    for _ in range(2):
        model.zero_grad(set_to_none=True)
        with attachment.no_sync():
            loss(model, COMM.rank).backward()
        loss(model, COMM.rank, 1).backward()
        assert COMM.size == 1 or is_equal(model, [one + other for one, other in zip(first, second)])


@case
def rows_of_bf16() -> None:
    """A row that is looked up often, by all ranks: its sum needs more bits than bf16 has."""
    def looked_up(model: Any, rank: int) -> Any:
        rows = model(torch.tensor([1, 1, 2 + rank % 3]))
        return (rows * 101 * whole(rank, 3, 400, dtype=rows.dtype)).sum()

    def made(kind: Any, sparse: bool) -> Any:
        return whole_weights(nn.Embedding(50, 400, sparse=sparse).to(kind))
    sums = plain_sum(made(torch.float32, False), looked_up)
    for sparse in (False, True):
        model = made(BF16, sparse)
        attachment = dsop.torch.attach(model, average="sum")
        for times in (1, 1, 2):
            if times == 1:
                model.zero_grad(set_to_none=True)
            looked_up(model, COMM.rank).backward()
            grad = model.weight.grad
            expected = sums[0].to(BF16).float() * (times - 1) + sums[0]
            # Alone autograd adds the rows, and both gradients, by itself.
            assert COMM.size == 1 or torch.equal(grad.to(torch.float32).to_dense(), expected.to(BF16).float()), (sparse, times)
            assert grad.dtype == BF16 and (grad.layout == torch.strided) != sparse
            assert not sparse or grad.is_coalesced()
        said = attachment.describe()
        assert COMM.size == 1 or sparse or "rows in 16 bits" in said, said


@case
def recurrent_nets_of_bf16() -> None:
    for kind in (dsop.torch.LSTM, dsop.torch.GRU):
        torch.manual_seed(4)
        model: Any = kind(100, 80).to(BF16)

        def of_output(model: Any, rank: int) -> Any:
            output, _ = model(whole(rank, 4, 2, 100, dtype=model.weight_ih_l0.dtype) / 4)
            return output.float().sum()
        plain: Any = kind(100, 80)
        plain.load_state_dict(model.state_dict())
        expected = plain_sum(plain, of_output)
        attachment = dsop.torch.attach(model, average="sum")
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            of_output(model, COMM.rank).backward()
        same_everywhere([p.grad.float() for p in model.parameters()])
        for p, total in zip(model.parameters(), expected):
            assert p.grad.dtype == BF16 and (p.grad.float() - total).abs().max() <= 0.05 * total.abs().max()
        said = attachment.describe()
        assert COMM.size == 1 or "factors in 16 bits" in said, said
        assert COMM.size == 1 or kind is not dsop.torch.LSTM or "by one product with" in said, said


@case
def models_of_two_types_and_buckets_of_ddp() -> None:
    """Numbers that bf16 holds, and whose sums it does not."""
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.small, self.head = nn.Parameter(torch.ones(5, dtype=BF16)), whole_weights(nn.Linear(5, 3))

        def forward(self, factor: Tensor) -> Any:
            return (self.small * factor).sum(), self.head(factor.float()[None])

    def of_both(model: Any, rank: int) -> Any:
        small, head = model(torch.tensor([201.0, 203, 1, 255, 3], dtype=BF16) + 2 * rank)
        return small + head.sum()
    sums = sums_of_gradients(Mixed(), of_both)
    assert COMM.size == 1 or not torch.equal(sums[0].to(BF16).float(), sums[0])
    model = Mixed()
    dsop.torch.attach(model, average="sum")
    for _ in range(3):
        model.zero_grad(set_to_none=True)
        of_both(model, COMM.rank).backward()
        assert is_equal(model, sums)
    if torch.__version__ < "2":
        return  # its DistributedDataParallel over Gloo takes no bf16
    hooked: Any = DistributedDataParallel(Mixed(), bucket_cap_mb=1e-4)
    dsop.torch.TopKHook("topk:1").register(hooked)
    for _ in range(3):
        hooked.zero_grad(set_to_none=True)
        of_both(hooked, COMM.rank).backward()
        for p, total in zip(hooked.parameters(), sums):
            expected = total / COMM.size
            assert torch.equal(p.grad, expected.to(p.dtype)) or COMM.size > 2
            assert torch.allclose(p.grad.float(), expected, rtol=2**-7, atol=0)
