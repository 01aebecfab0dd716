"""attach(): what makes an ordinary PyTorch program data-parallel."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import torch
from torch import distributed, nn

import dsop
from dsop import _mpi
from dsop._communicators import SaidToAll
from dsop._mpi import communicator
from dsop.torch._attachment import Attachment, attached
from dsop.torch._autograd import check_no_early_hook, is_compiled
from dsop.torch._compat import note_version
from dsop.torch._failures import check_not_over
from dsop.torch._givers import GIVERS, bias_of, groups_of, weights_of
from dsop.torch._joint import Joint, WithBias, joints_of
from dsop.torch._parameter import Parameter
from dsop.torch._ranks import broadcast_tensors, buffer_line, check_buffer, check_parameter, check_same_lines

WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel")  # by name: to import the second takes long
AVERAGES = ("ranks", "samples", "sum")


def _check_model(model: nn.Module) -> None:
    if not isinstance(model, nn.Module):
        raise dsop.ArgumentError(f"model is {type(model).__name__}, expected a torch.nn.Module")
    if is_compiled(model):
        raise dsop.ArgumentError("model, or a part of it, is compiled already by torch.compile() or its compile(), expected "
                                 "a plain module: attach it first, and compile it then")
    if isinstance(model, torch.jit.ScriptModule):  # type: ignore[attr-defined]
        raise dsop.ArgumentError("model is made by torch.jit.script() or trace(), which takes no hooks, expected the "
                                 "module that it was made of")
    for module in model.modules():
        wrapper = next((base.__name__ for base in type(module).__mro__ if base.__name__ in WRAPPERS), "")
        if wrapper:
            raise dsop.ArgumentError(f"model has a {wrapper} in it, expected the module that it wraps")


def _check_process_group(ranks: dsop.Communicator) -> None:
    """Each process of torch.multiprocessing.spawn() would be alone, and train by itself."""
    if ranks is _mpi._world and distributed.is_available() and distributed.is_initialized():
        others = distributed.get_world_size()
        if others > ranks.size:
            raise dsop.ArgumentError(f"torch.distributed has {others} ranks and dsop {ranks.size}, expected as many: start "
                                     "the program by mpirun or torchrun, or give comm=torch.distributed.group.WORLD")


def _check_parameter(name: str, parameter: nn.Parameter) -> None:
    if nn.parameter.is_lazy(parameter):
        raise dsop.ArgumentError(f"{name} has no shape yet, expected a model that has run once")
    check_parameter(name, parameter)
    check_no_early_hook(name, parameter)
    if any(attachment.holds(parameter) for attachment in attached):
        raise dsop.ArgumentError(f"{name} is attached already, expected a model that is not")


def _note_modules(model: nn.Module, of_id: Mapping[int, Parameter]) -> None:
    """Tell parameters which modules they are weights of."""
    for module in model.modules():
        giver = GIVERS.get(type(module))
        for weight in itertools.chain(*giver.weights(module)) if giver else []:
            p = of_id.get(id(weight))
            if p is None:  # weight norm and the like: it is made of others
                continue
            why_dense = giver.why_dense(module) if giver else ""
            if why_dense:
                p.why_dense = why_dense
            elif p.policy.startswith("dsop"):
                p.unit_rows = giver.unit_rows and (p.unit_rows or not p.gives_factors) if giver else False
                p.gives_factors = True
            else:
                p.why_dense = "by its policy"
    for module in model.modules():
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.sparse:
            p = of_id.get(id(module.weight))
            if p is not None and not p.gives_factors and p.policy.startswith("dsop"):
                p.has_sparse_grad = p.unit_rows = True


def _parameters_of(model: nn.Module, average: str, policies: Mapping[str, str]) -> list[Parameter]:
    """The model's, each with its policy. Raises ArgumentError where attach() can't take the model."""
    _check_model(model)
    if average not in AVERAGES:
        raise dsop.ArgumentError(f"average is {average}, expected one of {', '.join(AVERAGES)}")
    if not isinstance(policies, Mapping):
        raise dsop.ArgumentError(f"policies is {type(policies).__name__}, expected a mapping of patterns to policies")
    for pattern, policy in policies.items():
        if not isinstance(pattern, str) or not isinstance(policy, str):
            raise dsop.ArgumentError(f"policies has {pattern!r}: {policy!r}, expected two texts")
    rows = {id(m.weight) for m in model.modules() if isinstance(m, (nn.Embedding, nn.EmbeddingBag)) and m.sparse}
    weights = rows | {id(weight) for module in model.modules() for weight in weights_of(module)}
    found = []
    unused = set(policies)
    for name, parameter in model.named_parameters():
        _check_parameter(name, parameter)
        matching = [pattern for pattern in policies if fnmatch.fnmatchcase(name, pattern)]
        unused -= set(matching)
        policy = policies[matching[0]] if matching else "dsop" if id(parameter) in weights else "dense"
        if parameter.numel():
            found.append(Parameter(name, parameter, policy))
            found[-1].is_by_default = not matching  # a policy that is named is kept to
            found[-1].may_be_in_16_bits = found[-1].is_by_default and policy == "dsop" and found[-1].dtype == torch.float32
    if unused:
        raise dsop.ArgumentError(f"policies has {sorted(unused)[0]}, expected patterns that name a parameter")
    if not found:
        raise dsop.ArgumentError("model has no parameters, expected at least one")
    _note_modules(model, {id(p.parameter): p for p in found})
    return found


def _joints_of(model: nn.Module, parameters: Sequence[Parameter], average: str) -> list[Joint]:
    of_id = {id(p.parameter): p for p in parameters}
    groups = [tuple(of_id[id(weight)] for weight in together if id(weight) in of_id)
              for module in model.modules() for together in groups_of(module)]
    biases = [(weight, bias_of(module)) for module in model.modules() for weight in weights_of(module)]
    joints = joints_of(groups, [(of_id[id(weight)], of_id[id(bias)]) for weight, bias in biases
                                if id(weight) in of_id and id(bias) in of_id])
    for joint in joints:
        if average == "samples" and isinstance(joint, WithBias):  # by which a rank's inputs are multiplied, not its errors
            joint.bias.gives_factors = False
    return joints


def attach(model: nn.Module, comm: Any = None, average: str = "ranks",
           policies: Optional[Mapping[str, str]] = None, find_nans: bool = False) -> Attachment:
    """Sum a model's gradients over ranks in each backward(), and start from rank 0's parameters and buffers.

    When the outermost backward() returns, .grad is complete and has the same bits on all ranks, in the tensor that
    .grad was. The model and its parameters stay the same objects; a module that gives factors is of a subclass of its
    type until detach(). Call it on all ranks, before the first forward.

    Parameters
    ----------
    model : torch.nn.Module
        Of float32, float64 and bfloat16 parameters, on the CPU; the last are summed in float32, and rounded
        once. Weights of nn.Linear, dsop.torch.LSTM and GRU may travel as
        factors (two matrices of as many rows as there are samples, or steps of all sequences), and with those of
        nn.Linear its bias; those of nn.Embedding as the rows that were looked up; all else travels as gradients.
    comm : None, Communicator, or a communicator of mpi4py or torch
        None is everybody: all ranks that mpirun, srun or torchrun has started, or this process alone. Else as for
        `dsop.communicator`, which also takes a ProcessGroup and a DeviceMesh.
    average : {"ranks", "samples", "sum"}
        What the sum is divided by: ranks, as DistributedDataParallel does; samples, where each rank calls
        Attachment.samples(n) before backward(), and its gradient counts n times; or nothing.
    policies : mapping of str to str, optional
        Synchronizer's policies by patterns of parameter names, such as {"head.*": "topk:0.01"}; the first that matches
        counts. Default: "dense", but for the weights named above "dsop", and "dsop-bf16" in steps in which all ranks'
        factors are bf16, as those of nn.Linear under autocast. A bias that is named travels by itself.
    find_nans : bool
        Whether a step fails on all ranks if one has NaN or infinity in its gradients, or in their factors. Reads them
        once more.

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
    note_version()
    ranks = communicator(comm)
    check_not_over(ranks)
    with SaidToAll(ranks):
        _check_process_group(ranks)
        parameters = _parameters_of(model, average, policies or {})
        joints = _joints_of(model, parameters, average) if ranks.size > 1 else []
        if ranks.size > 1:
            for name, buffer in model.named_buffers():
                check_buffer(name, buffer)
        lines = [f"average {average}", f"find_nans {find_nans}"]
        lines += [f"parameter {p.name} {list(p.parameter.shape)} {p.parameter.dtype} under policy {p.policy}"
                  + " or dsop-bf16" * p.may_be_in_16_bits + " and sparse" * p.has_sparse_grad for p in parameters]
        lines += [f"one product for {joint.name}" for joint in joints]
        lines += [buffer_line(name, buffer) for name, buffer in model.named_buffers()]
    check_same_lines(lines, ranks)
    broadcast_tensors([p.parameter for p in parameters], ranks)
    broadcast_tensors(list(model.buffers()), ranks)
    return Attachment(model, ranks, average, parameters, joints, find_nans)
