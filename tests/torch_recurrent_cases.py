"""Cases of torch_program.py: dsop.torch.LSTM and GRU beside nn.LSTM and nn.GRU, alone and attached.

Where the numbers of a net are whole, gates are 1/2 and candidates 0 if what they add up is 0: all is exact then, and
compared by torch.equal. So columns of weights are 0 where inputs and first states are not, and the other way round.
"""

from __future__ import annotations

import copy
import doctest
import io
import itertools
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence
from torch.utils.checkpoint import checkpoint

import dsop
import dsop.torch
from torch_support import COMM, case, check, check_near, has_gradients, loaded, plain_sum, raises_everywhere, whole

INPUTS, HIDDEN = 5, 4
KINDS: list[tuple[Any, Any]] = [(dsop.torch.LSTM, nn.LSTM), (dsop.torch.GRU, nn.GRU)]


def whole_net(kind: Any, **options: Any) -> Any:
    net = kind(INPUTS, HIDDEN, dtype=torch.float64, **options)
    with torch.no_grad():
        for number, (name, parameter) in enumerate(net.named_parameters()):
            parameter.copy_(whole(number, *parameter.shape, seed=5) * (parameter.dim() == 2))
            if "weight_ih_l0" in name:
                parameter[:, :2] = 0
            elif parameter.dim() == 2:  # of hidden states, and of a lower layer's
                parameter[:, 0] = parameter[:, HIDDEN % parameter.shape[1]] = 0
    return net


def whole_inputs(rank: int, steps: int, sequences: int, seed: int = 0) -> Tensor:
    x = whole(rank, steps, sequences, INPUTS, seed=seed, dtype=torch.float64)
    x[..., 2:] = 0
    return x


def whole_states(net: Any, rank: int, sequences: int) -> Any:
    """In GRU 1/2 of them stays in each step; a cell of LSTM's must be 0 for that."""
    h_0 = torch.zeros(net.num_layers * (1 + net.bidirectional), sequences, HIDDEN, dtype=torch.float64)
    h_0[..., 0] = whole(rank, *h_0.shape[:2], seed=3)
    return (h_0, torch.zeros_like(h_0)) if isinstance(net, nn.LSTM) else h_0


