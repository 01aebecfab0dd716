"""nn.Embedding whose weight's gradient is kept as rows: which were looked up, and what reached them."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional

from dsop.torch._autograd import node_of_input
from dsop.torch._compat import opaque
from dsop.torch._givers import GIVERS, Attached, Giver, Keep, gives_none, is_plain


class _Lookup(torch.autograd.Function):
    """Rows of the weight. Its backward hands (row numbers, grad_output) to `keep`, and makes no gradient."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, padding_idx: Optional[int],  # type: ignore[override]
                keep: Keep) -> Tensor:
        ctx.keep, ctx.padding_idx = keep, padding_idx
        ctx.save_for_backward(indices)
        return functional.embedding(indices, weight)

    @staticmethod
    @opaque
    def backward(ctx: Any, grad_output: Tensor) -> Any:  # type: ignore[override]
        indices, = ctx.saved_tensors
        numbers, rows = indices.reshape(-1).long(), grad_output.reshape(-1, grad_output.shape[-1])
        if ctx.padding_idx is not None:
            kept = numbers != ctx.padding_idx
            numbers, rows = numbers[kept], rows[kept]
        ctx.keep(numbers, rows, node_of_input(ctx, 0))
        return None, None, None, None


class Embedding(Attached, nn.Embedding):
    """What attach() makes of an nn.Embedding."""

    _dsop_type = nn.Embedding

    @opaque
    def forward(self, input: Tensor) -> Tensor:
        keep = self._dsop_keeper(self.weight) if is_plain(input) and not gives_none() else None
        if keep is None:
            return functional.embedding(input, self.weight, self.padding_idx)
        return _Lookup.apply(self.weight, input, self.padding_idx, keep)  # type: ignore[no-any-return]


def _why_dense(module: nn.Embedding) -> str:
    if module.max_norm is not None:
        return "max_norm"
    if module.scale_grad_by_freq:
        return "scale_grad_by_freq"
    return "sparse" if module.sparse else ""


GIVERS[nn.Embedding] = Giver(Embedding, lambda module: [[module.weight]], _why_dense, unit_rows=True)
