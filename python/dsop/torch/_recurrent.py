"""nn.LSTM and nn.GRU whose weights' gradients are factors: torch's own hand out finished gradients alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from dsop._library import ArgumentError
from dsop.torch._cells import GruLayer, Layer, LstmLayer
from dsop.torch._compat import is_autocast_enabled, opaque, own_precision
from dsop.torch._givers import GIVERS, Giver, gives_none


class _Batch:
    """A module's input as rows, step by step, and the way back."""

    def __init__(self, given: Any, batch_first: bool) -> None:
        self._packed = given if isinstance(given, PackedSequence) else None
        self._batch_first, self.is_single = batch_first, self._packed is None and given.dim() == 2
        if self._packed is not None:
            self.rows, self.sizes = given.data, given.batch_sizes.tolist()
            return
        steps_first = given.unsqueeze(1) if self.is_single else given.transpose(0, 1) if batch_first else given
        self.rows = steps_first.reshape(-1, given.shape[-1])
        self.sizes = [steps_first.shape[1]] * steps_first.shape[0]

    def output(self, rows: Tensor) -> Any:
        if self._packed is not None:
            return self._packed._replace(data=rows)
        steps_first = rows.view(len(self.sizes), self.sizes[0], rows.shape[1])
        return (steps_first.squeeze(1) if self.is_single else steps_first.transpose(0, 1) if self._batch_first
                else steps_first)

    def states_before(self, state: Tensor) -> Tensor:
        """As a caller gives them, in the order of the rows."""
        if self._packed is not None and self._packed.sorted_indices is not None:
            return state.index_select(1, self._packed.sorted_indices)
        return state.unsqueeze(1) if self.is_single else state

    def states_after(self, state: Tensor) -> Tensor:
        if self._packed is not None and self._packed.unsorted_indices is not None:
            return state.index_select(1, self._packed.unsorted_indices)
        return state.squeeze(1) if self.is_single else state


def _initial_states(module: Any, batch: _Batch, given: Optional[Sequence[Tensor]],
                    names: Sequence[str]) -> list[Tensor]:
    layers = module.num_layers * (1 + module.bidirectional)
    if given is None:
        return [batch.rows.new_zeros(layers, batch.sizes[0], module.hidden_size)] * len(names)
    if batch.is_single:
        words, expected = "layers and hidden size", [layers, module.hidden_size]
    else:
        words, expected = "layers, sequences and hidden size", [layers, batch.sizes[0], module.hidden_size]
    for name, state in zip(names, given):
        if list(state.shape) != expected:
            raise ArgumentError(f"{name} is {tuple(state.shape)} for {words}, expected {tuple(expected)}")
    return [batch.states_before(state) for state in given]


