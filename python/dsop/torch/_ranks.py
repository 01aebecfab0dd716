"""What ranks agree on before the first step, and when buffers have changed: one model, with rank 0's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import dsop
from dsop._arrays import DTYPES
from dsop._communicators import SaidToAll
from dsop.torch._autograd import modules_of

# Types of parameters, and of their sums. Those of bf16 are rounded once, when they become .grad.
SUMMED_AS = {**{kind: kind for kind in (getattr(torch, str(dtype)) for dtype in DTYPES)}, torch.bfloat16: torch.float32}
_TOGETHER_BYTES = 1 << 22  # in a broadcast


def check_dtype(name: str, tensor: Tensor) -> None:
    """Raise ArgumentError unless it lies on the CPU and dsop sums its type."""
    if tensor.dtype not in SUMMED_AS or tensor.device.type != "cpu":
        raise dsop.ArgumentError(f"{name} is {tensor.dtype} on {tensor.device}, expected "
                                 f"{' or '.join(map(str, SUMMED_AS))} on cpu, where model.cpu() puts it")


def _share_memory(tensor: Tensor) -> bool:
    """Whether two elements of a strided tensor lie in one place, as those of an expanded one; or perhaps do."""
    reach = 0  # of the dimensions of smaller steps
    for step, size in sorted((step, size) for step, size in zip(tensor.stride(), tensor.shape) if size > 1):
        if step <= reach:
            return tensor.numel() > 0
        reach += step * (size - 1)
    return False


def _why_not_plain(tensor: Tensor) -> str:
    """What it is instead of elements on the CPU, each in memory of its own; empty: nothing else."""
    if type(tensor).__torch_dispatch__ is not Tensor.__torch_dispatch__:
        return f"a {type(tensor).__name__}"  # of elements elsewhere, as DTensor
    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized or tensor.device.type != "cpu":
        return "nested" if tensor.is_nested else f"{tensor.dtype}, {tensor.layout} on {tensor.device}"
    return "expanded" if _share_memory(tensor) else ""


def check_parameter(name: str, parameter: Tensor) -> None:
    """Raise ArgumentError unless it is whole, on the CPU, and dsop sums its type."""
    kind = _why_not_plain(parameter)
    if kind.startswith("a "):
        raise dsop.ArgumentError(f"{name} is {kind}, expected a plain tensor, whole on each rank: attach the model without "
                                 "FSDP and tensor parallelism")
    if kind in ("expanded", "nested"):
        raise dsop.ArgumentError(f"{name} is {kind}, expected elements of its own, as of nn.Parameter(tensor.contiguous())")
    check_dtype(name, parameter)
    if kind:
        raise dsop.ArgumentError(f"{name} is {kind}, expected {torch.strided}")


def check_buffer(name: str, buffer: Tensor) -> None:
    """Raise ArgumentError unless it can be broadcast: elements on the CPU, each in memory of its own."""
    kind = _why_not_plain(buffer)
    if kind:
        raise dsop.ArgumentError(f"buffer {name} is {kind}, expected elements of its own on cpu, or an attribute that is "
                                 "no buffer")


def buffer_line(name: str, buffer: Tensor) -> str:
    return f"buffer {name} {list(buffer.shape)} {buffer.dtype}"


def own_state(state: Any, comm: dsop.Communicator) -> Any:
    """This rank's part of what state_dict() gives; older ones have it by itself."""
    name, ranks = f"dsop/rank{comm.rank}", [str(key) for key in state or () if str(key).startswith("dsop/rank")]
    if ranks and name not in ranks:
        raise dsop.ArgumentError(f"state on rank {comm.rank} is of {', '.join(ranks)}, expected {name}")
    return state[name] if ranks else state


