"""Cases of torch_program.py: steps that fail on one rank, and input that attach() can't take."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import warnings
from typing import Any

import torch
from torch import Tensor, nn

import dsop
import dsop.torch
from torch_failing_steps_cases import BAD, raised_by, works
from torch_support import (COMM, case, has_gradients, mlp, on_rows, plain_sum, raises_everywhere, whole,
                           whole_weights)


@case
def backward_twice() -> None:
    model = mlp()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    dsop.torch.attach(model, average="sum")
    for _ in range(2):
        loss = on_rows(lambda rank: 2)(model, COMM.rank)
        loss.backward()
        try:
            loss.backward()
        except RuntimeError as error:
            assert "second time" in str(error)
        else:
            raise AssertionError("nothing was raised")
        works(model, expected)


@case
def graph_of_a_gradient() -> None:
    """create_graph=True: .grad is right, and has no graph."""
    model = mlp()
    expected = plain_sum(model, on_rows(lambda rank: 2))
    dsop.torch.attach(model, average="sum")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of a cycle
        on_rows(lambda rank: 2)(model, COMM.rank).backward(create_graph=True)
    has_gradients(model, expected)
    assert not any(parameter.grad.requires_grad for parameter in model.parameters())


@case
def distributed_data_parallel() -> None:
    ddp = nn.parallel.DistributedDataParallel
    raises_everywhere("has a DistributedDataParallel in it", lambda: dsop.torch.attach(ddp(mlp())))
    model = mlp()
    attachment = dsop.torch.attach(model)
    for wrapped in (ddp(model), ddp(nn.Sequential(model))):
        raises_everywhere("within a DistributedDataParallel", lambda: wrapped(whole(COMM.rank, 2, 5)))
    attachment.detach()
    ddp(copy.deepcopy(model))(whole(COMM.rank, 2, 5)).sum().backward()


@case
def compiled() -> None:
    """By TorchScript. torch.compile() is tried in torch2_program.py."""
    scripted = torch.jit.script(mlp()), torch.jit.trace(mlp(), whole(0, 2, 5))  # type: ignore[no-untyped-call]
    for made in scripted:
        raises_everywhere("made by torch.jit.script()", lambda made=made: dsop.torch.attach(made))  # type: ignore[misc]


class Elsewhere(Tensor):
    """As DTensor: a tensor that has no elements of its own."""

    @staticmethod
    def __new__(cls, inner: Tensor) -> Any:
        return Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)  # type: ignore[attr-defined]

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        return cls(arguments[0].inner) if function.__name__.startswith("detach") else NotImplemented


@case
def parameters_that_are_not_plain() -> None:
    rows = whole(0, 1, 3)
    of_kinds: list[tuple[Any, str]] = [
        (rows.expand(4, 3), "is expanded, expected elements of its own"),
        (whole(0, 5).as_strided((3, 3), (1, 1)), "is expanded, expected elements of its own"),
        (whole(0, 4, 3).to_sparse(), "torch.sparse_coo on cpu, expected torch.strided"),
        (Elsewhere(rows), "weight is a Elsewhere, expected a plain tensor, whole on each rank")]
    for data, words in of_kinds:
        model = nn.Linear(3, 4)
        if COMM.rank == BAD:
            model.weight = nn.Parameter(data)
        raises_everywhere(words, lambda model=model: dsop.torch.attach(model))  # type: ignore[misc]
    model = nn.Module()  # of steps, but each element has memory of its own
    model.weights = nn.ParameterList([nn.Parameter(whole(0, 4, 6)[:, ::2]), nn.Parameter(whole(0, 4, 3).t()),
                                      nn.Parameter(rows.expand(0, 3)), nn.Parameter(rows[:, :1].expand(1, 1))])
    dsop.torch.attach(model)


@case
def copies() -> None:
    model = mlp()
    attachment = dsop.torch.attach(model)
    words = nn.Sequential(nn.Embedding(6, 4))
    dsop.torch.attach(words)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(other[0]) is nn.Linear
        other(whole(0, 2, 5)).sum().backward()  # sends nothing
        if COMM.rank == BAD:
            other(whole(0, 2, 5)).sum().backward()
        second = dsop.torch.attach(other)  # a copy may be attached
        other(whole(0, 2, 5)).sum().backward()
        second.detach()
    assert type(copy.deepcopy(words)[0]) is nn.Embedding
    words.attachment = attachment  # as programs keep it in their model, which copies as well
    for other in (copy.deepcopy(words), pickle.loads(pickle.dumps(words))):
        assert other.attachment is None
    gc.collect()
    stream = io.BytesIO()
    torch.save(model.state_dict(), stream)
    raises_everywhere("is attached already", lambda: dsop.torch.attach(model))
    raises_everywhere("is attached already", lambda: dsop.torch.attach(nn.Sequential(model)))
    attachment.detach()


class Clamped(nn.Module):
    """Two layers whose sum has one gradient for both, which a hook changes in place between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.clamps = nn.Linear(5, 3), nn.Linear(5, 3), False

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.first(x), self.second(x)
        if self.clamps:
            first.register_hook(lambda grad: grad.clamp_(-1, 1))
        return first + second  # type: ignore[no-any-return]