def _run_layers(module: Any, layer_function: type[Layer], batch: _Batch,
                states: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """The last layer's output, and the states after the last step of all layers and directions."""
    keeper = module.__dict__.get("_dsop_keeper", lambda weight: None)
    x, sizes = batch.rows, batch.sizes
    orders = [range(len(sizes)), range(len(sizes))[::-1]][:1 + module.bidirectional]
    last: list[Any] = []
    for layer in range(module.num_layers):
        if layer and module.dropout:
            x = functional.dropout(x, module.dropout, module.training)
        outputs = []
        for order in orders:
            w_ih, w_hh, *biases = module.all_weights[len(last)]
            output, *after = layer_function.apply((keeper(w_ih), keeper(w_hh)), sizes, order, x, w_ih, w_hh,
                                                  *(biases or (None, None)), *(state[len(last)] for state in states))
            outputs.append(output)
            last.append(after)
        x = torch.cat(outputs, 1) if len(outputs) > 1 else outputs[0]
    return x, [torch.stack(state) for state in zip(*last)]


def _forward(module: Any, layer_function: type[Layer], given: Any, states: Optional[Sequence[Tensor]],
             names: Sequence[str]) -> tuple[Any, list[Tensor]]:
    """With a graph for backward(); without one torch's own are faster."""
    is_packed = isinstance(given, PackedSequence)
    shape = tuple((given.data if is_packed else given).shape)
    if len(shape) not in (2, 3 - is_packed) or shape[-1] != module.input_size:
        raise ArgumentError(f"input is {shape}, expected {'2' if is_packed else '2 or 3'} dimensions, the last of "
                            f"{module.input_size}")
    batch = _Batch(given, module.batch_first)
    if not batch.sizes:
        raise ArgumentError(f"input is {shape}, expected at least one step")
    before = _initial_states(module, batch, states, names)
    if is_autocast_enabled():  # under which torch's, too, take 16-bit inputs and compute states in 32
        kind = module.weight_ih_l0.dtype
        batch.rows, before = batch.rows.to(kind), [state.to(kind) for state in before]
    with own_precision():
        output, after = _run_layers(module, layer_function, batch, before)
    return batch.output(output), [batch.states_after(state) for state in after]


def _state(module: nn.Module) -> dict[str, Any]:
    """Of a copy, which is attached to nothing. Weak references torch makes anew."""
    return {name: value for name, value in module.__dict__.items() if name not in ("_dsop_keeper", "_flat_weight_refs")}


class LSTM(nn.LSTM):
    """An `nn.LSTM` that attach() can take factors from: both weights of each layer then may travel as such.

    Everything is as nn.LSTM has it: arguments, inputs (batched, single or packed), results, parameters and their names;
    either loads the other's state_dict(). Values and gradients equal its within rounding. A rank's factors have as many
    rows as its sequences have steps, all together: errors of the gates, which travel once for both weights, inputs and
    hidden states. Unattached, backward() makes the gradients, by one product a weight. Under torch.no_grad() torch's own
    program runs.

    Raises
    ------
    ArgumentError
        proj_size is not 0; inputs or states have wrong shapes.
    RuntimeError
        Gradients of gradients are asked for.

    Examples
    --------
    >>> model = dsop.torch.LSTM(input_size=3, hidden_size=2, batch_first=True)
    >>> output, (h_n, c_n) = model(torch.zeros(4, 5, 3))
    >>> output.shape
    torch.Size([4, 5, 2])
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)  # type: ignore[no-untyped-call]
        if self.proj_size:
            raise ArgumentError(f"proj_size is {self.proj_size}, expected 0")

    @opaque
    def forward(self, input: Any, hx: Optional[tuple[Tensor, Tensor]] = None) -> Any:
        if gives_none():
            return super().forward(input, hx)
        output, (h_n, c_n) = _forward(self, LstmLayer, input, hx, ("h_0", "c_0"))
        return output, (h_n, c_n)

    def __getstate__(self) -> dict[str, Any]:
        return _state(self)


class GRU(nn.GRU):
    """An `nn.GRU` that attach() can take factors from. As `LSTM`, but that its two weights travel each by itself.

    Examples
    --------
    >>> output, h_n = dsop.torch.GRU(3, 2)(torch.zeros(5, 4, 3))
    >>> h_n.shape
    torch.Size([1, 4, 2])
    """

    @opaque
    def forward(self, input: Any, hx: Optional[Tensor] = None) -> Any:
        if gives_none():
            return super().forward(input, hx)
        output, (h_n,) = _forward(self, GruLayer, input, None if hx is None else (hx,), ("h_0",))
        return output, h_n

    def __getstate__(self) -> dict[str, Any]:
        return _state(self)


def _weights(module: Any) -> list[list[Tensor]]:
    """Of each layer and direction. An LSTM's have the errors of the gates in common, a GRU's not all of them."""
    pairs = [weights[:2] for weights in module.all_weights]
    return pairs if isinstance(module, nn.LSTM) else [[weight] for pair in pairs for weight in pair]


def _whose_is_opaque(module: Any) -> str:
    name = type(module).__name__
    return "proj_size" if module.proj_size else f"nn.{name}: dsop.torch.{name} has factors"


for kind, of_torch in ((LSTM, nn.LSTM), (GRU, nn.GRU)):
    GIVERS[kind] = Giver(kind, _weights)
    GIVERS[of_torch] = Giver(of_torch, _weights, _whose_is_opaque)
