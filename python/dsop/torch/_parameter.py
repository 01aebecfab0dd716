"""What one parameter's gradient is on this rank, from backward passes to the sum over ranks."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any, Optional, Protocol

import torch
from torch import Tensor

import dsop
from dsop.torch._autograd import Watch, at_end_of_pass
from dsop.torch._compat import is_autocast_enabled
from dsop.torch._givers import Keep
from dsop.torch._ranks import SUMMED_AS
from dsop.torch._room import Room
from dsop.torch._summand import Summand

_Kept = tuple[Tensor, Tensor, int, int]  # factors a and b, and which versions of them were given
_MANY_ELEMENTS = 1 << 16  # from here on dsop's product, with its call, is faster than PyTorch's,
_FEW_PAIRS = 128  # of at most so many; of more it would be OpenBLAS's, which takes memory beside PyTorch's


class Step(Protocol):
    """What the backward passes of a model do to its parameters."""

    def _start(self) -> None: ...

    def _offer(self, p: Parameter) -> None: ...


class Parameter(Summand):
    """A parameter, and this rank's gradient that is still to be summed: dense part + sum of outer products.

    While a backward pass runs, .grad is put aside, so that autograd makes a new one of what this pass alone adds; of what
    stays on this rank, and has no factors, it is left where it is.
    """

    def __init__(self, name: str, parameter: torch.nn.Parameter, policy: str) -> None:
        super().__init__(name, parameter.shape, SUMMED_AS[parameter.dtype], policy)
        self.parameter = parameter
        self.why_dense = "it has no factors"
        self.alone: Optional[dsop.Communicator] = None  # this rank is, and what it has is the sum, which stays here
        self.in_place = False  # autograd adds to .grad by itself, in the pass that runs
        self.most_kept_in_joint = 0  # pairs, where another weight's have the same a
        self.most_unmultiplied_in_joint: Optional[float] = None  # the same
        self.used_elsewhere = False  # some rank's last step had a dense part beside the factors
        self._watch: Optional[Watch] = None
        self._step: Callable[[], Optional[Step]] = lambda: None
        self.offered_bytes = parameter.numel() * torch.finfo(self.dtype).bits // 8  # of what is handed over once it is complete
        self.parts = self,
        self._clear_pass()
        self._clear()

    def collect(self, most_pairs: float = math.inf) -> None:
        """It is one by itself."""

    def split(self, totals: Sequence[Tensor]) -> Iterable[tuple[Parameter, Tensor]]:
        return [(self, totals[0])]

    def _clear_pass(self) -> None:
        self._kept: dict[object, _Kept] = {}  # of a weight that the engine has not come to yet
        self._fresh: list[_Kept] = []  # part of its gradient, and not taken yet
        self._product: Optional[Tensor] = None  # the same, multiplied
        self._lent: list[tuple[weakref.ref[Tensor], int]] = []  # parts of factors while they are used; their versions
        self._is_changed = False  # one of them was, in place
        self._is_aside = self._has_made = False
        self._aside: Optional[Tensor] = None

    def _clear(self) -> None:
        # What has been handed over of this step: something; is_dense; with factors that 16 bits can't say.
        self.is_given = self.was_dense = self.was_wide = False
        self._is_made_elsewhere = False  # a part of it, by autograd
        self.forget()

    def become_bias(self) -> None:
        """Of a weight whose module hands over factors of both."""
        self.is_bias = self.gives_factors = True
        self.shape = torch.Size((self.shape.numel(), 1))
        self.room = Room(self.shape, self.dtype)

    @cached_property
    def stays(self) -> bool:
        return self.alone is not None

    @cached_property
    def is_small_alone(self) -> bool:
        """This rank is alone, and PyTorch's own product of so few elements is as fast as dsop's."""
        return self.stays and self.gives_factors and self.shape.numel() < _MANY_ELEMENTS

    def keeper(self) -> Optional[Keep]:
        """Where a module's factors go; None where autograd shall make the gradient, or the program has hooks on it."""
        if not self.gives_factors or self._watch is None or not self._watch.is_alone(self.parameter):
            return None
        # Under autocast PyTorch would round its own product to 16 bits.
        return None if self.is_small_alone and not is_autocast_enabled() else self._keep

    def watch(self, step: Step) -> None:
        """Have step._start() called by each backward pass that reaches the parameter, step._offer(self) when it is done.

        The parameter's hooks don't hold this object: what a tensor's hooks hold Python never frees while the engine's node
        for it is held, as `Watch` does.
        """
        if self.parameter.is_inference():  # it never has a gradient
            return
        found, step_of = weakref.ref(self), weakref.ref(step)
        self._step = step_of

        def before() -> None:
            p, step = found(), step_of()
            if p is None or step is None:  # the model is gone
                return
            step._start()
            if p.in_place:
                p._has_made = True
            elif not p._is_aside:
                p._aside, p.parameter.grad, p._is_aside = p.parameter.grad, None, True

        def after() -> None:
            p, step = found(), step_of()
            if p is None or step is None:
                return
            step._start()
            if p._kept:
                p._fresh += p._kept.values()
                p._kept.clear()
                p._multiply_at_once()
            step._offer(p)
        # Only factors and what travels early wait for that.
        self._watch = Watch(self.name, self.parameter, before, None if self.stays and not self.gives_factors else after)

    def unwatch(self) -> None:
        if self._watch is not None:
            self._watch.remove()
            self._watch = None

    def _keep(self, a: Tensor, b: Tensor, node: Any) -> None:
        """A module hands over factors, in the backward pass that runs, or in an autograd.grad() within it."""
        step = self._step()
        if self._watch is None or step is None:
            return self._add_now(a, b)
        step._start()
        self._watch.follow(node)
        key = object()  # what is called at the end must not keep the factors
        self._kept[key] = a, b, a._version, b._version
        at_end_of_pass(partial(self._kept.pop, key, None))  # what autograd.grad() makes is no part of a gradient

    def _take_fresh(self) -> list[tuple[Tensor, Tensor]]:
        """Without their graph. Notes whether one was changed since it was given."""
        fresh = []
        for a, b, version_a, version_b in self._fresh:
            self._is_changed = self._is_changed or a._version != version_a or b._version != version_b
            if a.requires_grad or b.requires_grad:
                a, b = a.detach(), b.detach()
            self._lent += (weakref.ref(a), version_a), (weakref.ref(b), version_b)
            fresh.append((a, b))
        self._fresh = []
        return fresh

    def _note_changes(self) -> None:
        for found, version in self._lent:
            part = found()
            self._is_changed = self._is_changed or part is not None and part._version != version

    def _multiply_at_once(self) -> None:
        """Make the product of what is complete, where the factors would be kept for nothing, or take more memory than it."""
        if not self.stays:
            most = self.most_unmultiplied if self.most_unmultiplied_in_joint is None else self.most_unmultiplied_in_joint
            if self.policy != "dsop" and not self.is_bias:
                return
            if sum(b.shape[0] if b.dtype != torch.bfloat16 else b.shape[0] / 2 for _, b, _, _ in self._fresh) <= most:
                return
        fresh = [(a if a.dim() == 1 else a.to(self.dtype).contiguous(), b.to(self.dtype).contiguous())
                 for a, b in self._take_fresh()]
        if self._product is None:
            self._product = self.room.take()
            (a, b), *fresh = fresh
            if a.dim() == 1:
                self._product.zero_().index_add_(0, a, b)
            elif self.stays and not self.is_small_alone and len(a) <= _FEW_PAIRS:
                dsop.outer_product(a.numpy(), b.numpy(), out=self._product.numpy(), comm=self.alone)
            else:
                torch.mm(a.t(), b, out=self._product)
        self._add_products(self._product, fresh)

    def _add_now(self, a: Tensor, b: Tensor) -> None:
        """A module that is attached no more hands over factors, of a forward pass from before."""
        self.factors = [(a.detach(), b.detach())]
        self.add_to_grad(self.as_dense())
        self.forget()

    def _unit_rows(self, numbers: Tensor, kind: torch.dtype) -> Tensor:
        return torch.zeros(len(numbers), self.shape[0], dtype=kind).scatter_(1, numbers[:, None], 1)

    def _take_made(self, given: Tensor, weight: float, copies: bool) -> None:
        made = given.to(self.dtype)
        if self.has_sparse_grad and made.layout != torch.strided:
            made = made.coalesce()  # with its rows apart: torch's product of none of them and a number has no columns
            return self.factors.append((made.indices()[0], made.values() * weight if weight != 1 else made.values()))
        if self.gives_factors and made.layout != torch.strided:
            made = made.to_dense()
        self._check_dense(made)
        self._is_made_elsewhere = self.gives_factors
        copies = copies and made is given
        made = made.reshape(self.shape)
        self._add_dense(made * weight if weight != 1 else self.room.take().copy_(made) if copies else made)

    def _add_dense(self, made: Tensor) -> None:
        self.dense = made if self.dense is None else self.dense + made

    def _check_dense(self, made: Optional[Tensor]) -> None:
        if made is not None and made.layout != torch.strided:
            raise dsop.ArgumentError(f"gradient of {self.name} is sparse, expected a dense one")

    def take(self, weight: float, copies: bool = False) -> None:
        """Add `weight` times what this pass has made so far to what is to be summed.

        A gradient of autograd's may lie where others lie, or other tensors of the backward pass: `copies` it.
        """
        kind, product, made = self.dtype, self._product, None
        if self._is_aside:
            made, self.parameter.grad = self.parameter.grad, None
        if product is not None:
            self._product = None
            self._add_dense(product * weight if weight != 1 else product)
        self._has_made = self._has_made or made is not None or product is not None or bool(self._fresh)
        for a, b in self._take_fresh():
            if b.dtype != kind or a.dim() == 2 and a.dtype != kind:
                exact = math.frexp(weight)[0] in (0, 0.5)  # 0 or a power of 2: bf16 remains bf16
                kinds = {b.dtype, a.dtype if a.dim() == 2 else b.dtype}
                if not (self.may_be_in_16_bits and exact and kinds == {torch.bfloat16}):
                    a, b = a.to(kind) if a.dim() == 2 else a, b.to(kind)
            self.factors.append((a.contiguous(), (b * weight if weight != 1 else b).contiguous()))
        if len({a.dim() for a, _ in self.factors}) > 1:  # of an embedding that is its decoder
            self.factors = [(a if a.dim() == 2 else self._unit_rows(a, b.dtype), b) for a, b in self.factors]
        if made is not None:
            self._take_made(made.detach(), weight, copies)

    def end_backward(self, weight: float) -> bool:
        """Take the rest, and put .grad back. Whether this backward pass has made anything."""
        if self.in_place:
            has_made, self._has_made = self._has_made, False
            if has_made:
                self._check_dense(self.parameter.grad)
            return has_made
        self._note_changes()
        self.take(weight, copies=not self.stays)
        if self._is_changed:
            raise dsop.ArgumentError(f"{self.name} travels as factors, of which one was changed in place later in "
                                     f"backward(), expected it unchanged, or policies={{{self.name!r}: 'dense'}}")
        if self._is_aside:
            self.parameter.grad = self._aside
        has_made = self._has_made
        self._clear_pass()
        return has_made

    def note_given(self) -> None:
        """What it has now is handed over, and more may come in this step."""
        self.is_given = self.is_given or self.has_gradient
        self.was_dense = self.was_dense or self.is_dense
        self.was_wide = self.was_wide or self.is_wide

    def keep_over_steps(self, copies: dict[Any, Tensor]) -> None:
        """Copy what the program may change before the next backward pass; too many factors become dense.

        Of tensors in the same memory there is one copy, in `copies` of this pass.
        """
        if self.gives_factors and self.pairs > max(self.most_kept_pairs, self.most_kept_in_joint):
            self.dense, self.factors = self.as_dense(), []

        def copy(part: Tensor) -> Tensor:
            place = part.data_ptr(), part.shape
            if place not in copies:
                copies[place] = part.clone()
            return copies[place]
        self.factors = [(copy(a), copy(b)) for a, b in self.factors]

    def add_to_grad(self, total: Tensor) -> None:
        """The sum over ranks goes where .grad was, or becomes .grad."""
        grad, kind = self.parameter.grad, self.parameter.dtype
        if total.shape != self.parameter.shape:
            total = total.view(self.parameter.shape)
        if grad is None:
            if total.layout == torch.strided and not total.is_contiguous():
                total = self.room.take().copy_(total)
            self.parameter.grad = total if total.dtype == kind else total.to(kind)
        elif grad.layout != torch.strided:  # which stays sparse where both are
            both = total + grad.to(total.dtype)
            self.parameter.grad = (both.coalesce() if total.layout != torch.strided else both).to(kind)
        else:
            with torch.no_grad():
                grad.add_(total)

    def end_step(self) -> None:
        """All is summed, and in .grad."""
        self._clear()

    def stay(self) -> None:
        """End the step of a rank alone."""
        self.used_elsewhere = self._is_made_elsewhere
        if self.has_gradient:
            self.add_to_grad(self.as_dense())
            self._clear()

    def discard(self) -> None:
        """What has been collected is no part of a step."""
        self._is_made_elsewhere = False
        self.forget()

    def drop(self) -> None:
        """After a step that failed."""
        self._clear_pass()
        self._clear()
        self.parameter.grad = None
