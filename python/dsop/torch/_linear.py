"""nn.Linear whose weight's gradient is kept as factors."""

from __future__ import annotations

from contextlib import nullcontext
from functools import lru_cache, partial
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from dsop.torch import _compat
from dsop.torch._autograd import accumulates, node_of_input
from dsop.torch._givers import GIVERS, Attached, Giver, Keep, Keeper, gives_none, is_plain


def _cast(tensor: Optional[Tensor], kind: torch.dtype) -> Any:
    """As autocast does, which leaves float64 alone."""
    return tensor if tensor is None or tensor.dtype == torch.float64 else tensor.to(kind)


@lru_cache(maxsize=8)
def _ones(rows: int, kind: torch.dtype) -> Tensor:
    return torch.ones(rows, 1, dtype=kind)


class _Product(torch.autograd.Function):
    """x W^T + bias. Its backward hands (grad_output, x) to `keep`, and makes no gradient of W.

    Nor of the bias, where its keeper takes factors, too: the same errors, and ones in place of x.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Optional[Tensor],  # type: ignore[override]
                keep: Keep, keeper: Keeper) -> Tensor:
        ctx.keep, ctx.type_of_x = keep, x.dtype
        is_rounded = _compat.is_autocast_enabled()
        ctx.keeper_of_bias = None if bias is None or is_rounded else partial(keeper, bias)
        if is_rounded:
            kind = _compat.autocast_dtype()
            x, weight, bias = (_cast(tensor, kind) for tensor in (x, weight, bias))
        # As torch does: what no gradient depends on may be changed in place before backward().
        ctx.save_for_backward(x, weight if ctx.needs_input_grad[0] else None)
        with _compat.own_precision() if is_rounded else nullcontext():
            return functional.linear(x, weight, bias)

    @staticmethod
    @_compat.opaque
    def backward(ctx: Any, grad_output: Tensor) -> Any:  # type: ignore[override]
        x, weight = ctx.saved_tensors
        needs_x, needs_weight, needs_bias, _, _ = ctx.needs_input_grad
        of_bias = None
        # Asked here, since the program may have got a hook on it meanwhile.
        keep_bias = ctx.keeper_of_bias and needs_bias and needs_weight and ctx.keeper_of_bias()
        if keep_bias and accumulates(node_of_input(ctx, 2)):
            grad_output = grad_output.contiguous()  # the same for both
            keep_bias(grad_output, _ones(len(grad_output), grad_output.dtype), node_of_input(ctx, 2))
        elif needs_bias:
            of_bias = grad_output.sum(0)
        if needs_weight:
            ctx.keep(grad_output, x, node_of_input(ctx, 1))
        of_x = grad_output @ weight if needs_x else None
        if of_x is not None and of_x.dtype != ctx.type_of_x:
            of_x = of_x.to(ctx.type_of_x)
        return of_x, None, of_bias, None, None


class Linear(Attached, nn.Linear):
    """What attach() makes of an nn.Linear."""

    _dsop_type = nn.Linear

    def _takes(self, input: Any) -> bool:
        return is_plain(input) and input.shape[-1:] == (self.in_features,)

    @_compat.opaque
    def forward(self, input: Tensor) -> Tensor:
        weight, bias = self.weight, self.bias
        keep = None if gives_none() or not self._takes(input) else self._dsop_keeper(weight)
        if keep is None:
            return functional.linear(input, weight, bias)
        if input.dim() == 2:
            return _Product.apply(input, weight, bias, keep, self._dsop_keeper)  # type: ignore[no-any-return]
        # Reshaped out here: what a Function returns as a view can't be changed in place.
        rows = _Product.apply(input.reshape(-1, self.in_features), weight, bias, keep, self._dsop_keeper)
        return rows.view(*input.shape[:-1], self.out_features)  # type: ignore[no-any-return]


GIVERS[nn.Linear] = Giver(Linear, lambda module: [[module.weight]],
                          bias=lambda module: module.bias)  # type: ignore[no-any-return]
