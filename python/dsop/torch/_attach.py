"""attach(): what makes an ordinary PyTorch program data-parallel."""

from __future__ import annotations

import atexit
import fnmatch
import weakref
from collections.abc import Mapping
from typing import Any, Optional

import torch
from torch import nn

import dsop
from dsop._communicators import SaidToAll, communicator
from dsop.torch._attachment import Attachment, attached, fail_at_exit
from dsop.torch._parameter import Parameter
from dsop.torch._ranks import broadcast_tensors, check_same_lines

AVERAGES = ("ranks", "samples", "sum")


def _parameters_of(model: nn.Module, average: str, policies: Mapping[str, str]) -> list[Parameter]:
    """The model's, each with its policy. Raises ArgumentError where attach() can't take the model."""
    if not isinstance(model, nn.Module):
        raise dsop.ArgumentError(f"model is {type(model).__name__}, expected a torch.nn.Module")
    if average not in AVERAGES:
        raise dsop.ArgumentError(f"average is {average}, expected one of {', '.join(AVERAGES)}")
    for name, module in model.named_modules():
        if isinstance(module, nn.parallel.DistributedDataParallel):
            raise dsop.ArgumentError("model has a DistributedDataParallel in it, expected the module that it wraps")
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.sparse:
            raise dsop.ArgumentError(f"{name} has sparse=True, expected sparse=False")
    weights = {id(m.weight) for m in model.modules() if type(m) is nn.Linear}
    found = []
    unused = set(policies)
    for name, parameter in model.named_parameters():
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            raise dsop.ArgumentError(f"{name} has no shape yet, expected a model that has run once")
        if parameter.dtype not in (torch.float32, torch.float64) or parameter.device.type != "cpu":
            raise dsop.ArgumentError(f"{name} is {parameter.dtype} on {parameter.device}, expected torch.float32 or "
                                     "torch.float64 on cpu")
        if any(attachment.holds(parameter) for attachment in attached):
            raise dsop.ArgumentError(f"{name} is attached already, expected a model that is not")
        matching = [pattern for pattern in policies if fnmatch.fnmatchcase(name, pattern)]
        unused -= set(matching)
        policy = policies[matching[0]] if matching else "dsop" if id(parameter) in weights else "dense"
        if parameter.numel():
            found.append(Parameter(name, parameter, policy))
            if id(parameter) in weights:
                found[-1].why_dense = "by its policy"
    if unused:
        raise dsop.ArgumentError(f"policies has {sorted(unused)[0]}, expected patterns that name a parameter")
    if not found:
        raise dsop.ArgumentError("model has no parameters, expected at least one")
    return found


def attach(model: nn.Module, comm: Any = None, average: str = "ranks",
           policies: Optional[Mapping[str, str]] = None) -> Attachment:
    """Sum a model's gradients over ranks in each backward(), and start from rank 0's parameters and buffers.

    When the outermost backward() returns, .grad is complete and has the same bits on all ranks, in the tensor that
    .grad was. The model stays what it is. Call it on all ranks, before the first forward.

    Parameters
    ----------
    model : torch.nn.Module
        Of float32 and float64 parameters, on the CPU. Weights of nn.Linear may travel as factors (two matrices of as
        many rows as there are samples); all else travels as gradients.
    comm : None, mpi4py.MPI.Comm or Communicator
        None is everybody: all ranks that mpirun has started, or this process alone.
    average : {"ranks", "samples", "sum"}
        What the sum is divided by: ranks, as DistributedDataParallel does; samples, where each rank calls
        Attachment.samples(n) before backward(), and its gradient counts n times; or nothing.
    policies : mapping of str to str, optional
        Synchronizer's policies by patterns of parameter names, such as {"head.*": "topk:0.01"}; the first that matches
        counts. Default: "dsop" for weights of nn.Linear, "dense" for all else.

    Returns
    -------
    Attachment
        It may be ignored: the model keeps it.

    Raises
    ------
    ArgumentError
        On all ranks: the model can't be taken, or the ranks' models, averages or policies differ. backward() raises it
        on all ranks if a step fails on one; .grad of all attached parameters is then None.

    Examples
    --------
    >>> model = torch.nn.Linear(3, 2)
    >>> attachment = dsop.torch.attach(model)
    >>> model(torch.ones(4, 3)).sum().backward()
    >>> model.weight.grad[0]
    tensor([4., 4., 4.])
    """
    ranks = communicator(comm)
    with SaidToAll(ranks):
        parameters = _parameters_of(model, average, policies or {})
        lines = [f"average {average}", *(f"parameter {p.name} {list(p.parameter.shape)} {p.parameter.dtype} under "
                                         f"policy {p.policy}" for p in parameters)]
        lines += [f"buffer {name} {list(buffer.shape)} {buffer.dtype}" for name, buffer in model.named_buffers()]
    check_same_lines(lines, ranks)
    for p in parameters:
        broadcast_tensors([p.parameter], ranks)
    broadcast_tensors(list(model.buffers()), ranks)
    attachment = Attachment(model, ranks, average, parameters)
    attached.add(attachment)
    atexit.register(fail_at_exit, weakref.ref(attachment))
    return attachment
