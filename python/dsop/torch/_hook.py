"""TopKHook: DistributedDataParallel whose gradients are summed by dsop's top-k allreduces."""
# Annotations are types here, not texts, which DistributedDataParallel would refuse.

from typing import Any

import torch
from torch import Tensor, distributed
from torch.distributed import GradBucket  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel

import dsop
from dsop._communicators import SaidToAll
from dsop._mpi import communicator
from dsop.torch import _failures
from dsop.torch._ranks import check_dtype, check_same_lines


class TopKHook:
    """A communication hook for DistributedDataParallel: each rank sends the largest elements alone.

    What a rank does not send stays behind, and is added to its next gradient. It is kept by parameter, not by bucket:
    DistributedDataParallel makes its buckets anew after the first step. A step's calls begin with the first bucket and
    are complete with the last; the mean over ranks is what comes back, as without a hook.

    Parameters
    ----------
    policy : str
        A synchronizer's, for each parameter: "topk:DENSITY", "ok-topk:DENSITY", or another algorithm that selects.
    comm : None, mpi4py.MPI.Comm or Communicator
        The same ranks as the model's process group. None is everybody.

    Raises
    ------
    ArgumentError
        On all ranks. By register(): the policy is unknown, the model is no DistributedDataParallel, or the ranks'
        models or policies differ. By backward(): the ranks' calls differ. DistributedDataParallel
        takes no step after one that has raised: let the exception end the program, which ends all ranks.

    Examples
    --------
    >>> hook = dsop.torch.TopKHook("ok-topk:0.01")  # doctest: +SKIP
    >>> hook.register(model)  # a DistributedDataParallel  # doctest: +SKIP
    """

    def __init__(self, policy: str, comm: Any = None) -> None:
        self._policy, self._comm = policy, communicator(comm)
        self._of_type: dict[torch.dtype, dsop.Synchronizer] = {}
        self._name_of: dict[int, str] = {}  # by parameter's id
        self._summed: list[tuple[Any, Tensor]] = []  # futures and buckets of the step that runs

    def register(self, model: Any) -> None:
        """Be the model's hook. Once, on all ranks, before the first backward()."""
        with SaidToAll(self._comm):
            if self._name_of:
                raise dsop.ArgumentError("the hook has a model already, expected another hook for another model")
            if not isinstance(model, DistributedDataParallel):
                raise dsop.ArgumentError(f"model is {type(model).__name__}, expected a DistributedDataParallel")
            ranks = distributed.get_world_size(model.process_group)
            if ranks != self._comm.size:
                raise dsop.ArgumentError(f"model's process group has {ranks} ranks, expected comm's {self._comm.size}")
            ignored: Any = model.parameters_to_ignore
            parameters = [(name, p) for name, p in model.module.named_parameters()
                          if p.requires_grad and p.numel() and name not in ignored]
            for name, p in parameters:
                check_dtype(name, p)
        check_same_lines([f"policy {self._policy}", *(f"parameter {name} of {p.numel()} {p.dtype}"
                                                      for name, p in parameters)], self._comm)
        for kind in sorted({p.dtype for _, p in parameters}, key=str):
            self._of_type[kind] = dsop.Synchronizer(str(kind).removeprefix("torch."), self._comm)
        for name, p in parameters:
            self._of_type[p.dtype].add(name, p.numel(), self._policy)
        self._name_of = {id(p): name for name, p in parameters}
        _failures.watch_end(self._comm)
        register: Any = model.register_comm_hook
        register(None, self._sum_bucket)

    def _sum_bucket(self, _: Any, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        if bucket.index() == 0:
            for synchronizer in self._of_type.values():
                synchronizer.begin(scale=1 / self._comm.size)
        values, begin = bucket.buffer(), 0
        for p in bucket.parameters():
            end = begin + p.numel()
            if p.numel():
                self._of_type[values.dtype].give_gradient(self._name_of[id(p)], values[begin:end].numpy())
            begin = end
        future: torch.futures.Future[Tensor] = torch.futures.Future()
        self._summed.append((future, values))
        if bucket.is_last():
            self._end_step()
        return future

    def _end_step(self) -> None:
        summed, self._summed = self._summed, []
        for synchronizer in self._of_type.values():
            synchronizer.finish()
        for future, values in summed:
            future.set_result(values)

    def describe(self) -> str:
        """The synchronizers' tables of parameters, algorithms, bytes and times. Sends nothing."""
        return "\n".join(f"{kind}:\n{synchronizer.describe()}" for kind, synchronizer in self._of_type.items())

    def reset_residuals(self) -> None:
        """Set to zero what this rank has left behind, as after a step that overflowed. Sends nothing."""
        for synchronizer in self._of_type.values():
            synchronizer.reset_residuals()

    def state_dict(self) -> dict[str, bytes]:
        """What this rank has left behind, by parameter, and states of algorithms. Save it per rank."""
        return {str(kind): synchronizer.save() for kind, synchronizer in self._of_type.items()}

    def load_state_dict(self, state: dict[str, bytes]) -> None:
        """Take back what state_dict() gave on the same rank of as many. After register(), on all ranks."""
        with SaidToAll(self._comm):
            if set(state) != {str(kind) for kind in self._of_type}:
                raise dsop.ArgumentError(f"state on rank {self._comm.rank} is of {', '.join(state) or 'nothing'}, "
                                         f"expected {', '.join(map(str, self._of_type)) or 'register() before'}")
        for kind, synchronizer in self._of_type.items():
            synchronizer.load(state[str(kind)])
