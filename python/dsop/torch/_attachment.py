"""A model whose gradients are summed over ranks by each backward()."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Optional

import torch
from torch import Tensor, nn

import dsop
from dsop._communicators import SaidToAll
from dsop.torch import _linear
from dsop.torch._autograd import at_end_of_backward
from dsop.torch._parameter import Parameter
from dsop.torch._ranks import broadcast_tensors
from dsop.torch._sums import Sums

attached: weakref.WeakSet[Attachment] = weakref.WeakSet()


class _Hook:
    """A hook of the model's that copies of the model, deep or pickled, have without effect."""

    def __init__(self, call: Any = None) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> None:
        if self._call is not None:
            self._call(*arguments)

    def __reduce__(self) -> Any:
        return _Hook, ()


def _tensors_in(output: Any) -> Iterator[Tensor]:
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from _tensors_in(value)
    elif isinstance(output, (list, tuple)):
        for value in output:
            yield from _tensors_in(value)


class Attachment:
    """What attach() returns: a model whose gradients are summed over ranks by each backward()."""

    def __init__(self, model: nn.Module, comm: dsop.Communicator, average: str, parameters: list[Parameter]) -> None:
        self._model, self._comm, self._average, self._parameters = model, comm, average, parameters
        self._of_id = {id(p.parameter): p for p in parameters}
        self._layers = [m for m in model.modules() if type(m) is nn.Linear and id(m.weight) in self._of_id]
        for layer in self._layers:
            self._of_id[id(layer.weight)].gives_factors = self._of_id[id(layer.weight)].policy.startswith("dsop")
        self._sums = Sums(parameters, comm)
        self._syncs, self._started = True, False
        self._still_runs: Callable[[], bool] = lambda: False
        self._samples: Optional[float] = None  # of the next backward pass
        self._pending_samples = 0.0
        self._hooks = [model.register_forward_pre_hook(_Hook(lambda *_: self._before_forward())),
                       model.register_forward_hook(_Hook(self._after_forward))]
        for layer in self._layers:
            _linear.take_over(layer, self._keeper)
        self._watch_parameters()

    def _watch_parameters(self) -> None:
        for p in self._parameters:
            p.watch(self._start)

    def _keeper(self, weight: Tensor) -> Optional[_linear.Keep]:
        p = self._of_id.get(id(weight))
        if p is None or not p.gives_factors:
            return None

        keep_factors = p.keep

        def keep(a: Tensor, b: Tensor) -> None:
            self._start()
            keep_factors(a, b)
        return keep

    def _before_forward(self) -> None:
        self._fail_if_interrupted()
        known = {id(q) for q in self._model.parameters() if q.numel()}
        if known != set(self._of_id):
            text = ("the model has other parameters than when it was attached, expected the "
                    "same: detach it and attach it again")
            self.fail(text)
            raise dsop.ArgumentError(text)
        self._watch_parameters()  # requires_grad may have changed

    def _after_forward(self, _module: nn.Module, _inputs: Any, output: Any) -> None:
        # The first that a backward pass reaches: what ends last is then the outermost pass, not a segment of
        # checkpointing's.
        for tensor in _tensors_in(output):
            if tensor.requires_grad:
                tensor.register_hook(lambda _: self._start())  # type: ignore[no-untyped-call]

    def _start(self) -> None:
        self._fail_if_interrupted()
        if not self._started:
            self._started, self._still_runs = True, at_end_of_backward(self._end_backward)

    def _end_backward(self) -> None:
        self._started = False
        weight = 1.0
        if self._average == "samples":
            weight = self._samples if self._samples is not None else 0.0
        made = [p.end_backward(weight) for p in self._parameters]
        if not any(made):
            return
        if self._average == "samples" and self._samples is None:
            text = "samples(n) was not called before backward(), expected with average=samples"
            self.fail(text)
            raise dsop.ArgumentError(text)
        self._pending_samples += weight
        self._samples = None
        if self._syncs:
            self._sum()
        else:
            for p in self._parameters:
                p.keep_over_steps()

    def _sum(self) -> None:
        samples, self._pending_samples = self._pending_samples, 0.0
        try:
            with SaidToAll(self._comm):
                for p in self._parameters:
                    if p.dense is not None and p.dense.layout != torch.strided:
                        raise dsop.ArgumentError(f"gradient of {p.name} is sparse on rank {self._comm.rank}, expected "
                                                 "a dense one")
            self._sums.run(samples, self._average)
            buffers = list(self._model.buffers())
            if buffers:
                broadcast_tensors(buffers, self._comm)
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        self._started, self._samples, self._pending_samples = False, None, 0.0
        for p in self._parameters:
            p.drop()

    def _fail_if_interrupted(self) -> None:
        if self._started and not self._still_runs():
            self.fail("a backward pass ended in an exception")

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes within send nothing and leave .grad; the next one outside sums theirs too. On all ranks."""
        before, self._syncs = self._syncs, False
        try:
            yield
        finally:
            self._syncs = before

    def samples(self, count: int) -> None:
        """Say how many samples the loss of this rank's next backward() is the mean of, for average="samples"."""
        if self._average != "samples" or count < 0:
            raise dsop.ArgumentError(f"samples({count}) with average={self._average}, expected a count of at least 0 "
                                     "with average=samples")
        self._samples = float(count)

    def idle(self) -> None:
        """In place of a backward(), on a rank that has no data for this step: its share of all sums is 0.

        .grad is what it is on the others.
        """
        self._sum()

    def fail(self, error: str) -> None:
        """In place of a backward(), on a rank that can't make it: the other ranks' raise `error`. Waits for them.

        The step is dropped on all ranks: .grad of attached parameters become None. The next step may follow.
        """
        self._drop()
        with contextlib.suppress(dsop.ArgumentError):
            self._comm.fail(error)  # which adds the rank

    def describe(self) -> str:
        """How each parameter's gradient travels, and why; then the synchronizers' tables. Sends nothing."""
        lines = []
        for p in self._parameters:
            how = f"dense, {p.why_dense}"
            if p.gives_factors:
                how = "dense, used outside its nn.Linear" if p.used_elsewhere else "factors"
            algorithm = self._sums.algorithm(p)
            lines.append(f"{p.name} {'x'.join(map(str, p.parameter.shape))}: {how}; policy {p.policy}; "
                         + (f"last summed by {algorithm}" if algorithm else "not in the last step"))
        return "\n".join([*lines, self._sums.describe()])

    def state_dict(self) -> dict[str, Any]:
        """This rank's residuals and states of algorithms, between steps. Save it per rank, the model on rank 0."""
        if any(p.has_gradient for p in self._parameters):
            raise dsop.ArgumentError("state_dict() between no_sync() and the backward() that sums, expected after it")
        return self._sums.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what state_dict() gave on the same rank of as many. On all ranks."""
        with SaidToAll(self._comm):
            missing = {"most_pairs", "synchronizers"} - set(state)
            if missing or set(state["most_pairs"]) != {p.name for p in self._parameters}:
                raise dsop.ArgumentError(f"state on rank {self._comm.rank} is of another model, expected one of this")
        self._sums.load_state_dict(state)

    def detach(self) -> None:
        """Make the model an ordinary one again, on this rank. Sends nothing."""
        for hook in self._hooks:
            hook.remove()
        for layer in self._layers:
            _linear.give_back(layer)
        for p in self._parameters:
            p.unwatch()
        self._layers, self._hooks = [], []
        attached.discard(self)

    def holds(self, parameter: Tensor) -> bool:
        return id(parameter) in self._of_id


def fail_at_exit(reference: weakref.ref[Attachment]) -> None:
    """A rank that ends after a backward pass that raised says so to those who wait for it."""
    attachment = reference()
    if attachment is not None and attachment in attached:
        attachment._fail_if_interrupted()