class Net(nn.Module):
    """One layer over another, from states that are not 0, and a head."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.net = whole_net(kind, **options)
        self.head = nn.Linear(HIDDEN * (1 + self.net.bidirectional), 3, dtype=torch.float64)
        with torch.no_grad():
            for number, parameter in enumerate(self.head.parameters()):
                parameter.copy_(whole(number, *parameter.shape, seed=6))

    def forward(self, x: Any, states: Any) -> Tensor:
        output, _ = self.net(x, states)
        rows = output.data if isinstance(output, PackedSequence) else output
        return self.head(rows) * whole(1, *rows.shape[:-1], 3, seed=8)  # type: ignore[no-any-return]


def loss_of(model: Any, rank: int, steps: int = 3, sequences: int = 2) -> Any:
    return model(whole_inputs(rank, steps, sequences), whole_states(model.net, rank, sequences)).sum()


def random_results(net: Any, how: str, given_states: bool) -> list[Tensor]:
    """Outputs, last states and all gradients of one forward and backward; drawn alike for every net of one shape."""
    torch.manual_seed(5)
    x = torch.randn(7, INPUTS) if how == "single" else torch.randn(3, 6, INPUTS)
    x = x.to(net.weight_ih_l0.dtype).requires_grad_()
    given: Any = x
    sequences = x.shape[0 if net.batch_first else 1]
    if "packed" in how:
        lengths = [3, 3, 2, 1, 1, 1] if not net.batch_first else [6, 4, 2]
        given = pack_padded_sequence(x, torch.tensor(lengths[::-1 if how == "packed unsorted" else 1]), net.batch_first,
                                     enforce_sorted=how == "packed")
    shape = (net.num_layers * (1 + net.bidirectional), sequences, HIDDEN)
    count = 2 if isinstance(net, nn.LSTM) else 1
    states = [torch.randn(shape[::2] if how == "single" else shape).to(x.dtype).requires_grad_() for _ in range(count)]
    states = states if given_states else []
    output, last = net(given, (tuple(states) if count == 2 else states[0]) if states else None)
    made = [output.data if isinstance(output, PackedSequence) else output, *(last if count == 2 else [last])]
    sum(((result * torch.randn(result.shape).to(x.dtype)).sum() for result in made), torch.zeros(())).backward()
    return [*made, *(tensor.grad for tensor in [x, *states, *net.parameters()])]


@case
def docstrings() -> None:
    assert doctest.testmod(dsop.torch._recurrent, extraglobs={"dsop": dsop, "torch": torch}).failed == 0


@case
def like_torch() -> None:
    if COMM.size > 1:
        return
    bounds = {torch.float64: 1e-14, torch.float32: 1e-5}  # of the largest, or of 1
    for (ours_kind, theirs_kind), how in itertools.product(KINDS, ("batch", "single", "packed", "packed unsorted")):
        for number, (layers, both, first) in enumerate(itertools.product((1, 2), (False, True), (False, True))):
            for dtype in bounds:
                options = {"num_layers": layers, "bidirectional": both, "batch_first": first, "bias": number % 3 != 0,
                           "dropout": 0.5 * (layers > 1), "dtype": dtype}
                theirs, ours = theirs_kind(INPUTS, HIDDEN, **options), ours_kind(INPUTS, HIDDEN, **options)
                assert list(ours.state_dict()) == list(theirs.state_dict())
                ours.load_state_dict(theirs.state_dict())
                for mine, other in zip(*(random_results(net, how, number % 2 == 0) for net in (ours, theirs))):
                    assert mine.shape == other.shape and mine.stride() == other.stride(), (how, options)
                    assert (mine - other).abs().max() <= bounds[dtype] * max(1, other.abs().max()), (how, options)
                with torch.no_grad():
                    ours.eval(), theirs.eval()
                    assert torch.equal(ours(torch.ones(2, 3, INPUTS, dtype=dtype))[0],
                                       theirs(torch.ones(2, 3, INPUTS, dtype=dtype))[0])


@case
def exact_alone_and_attached() -> None:
    for ours, theirs in KINDS:
        forms: list[dict[str, Any]] = [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}]
        for options in forms:
            expected = plain_sum(Net(theirs, **options), loss_of)
            plain = plain_sum(Net(ours, **options), loss_of)
            assert all(torch.equal(a, b) for a, b in zip(plain, expected))
            assert all(gradient.any() for gradient in expected[:2])
            text = check(Net(ours, **options), loss_of).describe()
            ways = (": factors", ": dense is cheaper here") if COMM.size > 1 else (": dense, as PyTorch makes it",)
            for name in ("net.weight_ih_l0", "net.weight_hh_l0"):
                assert any(line.startswith(name) and any(way in line for way in ways) for line in text.split("\n")), text


@case
def torch_s_own_are_dense() -> None:
    for ours, theirs in KINDS:
        text = check(Net(theirs, num_layers=2), loss_of).describe()
        for name in ("weight_ih_l0 ", "weight_hh_l1 "):
            line = f"net.{name}{4 * HIDDEN if theirs is nn.LSTM else 3 * HIDDEN}x{INPUTS if 'ih' in name else HIDDEN}: "
            assert f"{line}dense, nn.{theirs.__name__}: dsop.torch.{ours.__name__} has factors;" in text, text
    text = dsop.torch.attach(nn.LSTM(5, 4, proj_size=2)).describe()
    assert "weight_ih_l0 16x5: dense, proj_size;" in text, text


@case
def sequences_of_any_lengths() -> None:
    def packed_loss(model: Any, rank: int) -> Any:
        sequences = rank + 1
        lengths = torch.tensor([1 + (i + rank) % 4 for i in range(sequences)])
        x = pack_padded_sequence(whole_inputs(rank, 4, sequences), lengths, enforce_sorted=False)
        return model(x, whole_states(model.net, rank, sequences)).sum()

    def some_without(model: Any, rank: int) -> Any:
        return loss_of(model, rank) if rank == COMM.size - 1 else torch.zeros(())
    for ours, _ in KINDS:
        check(Net(ours, bidirectional=True), packed_loss)
        check(Net(ours), lambda model, rank: loss_of(model, rank, steps=1 + rank))
        check(Net(ours), some_without)
        check(Net(ours), lambda model, rank: loss_of(model, rank, sequences=rank))  # rank 0 has an empty batch


@case
def used_twice_tied_unused_frozen() -> None:
    for ours, _ in KINDS:
        check(Net(ours), lambda model, rank: loss_of(model, rank) + loss_of(model, rank, steps=1))
        tied: Any = Net(ours, num_layers=2)
        tied.net.weight_hh_l1 = tied.net.weight_hh_l0
        check(tied, loss_of)
        check(Net(ours), lambda model, rank: loss_of(model, rank) if rank == 0
              else model.head(whole(rank, 1, HIDDEN, dtype=torch.float64)).sum())
        frozen = Net(ours)
        frozen.net.weight_ih_l0.requires_grad_(False)
        check(frozen, loss_of)
        elsewhere = Net(ours)
        attachment = check(elsewhere, lambda model, rank: loss_of(model, rank) + model.net.weight_hh_l0.sum())
        assert "net.weight_hh_l0" in attachment.describe()


@case
def checkpointed_nets() -> None:
    class Segment(Net):
        reentrant = False

        def forward(self, x: Any, states: Any) -> Tensor:
            return checkpoint(super().forward, x.requires_grad_(), states,  # type: ignore[no-any-return]
                              use_reentrant=self.reentrant)
    for ours, _ in KINDS:
        for reentrant in (False, True):
            model = Segment(ours)
            model.reentrant = reentrant
            check(model, loss_of)


@case
def nets_under_autocast() -> None:
    """In 32 bits, since torch's, too, computes states in 32."""
    def loss(model: Any, rank: int) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output, _ = model[1](model[0](whole(rank, 3, 2, 6)))
        assert output.dtype == torch.float32
        return output.pow(2).sum()
    for ours, _ in KINDS:
        torch.manual_seed(4)
        model: Any = nn.Sequential(nn.Linear(6, INPUTS), ours(INPUTS, HIDDEN))
        check_near(model, loss)


