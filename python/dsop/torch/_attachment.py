"""A model whose gradients are summed over ranks by each backward()."""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any, Optional

import torch
from torch import Tensor, nn

import dsop
from dsop._job_end import at_exit
from dsop._library import real_number
from dsop.torch import _failures, _report
from dsop.torch._autograd import (at_end_of_backward, check_backward_is_not_compiled, check_no_early_hook, is_traced,
                                  is_within_ddp, parameters_of)
from dsop.torch._compat import call_opaquely
from dsop.torch._givers import Keep
from dsop.torch._joint import Joint
from dsop.torch._model_hooks import Ties, tensors_in
from dsop.torch._parameter import Parameter
from dsop.torch._queue import queue_of
from dsop.torch._ranks import Buffers
from dsop.torch._sums import Arrivals, Sums

# Gradients of so many together are handed over at once. Layer by layer, each would find the processor's caches full of
# the rest of backward(), and take twice as long.
_MOST_OFFERED_BYTES = 1 << 18

attached: weakref.WeakSet[Attachment] = weakref.WeakSet()


class Attachment:
    """What attach() returns: a model whose gradients are summed over ranks by each backward().

    A copy of it, deep or pickled, is None, so that a model which holds it can be copied: save its state_dict().
    """

    def __init__(self, model: nn.Module, comm: dsop.Communicator, average: str, parameters: list[Parameter],
                 joints: list[Joint], find_nans: bool) -> None:
        self._model, self._comm, self._average, self._parameters = model, comm, average, parameters
        self._joints = joints
        self._of_id = {id(p.parameter): p for p in parameters}
        if comm.size == 1 and average != "samples" and not find_nans:
            for p in parameters:
                p.alone = comm if p.policy in ("dense", "dsop") and not p.has_sparse_grad else None
        self._staying = [p for p in parameters if p.stays]
        self._known = self._parameters_now()
        self._sums, self._queue = Sums(parameters, joints, comm, average, find_nans), queue_of(comm)
        self._buffers = Buffers(model)
        self._syncs, self._started = True, False
        self._offered: list[Parameter] = []  # what is complete in the backward pass that runs, not handed over yet
        self._offered_bytes = 0
        self._forward = _failures.ForwardWatch(model, lambda: self._interrupt("forward() raised an exception"))
        self._failure = ""  # of this step, within no_sync()
        self._samples: Optional[float] = None  # of the next backward pass
        self._pending_samples = 0.0
        self._log = _report.Log()
        self._ties = Ties(model, self._of_id, self._enter_forward, self._before_forward, self._after_forward,
                          self._keeper)
        for p in self._parameters:
            p.watch(self)
        _failures.watch_end(comm)
        at_exit(_settle_at_exit, weakref.ref(self))
        attached.add(self)
        self._queue.join(self, self._sums, self._drop)

    def __reduce__(self) -> Any:  # copies of a model that holds its attachment are ordinary models
        return type(None), ()

    def _parameters_now(self) -> set[tuple[int, torch.dtype]]:
        return {(id(q), q.dtype) for q in parameters_of(self._model) if q.numel()}

    def _keeper(self, weight: Tensor) -> Optional[Keep]:
        p = self._of_id.get(id(weight))
        return p.keeper() if p is not None else None

    # A step, from the forward pass on.

    def _look(self, from_call: bool = False) -> None:
        """Tell of forward passes that have raised, also of other models over the same ranks."""
        for one in list(attached):
            if one._queue is self._queue:
                one._forward.look(from_call and one is self)

    def _enter_forward(self, inputs: tuple[Any, ...]) -> Optional[tuple[Any, ...]]:
        if is_traced():  # no step
            return None
        self._look(from_call=True)
        self._queue.settle()
        if is_within_ddp():
            raise dsop.ArgumentError("the model is attached and within a DistributedDataParallel, expected one of both")
        # Where backward() computes it once more, that one tells; without gradients it is no part of a step.
        if self._started or not torch.is_grad_enabled():
            return None
        self._queue.begin()
        return self._forward.begin(inputs)

    def _before_forward(self, inputs: tuple[Any, ...]) -> Optional[tuple[Any, ...]]:
        if is_traced():
            return None
        try:
            self._check_unchanged()
        except dsop.ArgumentError as error:
            self.fail(error)
            raise
        return self._forward.watched(inputs)

    def _check_unchanged(self) -> None:
        if self._parameters_now() != self._known:
            raise dsop.ArgumentError("the model has other parameters than when it was attached, or of other types, expected "
                                     "the same: detach it and attach it again")
        for p in self._parameters:
            check_no_early_hook(p.name, p.parameter)
        check_backward_is_not_compiled()

    def _after_forward(self, _module: nn.Module, _inputs: Any, output: Any) -> None:
        self._forward.end()
        # The first that a backward pass reaches: what ends last is then the outermost pass, not a segment of
        # checkpointing's.
        for tensor in tensors_in(output):
            if tensor.grad_fn is not None:
                tensor.register_hook(partial(call_opaquely, lambda _: self._start()))  # type: ignore[no-untyped-call]

    def _start(self) -> None:
        if not self._started and self in attached:  # not of a forward pass before detach()
            self._begin_backward()

    def _begin_backward(self) -> None:
        self._look()
        self._queue.settle()
        self._queue.begin()
        self._started = True
        # With create_graph .grad would get a graph. What no_sync() has left is added in the end, to no new .grad of
        # autograd's: two parameters' may share their memory.
        for p in self._staying:
            p.in_place = self._syncs and not p.gives_factors and not p.has_gradient and not torch.is_grad_enabled()
        at_end_of_backward(self._end_backward, self._backward_raised)
        if self._syncs and not self._failure and not _failures.is_over(self._comm):
            self._queue.lead(self)

    def _offer(self, p: Parameter) -> None:
        if p.stays or not self._syncs or self._failure or self._queue.ahead is not self:
            return
        if self._average != "samples" or self._samples is not None:
            self._offered.append(p)
            self._offered_bytes += p.offered_bytes
            if self._offered_bytes >= _MOST_OFFERED_BYTES:
                self._hand_over()

    def _hand_over(self) -> None:
        offered, self._offered, self._offered_bytes = self._offered, [], 0
        weight = self._weight
        for p in offered:
            p.take(weight, copies=True)
        self._sums.offer(offered)

    @property
    def _weight(self) -> float:
        """Of the backward pass that runs."""
        return 1.0 if self._average != "samples" else self._samples or 0.0

    def _end_backward(self) -> None:
        self._started = False
        weight = self._weight
        try:
            self._hand_over()
            made = [p.end_backward(weight) for p in self._parameters]
            if any(made) and self._average == "samples" and self._samples is None:
                raise dsop.ArgumentError("samples(n) was not called before backward(), expected with average=samples")
            if any(made) and not self._syncs:
                copies: dict[Any, Tensor] = {}
                for p in self._parameters:
                    p.keep_over_steps(copies)
        except BaseException as error:
            self.fail(error)
            raise
        if not any(made):
            return self._queue.land(self)
        self._pending_samples += weight
        self._samples = None
        if self._syncs:
            self._sum()

    def _sum(self) -> None:
        ahead = self._queue.ahead
        samples, self._pending_samples = self._pending_samples, 0.0
        failure, self._failure = self._failure, ""
        try:
            if isinstance(ahead, Attachment) and ahead is not self:  # in the same backward pass: its calls were first
                ahead._end_backward()
            _failures.check_not_over(self._comm)
            if failure:
                self._sums.fail(failure)
            for p in self._staying:
                p.stay()
            with _failures.listening(self._comm):
                if failure or len(self._staying) < len(self._parameters):
                    if self._sums.run(samples, self._comm.size > 1 and self._buffers.has_changed()):
                        self._buffers.agree(self._comm)
                if self._comm.size > 1:
                    self._buffers.broadcast(self._comm)
        except BaseException:
            self._queue.drop()  # others, too, that this backward pass has reached: it ends here
            raise
        finally:
            self._queue.land(self)
        self._log.write(self._parameters, self._sums)

    # A step that fails.

    def _drop(self) -> None:
        self._forward.end()
        self._offered, self._offered_bytes = [], 0
        self._started, self._samples, self._pending_samples, self._failure = False, None, 0.0, ""
        for p in self._parameters:
            p.drop()
        for joint in self._joints:
            joint.forget()

    def _backward_raised(self) -> None:
        if self._started:  # or else it has been dropped with another model's step
            last = self._offered[-1].name if self._offered else self._queue.last_ready
            after = f" after it had the gradient of {last}" if last else ""
            self._interrupt("backward() raised an exception" + after)

    def _interrupt(self, error: str) -> None:
        """This rank's step has ended in an exception, which comes out by itself. Tells the others. Never waits."""
        error = self._failure or error
        if self._syncs:
            return self._queue.fail(self, self._sums, error)
        self._drop()
        self._queue.land(self)
        self._failure = error  # they hear of it when they sum

    def fail(self, error: object) -> None:
        """In place of a backward(), on a rank that can't make it: the other ranks' raise `error`. Waits for them.

        `error` is a text, or an exception. The step is dropped on all ranks: .grad of attached parameters become None.
        The next step may follow. What forward() raises is said without it, and what backward() raises once it has
        reached the model's output. Of several models over the same ranks, one may say it, or each of them, before the
        next forward pass.
        """
        text = str(error) or type(error).__name__
        self._forward.end()  # what it has raised is said here
        self._interrupt(text)
        self._queue.settle()

    # What the program calls.

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes within send nothing and leave .grad; the next one outside sums theirs too. On all ranks.

        What they have collected is not in .grad: zero_grad() leaves it, discard() drops it.
        """
        before, self._syncs = self._syncs, False
        try:
            yield
        except BaseException:
            self._syncs = before
            self._interrupt("an exception ended no_sync()")
            raise
        finally:
            self._syncs = before

    def discard(self) -> None:
        """Drop what backward passes within no_sync() have collected on this rank. Sends nothing."""
        self._pending_samples = 0.0
        for p in self._parameters:
            p.discard()

    def reset_residuals(self) -> None:
        """Set to zero what policies such as "topk:0.01" have left behind on this rank. Sends nothing.

        For after a step that overflowed, whose NaN and infinities would else come back, a few in each step. As NaN is
        the same on all ranks in .grad, all can see when to call it.
        """
        self._queue.settle()
        self._check_between_steps("reset_residuals()")
        for synchronizer in self._sums.entries.synchronizers.values():
            synchronizer.reset_residuals()

    def samples(self, count: int) -> None:
        """Say how many samples the loss of this rank's next backward() is the mean of, for average="samples"."""
        samples = real_number(count, "count")
        if self._average != "samples" or not 0 <= samples < math.inf:
            raise dsop.ArgumentError(f"samples({count}) with average={self._average}, expected a count of at least 0 "
                                     "with average=samples")
        self._look()  # before it is dropped with a step that has failed
        self._samples = samples

    def idle(self) -> None:
        """In place of a backward(), on a rank that has no data for this step: its share of all sums is 0.

        .grad is what it is on the others. Within no_sync() it sends nothing, as backward().
        """
        self._look()
        self._forward.end()  # in the handler of what it has raised, too
        self._queue.settle()
        self._queue.begin()
        self._samples = None  # of a batch that turned out to be none
        if self._syncs:
            self._sum()

    def describe(self) -> str:
        """How each parameter's gradient travels, and why; then the synchronizers' tables.

        Sends nothing, unless this rank's last step has failed.
        """
        self._queue.settle()
        return "\n".join([*_report.lines(self._parameters, self._sums), self._sums.entries.describe()])

    def arrivals(self) -> Arrivals:
        """How late each rank came to the end of backward(). The same on all ranks; sends nothing."""
        return self._sums.arrivals()

    def state_dict(self) -> dict[str, Any]:
        """What this rank knows between steps: residuals, and what else the next sums' bits depend on.

        Save it per rank, the model on rank 0. It is plain, with bytes, under a key of this rank's own, so that
        torch.distributed.checkpoint keeps those of all ranks. Sends nothing, unless this rank's last step has failed.
        """
        self._queue.settle()
        self._check_between_steps("state_dict()")
        return self._sums.state_dict()

    def _check_between_steps(self, call: str) -> None:
        if any(p.has_gradient for p in self._parameters):
            raise dsop.ArgumentError(f"{call} between no_sync() and the backward() that sums, expected after it")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what state_dict() gave on the same rank of as many. On all ranks."""
        self._queue.settle()
        self._sums.load_state_dict(state)

    def detach(self) -> None:
        """Make the model an ordinary one again, on this rank. Sends nothing, unless its last step has failed."""
        self._look()
        self._queue.settle()
        self._check_between_steps("detach()")
        self._ties.cut()
        for p in self._parameters:
            p.unwatch()
        attached.discard(self)
        self._queue.leave(self)

    def holds(self, parameter: Tensor) -> bool:
        return id(parameter) in self._of_id


def _settle_at_exit(reference: weakref.ref[Attachment]) -> None:
    attachment = reference()
    if attachment is not None and attachment in attached:
        attachment._forward.look()
        attachment._queue.settle()