class Buffers:
    """A model's, which are rank 0's after each step."""

    def __init__(self, model: nn.Module) -> None:
        self._model, self._known = model, self._look(model)

    @staticmethod
    def _look(model: nn.Module) -> list[Any]:
        modules = list(modules_of(model))
        found = {id(b): (name, b) for module in modules for name, b in module._buffers.items() if b is not None}
        names = [tuple(module._modules) for module in modules if module._modules] if found else []
        return [*names, *((name, b.shape, b.dtype, b.device, b.layout, b.layout == torch.strided and b.stride())
                          for name, b in found.values())]

    def has_changed(self) -> bool:
        """Other names, types or shapes than when ranks agreed on them."""
        return self._look(self._model) != self._known

    def agree(self, comm: dsop.Communicator) -> None:
        """Raise ArgumentError on all ranks unless all have buffers of the same names, types and shapes."""
        buffers = list(self._model.named_buffers())
        with SaidToAll(comm):
            for name, buffer in buffers:
                check_buffer(name, buffer)
        check_same_lines([buffer_line(name, buffer) for name, buffer in buffers], comm)
        self._known = self._look(self._model)

    def broadcast(self, comm: dsop.Communicator) -> None:
        broadcast_tensors(list(self._model.buffers()), comm)


def broadcast_bytes(data: bytes, comm: dsop.Communicator) -> bytes:
    """Rank 0's."""
    length = np.array([float(len(data))])
    dsop.broadcast(length, comm=comm)
    words = np.zeros(-(-int(length[0]) // 8))
    if comm.rank == 0:
        words.view(np.uint8)[:len(data)] = np.frombuffer(data, np.uint8)
    dsop.broadcast(words, comm=comm)
    return words.tobytes()[:int(length[0])]


def check_same_lines(own: list[str], comm: dsop.Communicator) -> None:
    """Raise ArgumentError on all ranks, with the first line that differs, unless all ranks have the same lines."""
    text = broadcast_bytes("\n".join(own).encode(), comm).decode()
    first = text.split("\n") if text else []
    with SaidToAll(comm):
        for line in range(max(len(own), len(first))):
            ours, theirs = (lines[line] if line < len(lines) else "nothing more" for lines in (own, first))
            if ours != theirs:
                raise dsop.ArgumentError(f"model on rank {comm.rank} has {ours}, expected rank 0's {theirs}")
    dsop.allreduce(np.zeros(1), comm)  # where ranks hear that another's lines differ


def _bytes_of(tensor: Tensor) -> bytes:
    values = tensor.detach().contiguous()
    if values.dtype == torch.bfloat16:  # which NumPy lacks
        values = values.view(torch.int16)
    return bytes(values.numpy().tobytes())


def _bytes_in(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def broadcast_tensors(tensors: Sequence[Tensor], comm: dsop.Communicator) -> None:
    """Make the tensors, of types and shapes that are the same on all ranks, those of rank 0.

    Small ones together, so that it needs few messages, and little memory beside them.
    """
    together: list[Tensor] = []
    total = 0
    for tensor in tensors if comm.size > 1 else ():
        size = _bytes_in(tensor)
        if total and total + size > _TOGETHER_BYTES:
            _broadcast(together, comm)
            together, total = [], 0
        together.append(tensor)
        total += size
    if total:
        _broadcast(together, comm)


def _broadcast(tensors: Sequence[Tensor], comm: dsop.Communicator) -> None:
    sizes = [_bytes_in(tensor) for tensor in tensors]
    words = np.zeros(-(-sum(sizes) // 8))
    data = words.view(np.uint8)
    if comm.rank == 0:
        data[:sum(sizes)] = np.frombuffer(b"".join(map(_bytes_of, tensors)), np.uint8)
    dsop.broadcast(words, comm=comm)
    at = 0
    for tensor, size in zip(tensors, sizes):
        if comm.rank and size:
            values = torch.from_numpy(data[at:at + size].copy()).view(tensor.dtype).view(tensor.shape)
            # .data: no new version, of which backward passes that are still to come would complain.
            tensor.data.copy_(values)
        at += size