@case
def weight_that_is_changed_before_backward() -> None:
    """Its gradient does not depend on it, and that of the data is not asked for."""
    model = whole_weights(nn.Linear(5, 3))
    expected = plain_sum(whole_weights(nn.Linear(5, 3)), lambda made, rank: made(whole(rank, 2, 5)).sum())
    dsop.torch.attach(model, average="sum")
    for _ in range(3):
        model.zero_grad(set_to_none=True)
        total = model(whole(COMM.rank, 2, 5)).sum()
        with torch.no_grad():
            model.weight.mul_(2)
        total.backward()
        has_gradients(model, expected)


@case
def factor_that_is_changed_in_place() -> None:
    """An error, also where it has travelled already; right numbers, where gradients travel."""
    model = whole_weights(Clamped())
    expected = plain_sum(model, on_rows(lambda rank: 2))
    attachment = dsop.torch.attach(model, average="sum", policies={"*.weight": "dsop:allgather"})
    for _ in range(3):
        model.clamps = COMM.rank == BAD
        said = raised_by(lambda: on_rows(lambda rank: 2)(model, COMM.rank).backward())
        assert "second.weight travels as factors, of which one was changed in place" in said, said
        assert all(p.grad is None for p in model.parameters())
        for _ in range(2):
            model.clamps = False
            works(model, expected)
    attachment.detach()
    plain = whole_weights(Clamped())
    model.clamps = plain.clamps = True
    dsop.torch.attach(model, average="sum", policies={"second.weight": "dense"})
    works(model, plain_sum(plain, on_rows(lambda rank: 2)))


@case
def bad_input() -> None:
    last = COMM.rank == BAD
    raises_everywhere("float32 or torch.float64 or torch.bfloat16 on cpu", lambda: dsop.torch.attach(mlp(torch.float16)))
    raises_everywhere("weight is torch.float16", lambda: dsop.torch.attach(mlp(torch.float16) if last else mlp()))
    raises_everywhere("average is mean", lambda: dsop.torch.attach(mlp(), average="mean"))
    raises_everywhere("model is int", lambda: dsop.torch.attach(3))  # type: ignore[arg-type]
    raises_everywhere("policies has head", lambda: dsop.torch.attach(mlp(), policies={"head": "dense"}))
    wrong: list[tuple[Any, str]] = [({"*": 5}, "policies has '*': 5, expected two texts"),
                                    (["*"], "policies is list, expected a mapping")]
    for policies, words in wrong:
        raises_everywhere(words, lambda: dsop.torch.attach(mlp(), policies=policies if last else None))
    raises_everywhere("nonsense", lambda: dsop.torch.attach(mlp(), policies={"0.*": "nonsense"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lazy modules are new, says torch
        raises_everywhere("no shape yet", lambda: dsop.torch.attach(nn.LazyLinear(3)))
    raises_everywhere("no parameters", lambda: dsop.torch.attach(nn.ReLU()))
    model = mlp()
    attachment = dsop.torch.attach(model)
    raises_everywhere("samples(3) with average=ranks", lambda: attachment.samples(3))
    raises_everywhere("count is str, expected a number", lambda: attachment.samples("3"))  # type: ignore[arg-type]
    (name, state), = attachment.state_dict().items()
    assert name == f"dsop/rank{COMM.rank}"
    raises_everywhere("is of dsop/rank99, expected dsop/rank", lambda: attachment.load_state_dict({"dsop/rank99": state}))
    wrong_states: list[Any] = [{}, None, {**state, "order": [("no such", 1)]}, {**state, "order": 3},
                               {**state, "synchronizers": None}, {**state, "most_pairs": []},
                               {**state, "most_pairs": {key: [2**40] for key in state["most_pairs"]}},
                               {**state, "most_pairs_in_16_bits": None}]
    for wrong_state in wrong_states:
        raises_everywhere("another model", lambda: attachment.load_state_dict(wrong_state if last else state))
    if COMM.size > 1:
        for other in (nn.Linear(5, 3), mlp(torch.float64), nn.Sequential(mlp())):
            raises_everywhere(f"model on rank {BAD} has parameter",
                              lambda: dsop.torch.attach(other if last else mlp()))
        raises_everywhere("average sum", lambda: dsop.torch.attach(mlp(), average="sum" if last else "ranks"))
        raises_everywhere("under policy dense", lambda: dsop.torch.attach(
            mlp(), policies={"0.weight": "dense"} if last else None))
        raises_everywhere("find_nans", lambda: dsop.torch.attach(mlp(), find_nans=last))
        raises_everywhere("and sparse", lambda: dsop.torch.attach(nn.Embedding(6, 2, sparse=last)))
        names = ["a", "b"] if last else ["b", "a"]
        in_order = nn.ModuleDict({name: nn.Linear(3, 3) for name in names})
        raises_everywhere("has parameter", lambda: dsop.torch.attach(in_order))
    by_samples = mlp()
    dsop.torch.attach(by_samples, average="samples")
    raises_everywhere("samples(n) was not called", by_samples(whole(COMM.rank, 2, 5)).sum().backward)
