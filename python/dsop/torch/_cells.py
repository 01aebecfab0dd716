"""One layer of an LSTM or a GRU in one direction, whose weights' gradients are factors.

A batch is a matrix as in a PackedSequence: step t has sizes[t] rows, and its first rows are the same sequences as the
step's before. The errors of all steps are then the rows of one factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional

from dsop.torch._autograd import node_of_input, of_sigmoid, of_tanh
from dsop.torch._compat import opaque, own_precision
from dsop.torch._givers import Keep


def _by_step(sizes: list[int], *matrices: Tensor) -> list[list[Tensor]]:
    """Views of each step's rows."""
    return [torch.split(matrix, sizes) for matrix in matrices]


class Layer(torch.autograd.Function):
    """One layer in one direction: what is alike in LSTM and GRU.

    Inputs of apply(): where the factors of both weights go, None where autograd shall make the gradient; how many rows
    each step has; the order of steps; x; weights and biases as in state_dict(), None for no bias; the first states.
    """

    @staticmethod
    def refuse_graph() -> None:
        if torch.is_grad_enabled():
            raise RuntimeError("create_graph=True with dsop.torch.LSTM or GRU, expected False: they have no gradients "
                               "of gradients")

    @staticmethod
    def gradients(ctx: Any, x: Tensor, before: Tensor, w_ih: Tensor, errors_ih: Tensor,
                  errors_hh: Tensor) -> list[Optional[Tensor]]:
        """Of x, of both weights (or else their factors go where they go) and of both biases."""
        needed = ctx.needs_input_grad[3:8]
        made = [errors_ih @ w_ih if needed[0] else None]
        for number, (errors, rows, keep, is_needed) in enumerate(zip((errors_ih, errors_hh), (x, before), ctx.keeps,
                                                                     needed[1:3])):
            if is_needed and keep is not None:
                keep(errors, rows, node_of_input(ctx, 1 + number))
            made.append(errors.t() @ rows if is_needed and keep is None else None)
        return made + [errors.sum(0) if is_needed else None
                       for errors, is_needed in zip((errors_ih, errors_hh), needed[3:])]


class LstmLayer(Layer):

    @staticmethod
    def forward(ctx: Any, keeps: Sequence[Optional[Keep]], sizes: list[int],  # type: ignore[override]
                order: Sequence[int], x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor],
                b_hh: Optional[Tensor], hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gates = functional.linear(x, w_ih, None if b_ih is None or b_hh is None else b_ih + b_hh)
        output, before, cells_before, tanh_cells = (x.new_empty(len(x), w_hh.shape[1]) for _ in range(4))
        hidden, cell = hidden.clone(), cell.clone()
        blocks = gates.view(len(x), 4, w_hh.shape[1])
        in_and_forget, candidates, outs = _by_step(sizes, blocks[:, :2], blocks[:, 2], blocks[:, 3])
        sums, outputs, hs, cs, tanhs = _by_step(sizes, gates, output, before, cells_before, tanh_cells)
        to_gates = w_hh.t()
        for t in order:
            h, c = hidden[:sizes[t]], cell[:sizes[t]]
            hs[t].copy_(h)
            cs[t].copy_(c)
            sums[t].addmm_(h, to_gates)
            in_and_forget[t].sigmoid_()
            candidates[t].tanh_()
            outs[t].sigmoid_()
            c.mul_(in_and_forget[t][:, 1]).addcmul_(in_and_forget[t][:, 0], candidates[t])
            torch.tanh(c, out=tanhs[t])
            torch.mul(outs[t], tanhs[t], out=h)
            outputs[t].copy_(h)
        ctx.keeps, ctx.sizes, ctx.order = keeps, sizes, order
        ctx.save_for_backward(x, w_ih, w_hh, gates, before, cells_before, tanh_cells)
        return output, hidden, cell

    @staticmethod
    @opaque
    def backward(ctx: Any, of_output: Tensor, of_hidden: Tensor, of_cell: Tensor) -> Any:  # type: ignore[override]
        Layer.refuse_graph()
        x, w_ih, w_hh, gates, before, cells_before, tanh_cells = ctx.saved_tensors
        i, f, g, o = gates.view(len(x), 4, w_hh.shape[1]).unbind(1)
        # By what each gate's error is more than that of the cell, of the last gate that of the hidden state.
        errors = gates.new_empty(len(x), 4, w_hh.shape[1])
        for gate, (factor, value, slope) in enumerate(((g, i, of_sigmoid), (cells_before, f, of_sigmoid),
                                                       (i, g, of_tanh), (tanh_cells, o, of_sigmoid))):
            slope(factor, value, grad_input=errors[:, gate])
        from_hidden = torch.empty_like(before)
        of_tanh(o, tanh_cells, grad_input=from_hidden)
        given, steps, forget, to_cell = _by_step(ctx.sizes, of_output, errors, f, from_hidden)
        of_hidden, of_cell = of_hidden.clone(), of_cell.clone()
        with own_precision():
            for t in reversed(ctx.order):
                h, c = of_hidden[:ctx.sizes[t]], of_cell[:ctx.sizes[t]]
                h += given[t]
                c.addcmul_(h, to_cell[t])
                steps[t][:, :3].mul_(c.unsqueeze(1))
                steps[t][:, 3].mul_(h)
                c.mul_(forget[t])
                torch.mm(steps[t].flatten(1), w_hh, out=h)
            rows = errors.flatten(1)
            return None, None, None, *Layer.gradients(ctx, x, before, w_ih, rows, rows), of_hidden, of_cell


