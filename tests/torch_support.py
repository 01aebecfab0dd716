"""What the cases of torch_program.py share: models, whole-number data, and comparisons with torch.

Each rank can compute every rank's data, so the expected gradient is that of a plain copy of the model, summed over
ranks' batches. Sums of whole numbers are exact, and compared by torch.equal.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn

import dsop
import dsop.torch
from dsop._library import library
from dsop.torch._ranks import broadcast_bytes

COMM = dsop.communicator()
RANKS = range(COMM.size)
FOLDERS: list[str] = []  # that end with the program
CASES: dict[str, Callable[[], None]] = {}
Loss = Callable[[Any, int], Any]  # of a model and a rank's data
Attached = tuple[Any, dsop.torch.Attachment]  # a model, and what attach() made of it


def case(function: Callable[[], None]) -> Callable[[], None]:
    assert function.__name__ not in CASES, f"two cases are named {function.__name__}"
    CASES[function.__name__] = function
    return function


def whole(rank: int, *shape: int, seed: int = 0, dtype: Any = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(100 * seed + rank + 1)
    return torch.randint(-2, 3, shape, generator=generator).to(dtype)


def whole_weights(model: nn.Module) -> Any:
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(whole(number, *parameter.shape, seed=7))
    return model


def mlp(dtype: Any = torch.float32) -> Any:
    return whole_weights(nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=True), nn.Linear(7, 4), nn.ReLU(),
                                       nn.Linear(4, 3)).to(dtype))


def plain_sum(model: Any, loss: Loss) -> list[Any]:
    """The gradients of all ranks' losses, added by plain torch."""
    sums: list[Any] = [None for _ in model.parameters()]
    for rank in RANKS:
        made = loss(model, rank)
        if made.requires_grad:
            made.backward()
        for index, parameter in enumerate(model.parameters()):
            if parameter.grad is not None:
                sums[index] = parameter.grad if sums[index] is None else sums[index] + parameter.grad
        model.zero_grad(set_to_none=True)
    return sums


def same_everywhere(tensors: list[Any]) -> None:
    digest = hashlib.sha256(b"".join(b"-" if t is None else t.detach().numpy().tobytes() for t in tensors)).digest()
    values = np.frombuffer(digest, np.uint8).astype(np.float64)
    first = values.copy()
    dsop.broadcast(first)
    differ = np.array([float((first != values).any())])
    dsop.allreduce(differ)
    assert differ[0] == 0, "ranks' bits differ"


def has_gradients(model: Any, expected: list[Any]) -> None:
    for parameter, theirs in zip(model.parameters(), expected):
        assert parameter.grad is not None and torch.equal(parameter.grad, theirs)


def has_near_gradients(model: Any, expected: list[Any], bound: float) -> None:
    """Within `bound` times the largest element of each, and with the same bits on all ranks."""
    for parameter, theirs in zip(model.parameters(), expected):
        assert parameter.grad is not None
        assert (parameter.grad - theirs).abs().max() <= bound * theirs.abs().max()
    same_everywhere([parameter.grad for parameter in model.parameters()])


def resumed_model(train: Callable[[Any, range], Any], first: Attached, second: Attached) -> Any:
    """What steps 4 to 7 make of the model of `second`, which resumes what steps 0 to 3 have made of `first`."""
    train(first[0], range(4))
    second[0].load_state_dict(first[0].state_dict())
    second[1].load_state_dict(first[1].state_dict())
    train(second[0], range(4, 8))
    return second[0]


def step(model: Any, attachment: dsop.torch.Attachment, loss: Loss, expected: list[Any]) -> None:
    """One step, under average="sum", leaves in every .grad and on every rank the bits that are expected."""
    model.zero_grad(set_to_none=True)
    made = loss(model, COMM.rank)
    if made.requires_grad:
        made.backward()
    else:
        attachment.idle()
    got = [None if parameter.grad is None else parameter.grad.to_dense() for parameter in model.parameters()]
    for (name, _), ours, theirs in zip(model.named_parameters(), got, expected):
        assert (ours is None) == (theirs is None), (name, ours, theirs)
        assert ours is None or torch.equal(ours, theirs.to_dense()), (name, ours, theirs)
    same_everywhere(got)


def check(model: Any, loss: Loss, comm: dsop.Communicator = COMM, **options: Any) -> dsop.torch.Attachment:
    """Steps have the bits of plain torch. From the second on, gradients travel while backward goes on."""
    expected = plain_sum(model, loss)
    attachment = dsop.torch.attach(model, comm, "sum", **options)
    for _ in range(3):
        step(model, attachment, loss, expected)
    return attachment


def check_near(model: Any, loss: Loss) -> None:
    """Where products are of 16 bits: one step's gradients are those of plain torch within 2 % of their largest."""
    expected = plain_sum(model, loss)
    dsop.torch.attach(model, average="sum")
    loss(model, COMM.rank).backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in model.parameters())
    has_near_gradients(model, expected, 0.02)


def loaded(stream: Any) -> Any:
    """What torch.save() has put there, also a module, which torch 2.6 loads when told so alone."""
    load: Any = torch.load
    return load(stream, weights_only=False)  # an argument that 1.13 knows


def raises_everywhere(words: str, call: Callable[[], Any], error: type[BaseException] = dsop.ArgumentError) -> None:
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(f"nothing was raised, expected {words}")
    ones = np.ones(1)
    dsop.allreduce(ones)
    assert ones[0] == COMM.size


def on_rows(rows: Callable[[int], int]) -> Loss:
    return lambda model, rank: model(whole(rank, rows(rank), 5)).pow(2).sum()


def common_folder() -> str:
    """A new one."""
    FOLDERS.append(broadcast_bytes((tempfile.mkdtemp() if COMM.rank == 0 else "").encode(), COMM).decode())
    return FOLDERS[-1]


def run() -> None:
    """Run the cases that the arguments name, default all, and end this program, with a process group of all ranks."""
    file = f"{common_folder()}/store"
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    distributed.init_process_group("gloo", f"file://{file}", rank=COMM.rank, world_size=COMM.size)
    for name in sys.argv[1:] or CASES:
        if COMM.rank == 0:
            print(name, file=sys.stderr, flush=True)  # the last one is where a program hangs
        try:
            CASES[name]()
        except BaseException:
            print(f"{name} on rank {COMM.rank} of {COMM.size}:", file=sys.stderr)
            raise
    print("all passed\n", end="", flush=True)  # in one piece: other ranks write too
    distributed.barrier()  # type: ignore[no-untyped-call]
    if COMM.rank == 0:
        for folder in FOLDERS:
            shutil.rmtree(folder)
    # torch 1.13's Gloo now and then hangs while it ends; so it does not end.
    library.dsop_finalize()
    sys.stdout.flush()
    os._exit(0)
