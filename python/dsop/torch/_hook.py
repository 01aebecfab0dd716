"""TopKHook: DistributedDataParallel whose gradients are summed by dsop's top-k allreduces."""
# Annotations are types here, not texts, which DistributedDataParallel would refuse.

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, distributed
from torch.distributed import GradBucket  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel

import dsop
from dsop._communicators import SaidToAll
from dsop._mpi import communicator
from dsop.torch import _failures
from dsop.torch._ranks import SUMMED_AS, check_dtype, check_same_lines, own_state

_PYTHON_REDUCER = ("model is a DistributedDataParallel that torch._dynamo.config.optimize_ddp='python_reducer' leaves without "
                   "buckets, expected another value when it was made")


class _Bucket(NamedTuple):
    """Of the step that runs."""

    future: torch.futures.Future[Tensor]
    values: Tensor
    parameters: list[Tensor]


class TopKHook:
    """A communication hook for DistributedDataParallel: each rank sends the largest elements alone.

    What a rank does not send stays behind, and is added to its next gradient. It is kept by parameter, not by bucket:
    DistributedDataParallel makes its buckets anew after the first step. A step's calls begin with the first bucket and
    are complete with the last; the mean over ranks is what comes back, as without a hook.

    register(model) makes it the model's. Where only a pair of state and hook can be given, it is the state of `topk_hook`.
    Parameters then have no names, but numbers.

    Parameters
    ----------
    policy : str
        A synchronizer's, for each parameter: "topk:DENSITY", "ok-topk:DENSITY", or another algorithm that selects.
    comm : None, Communicator, or a communicator of mpi4py or torch
        The same ranks as the model's process group. None is everybody.

    Raises
    ------
    ArgumentError
        On all ranks. By register(), or the first backward() without it: the policy is unknown, the model is no
        DistributedDataParallel, or the ranks' models or policies differ. By backward(): the ranks' calls differ.
        DistributedDataParallel takes no step after one that has raised: let the exception end the program, which ends all
        ranks.

    Examples
    --------
    >>> hook = dsop.torch.TopKHook("ok-topk:0.01")  # doctest: +SKIP
    >>> hook.register(model)  # a DistributedDataParallel  # doctest: +SKIP
    >>> model.register_comm_hook(hook, dsop.torch.topk_hook)  # the same, without names  # doctest: +SKIP
    """

    def __init__(self, policy: str, comm: Any = None) -> None:
        self._policy, self._comm, self._is_everybody = policy, communicator(comm), comm is None
        self._of_type: dict[torch.dtype, dsop.Synchronizer] = {}
        self._name_of: dict[int, str] = {}  # by parameter's id
        self._state: Any = None  # that waits for parameters
        self._buckets: list[_Bucket] = []
        self._sums: list[Tensor] = []  # of buckets

    def register(self, model: Any) -> None:
        """Be the model's hook. Once, on all ranks, before the first backward()."""
        with SaidToAll(self._comm):
            if self._name_of:
                raise dsop.ArgumentError("the hook has a model already, expected another hook for another model")
            if not isinstance(model, DistributedDataParallel):
                raise dsop.ArgumentError(f"model is {type(model).__name__}, expected a DistributedDataParallel")
            if getattr(model, "_use_python_reducer", False):
                raise dsop.ArgumentError(_PYTHON_REDUCER)
            self._check_ranks(distributed.get_world_size(model.process_group))
            ignored: Any = model.parameters_to_ignore
            parameters = [(name, p) for name, p in model.module.named_parameters()
                          if p.requires_grad and p.numel() and name not in ignored]
        self._take(parameters)
        register: Any = model.register_comm_hook
        register(self, topk_hook)

    def _check_ranks(self, ranks: int) -> None:
        if ranks != self._comm.size:
            raise dsop.ArgumentError(f"model's process group has {ranks} ranks, expected comm's {self._comm.size}")

    def _take(self, parameters: Sequence[tuple[str, Tensor]]) -> None:
        with SaidToAll(self._comm):
            for name, p in parameters:
                check_dtype(name, p)
        check_same_lines([f"policy {self._policy}", *(f"parameter {name} of {p.numel()} {p.dtype}"
                                                      for name, p in parameters)], self._comm)
        for kind in sorted({SUMMED_AS[p.dtype] for _, p in parameters}, key=str):
            self._of_type[kind] = dsop.Synchronizer(str(kind).removeprefix("torch."), self._comm)
        for name, p in parameters:
            self._of_type[SUMMED_AS[p.dtype]].add(name, p.numel(), self._policy)
        self._name_of = {id(p): name for name, p in parameters}
        _failures.watch_end(self._comm)
        if self._state is not None:
            self.load_state_dict(self._state)

    def _take_from_buckets(self) -> None:
        """The first step's are cut from model.parameters(), each type by itself, and come last first."""
        with SaidToAll(self._comm):
            if self._is_everybody:
                self._check_ranks(distributed.get_world_size())
        seen: Counter[torch.dtype] = Counter()
        parameters = []
        for p in (p for bucket in reversed(self._buckets) for p in bucket.parameters if p.numel()):
            parameters.append((f"{p.dtype} {seen[p.dtype]}", p))
            seen[p.dtype] += 1
        self._take(parameters)

    def sum_bucket(self, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        """What `topk_hook` calls."""
        made = _Bucket(torch.futures.Future(), bucket.buffer(), bucket.parameters())
        self._buckets.append(made)
        if self._name_of:
            self._give(made)
        elif bucket.is_last():
            self._take_from_buckets()
            for each in self._buckets:
                self._give(each)
        if bucket.is_last():
            self._end_step()
        return made.future

    def _give(self, bucket: _Bucket) -> None:
        if not self._sums:
            for synchronizer in self._of_type.values():
                synchronizer.begin(scale=1 / self._comm.size)
        kind = SUMMED_AS[bucket.values.dtype]
        self._sums.append(bucket.values.to(kind))
        sizes = [p.numel() for p in bucket.parameters]
        for p, values in zip(bucket.parameters, torch.split(self._sums[-1], sizes)):
            if p.numel():
                self._of_type[kind].give_gradient(self._name_of[id(p)], values.numpy())

    def _end_step(self) -> None:
        buckets, sums, self._buckets, self._sums = self._buckets, self._sums, [], []
        for synchronizer in self._of_type.values():
            synchronizer.finish()
        for bucket, total in zip(buckets, sums):
            bucket.future.set_result(bucket.values.copy_(total))

    def describe(self) -> str:
        """The synchronizers' tables of parameters, algorithms, bytes and times. Sends nothing."""
        return "\n".join(f"{kind}:\n{synchronizer.describe()}" for kind, synchronizer in self._of_type.items())

    def reset_residuals(self) -> None:
        """Set to zero what this rank has left behind, as after a step that overflowed. Sends nothing."""
        for synchronizer in self._of_type.values():
            synchronizer.reset_residuals()

    def state_dict(self) -> dict[str, Any]:
        """What this rank has left behind, by parameter, and states of algorithms, as Attachment.state_dict() has it."""
        return {f"dsop/rank{self._comm.rank}": {str(kind): of.save() for kind, of in self._of_type.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what state_dict() gave on the same rank of as many. On all ranks.

        Before register(), or before the first step without it, it is taken when the parameters are known.
        """
        self._state = None if self._name_of else state
        if not self._name_of:
            return
        with SaidToAll(self._comm):
            found = own_state(state, self._comm)
            if set(found) != {str(kind) for kind in self._of_type}:
                raise dsop.ArgumentError(f"state on rank {self._comm.rank} is of {', '.join(found) or 'nothing'}, "
                                         f"expected {', '.join(map(str, self._of_type))}")
        for kind, synchronizer in self._of_type.items():
            synchronizer.load(found[str(kind)])


def topk_hook(state: TopKHook, bucket: GradBucket) -> torch.futures.Future[Tensor]:
    """A communication hook, as DistributedDataParallel.register_comm_hook() takes it.

    Parameters
    ----------
    state : TopKHook
        Of this model alone.
    bucket : torch.distributed.GradBucket
        Comes from DistributedDataParallel.
    """
    if not isinstance(state, TopKHook):
        raise dsop.ArgumentError(f"state is {type(state).__name__}, expected a dsop.torch.TopKHook")
    if not isinstance(bucket, GradBucket):
        raise dsop.ArgumentError(_PYTHON_REDUCER)
    return state.sum_bucket(bucket)