@case
def factors_of_nets_send_less() -> None:
    for ours, _ in KINDS:
        counting = COMM.counting()
        model: Any = ours(200, 100, bias=False)
        dsop.torch.attach(model, counting)
        before = counting.traffic()["payload_bytes"]
        model(whole(COMM.rank, 2, 1, 200))[0].sum().backward()
        sent = counting.traffic()["payload_bytes"] - before
        assert sent < 4 * sum(p.numel() for p in model.parameters()) // 4, sent


@case
def copies_and_states_of_nets() -> None:
    for ours, theirs in KINDS:
        model = Net(ours)
        attachment = dsop.torch.attach(model, average="sum")
        Net(theirs).load_state_dict(model.state_dict())
        stream = io.BytesIO()
        torch.save(model, stream)
        stream.seek(0)
        for other in (copy.deepcopy(model), loaded(stream)):
            assert type(other.net) is ours
            loss_of(other, COMM.rank, steps=1 + COMM.rank).backward()  # alone: sends nothing
            expected = plain_sum(Net(ours), loss_of)
        attachment.detach()
        loss_of(model, COMM.rank, steps=1 + COMM.rank).backward()
        model.zero_grad(set_to_none=True)
        dsop.torch.attach(model, average="sum")
        loss_of(model, COMM.rank).backward()
        has_gradients(model, expected)


@case
def bad_input_of_nets() -> None:
    raises_everywhere("proj_size is 2, expected 0", lambda: dsop.torch.LSTM(5, 4, proj_size=2))
    for ours, _ in KINDS:
        net = ours(INPUTS, HIDDEN)
        raises_everywhere("input is (2, 3, 4), expected 2 or 3 dimensions, the last of 5",
                          lambda: net(torch.ones(2, 3, 4)))
        raises_everywhere("expected 2 or 3 dimensions", lambda: net(torch.ones(5)))
        raises_everywhere("expected at least one step", lambda: net(torch.ones(0, 3, 5)))
        state = torch.zeros(1, 2, HIDDEN)
        packed = pack_padded_sequence(torch.ones(2, 3, 5), torch.tensor([1, 2, 1]), enforce_sorted=False)
        for x, wrong, words in (
                (torch.ones(2, 3, 5), state, "(1, 2, 4) for layers, sequences and hidden size, expected (1, 3, 4)"),
                (packed, state, "(1, 2, 4) for layers, sequences and hidden size, expected (1, 3, 4)"),
                (torch.ones(2, 5), state, "(1, 2, 4) for layers and hidden size, expected (1, 4)"),
                (torch.ones(2, 3, 5), state[0], "(2, 4) for layers, sequences and hidden size, expected (1, 3, 4)")):
            states = (wrong, wrong) if ours is dsop.torch.LSTM else wrong
            raises_everywhere(f"h_0 is {words}", lambda: net(x, states))
        x = torch.ones(2, 3, INPUTS, requires_grad=True)
        raises_everywhere("create_graph=True",
                          lambda: torch.autograd.grad(net(x)[0].sum(), x, create_graph=True), RuntimeError)