class GruLayer(Layer):

    @staticmethod
    def forward(ctx: Any, keeps: Sequence[Optional[Keep]], sizes: list[int],  # type: ignore[override]
                order: Sequence[int], x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor],
                b_hh: Optional[Tensor], hidden: Tensor) -> tuple[Tensor, Tensor]:
        gates = functional.linear(x, w_ih, b_ih)
        output, before, candidates_hh = (x.new_empty(len(x), w_hh.shape[1]) for _ in range(3))
        hidden = hidden.clone()
        blocks = gates.view(len(x), 3, w_hh.shape[1])
        reset_and_update, candidates, outputs, hs, of_hidden = _by_step(
            sizes, blocks[:, :2], blocks[:, 2], output, before, candidates_hh)
        for t in order:
            h = hidden[:sizes[t]]
            hs[t].copy_(h)
            sums = functional.linear(h, w_hh, b_hh).view(len(h), *blocks.shape[1:])
            reset_and_update[t].add_(sums[:, :2]).sigmoid_()
            of_hidden[t].copy_(sums[:, 2])
            candidates[t].addcmul_(reset_and_update[t][:, 0], of_hidden[t]).tanh_()
            torch.lerp(candidates[t], h, reset_and_update[t][:, 1], out=h)
            outputs[t].copy_(h)
        ctx.keeps, ctx.sizes, ctx.order = keeps, sizes, order
        ctx.save_for_backward(x, w_ih, w_hh, gates, before, candidates_hh)
        return output, hidden

    @staticmethod
    @opaque
    def backward(ctx: Any, of_output: Tensor, of_hidden: Tensor) -> Any:  # type: ignore[override]
        Layer.refuse_graph()
        x, w_ih, w_hh, gates, before, candidates_hh = ctx.saved_tensors
        r, z, n = gates.view(len(x), 3, w_hh.shape[1]).unbind(1)
        of_candidate, hidden_errors = torch.empty_like(before), torch.empty_like(before)
        of_tanh(1 - z, n, grad_input=of_candidate)
        # By what each gate's error is more than that of the hidden state.
        errors = gates.new_empty(len(x), 3, w_hh.shape[1])
        of_sigmoid(of_candidate * candidates_hh, r, grad_input=errors[:, 0])
        of_sigmoid(before - n, z, grad_input=errors[:, 1])
        torch.mul(of_candidate, r, out=errors[:, 2])
        given, steps, update, kept = _by_step(ctx.sizes, of_output, errors, z, hidden_errors)
        of_hidden = of_hidden.clone()
        with own_precision():
            for t in reversed(ctx.order):
                h = of_hidden[:ctx.sizes[t]]
                h += given[t]
                kept[t].copy_(h)
                steps[t].mul_(h.unsqueeze(1))
                h.mul_(update[t]).addmm_(steps[t].flatten(1), w_hh)
            errors_hh = errors.flatten(1)
            errors_ih = errors.clone()
            torch.mul(of_candidate, hidden_errors, out=errors_ih[:, 2])
            return (None, None, None, *Layer.gradients(ctx, x, before, w_ih, errors_ih.flatten(1), errors_hh),
                    of_hidden)
