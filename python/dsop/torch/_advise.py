"""Whether dsop helps a model, before any rank of it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import nn

from dsop._library import ArgumentError, shown
from dsop._machine import Machine, plan_outer_products

LEAST_GAIN = 1.15  # less is within what runs differ by
BUCKET_BYTES = 1 << 20  # a synchronizer's: smaller gradients travel together, and so do their factors
DENSE = ("allreduce-ring-pipelined", "allreduce-ring", "allreduce-rabenseifner", "allreduce-butterfly")


class _Weight(NamedTuple):
    name: str
    rows: int
    columns: int


def _weights_with_factors(model: nn.Module) -> list[_Weight]:
    found: dict[int, _Weight] = {}  # by the parameter: what two modules share is summed once
    for name, module in model.named_modules():
        if isinstance(module, (nn.Linear, nn.RNNBase)):
            prefix = f"{name}." if name else ""
            for own, parameter in module.named_parameters(recurse=False):
                if parameter.dim() == 2 and parameter.requires_grad:
                    found.setdefault(id(parameter), _Weight(prefix + own, *parameter.shape))
    return list(found.values())


def _dense_seconds(shape: tuple[int, int], pairs: int, ranks: int, machine: Machine) -> float:
    """Of the fastest form that sends the gradient, MPI's own left out."""
    return min(plan_outer_products(shape, [pairs] * ranks, algorithm=name, machine=machine)[1] for name in DENSE)


def _product_seconds(weight: _Weight, pairs: int, machine: Machine) -> float:
    return machine.seconds(n=weight.rows, m=weight.columns, K=pairs)["product"]


def _gathered_seconds(weights: Sequence[_Weight], pairs: int, ranks: int, machine: Machine) -> float:
    """Of one call that gathers the factors of all, and of their products beyond this rank's own."""
    words = sum(weight.rows + weight.columns for weight in weights)
    _, seconds = plan_outer_products((words - 1, 1), [pairs] * ranks, algorithm="allgather", machine=machine)
    return seconds + sum(_product_seconds(weight, pairs * ranks, machine) - _product_seconds(weight, pairs, machine)
                         for weight in weights)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.{2 if seconds < 0.01 else 1 if seconds < 0.1 else 0}f} ms"


def advise(model: nn.Module, batch: int, ranks: int, machine: Machine, *, time_steps: int = 1, step_ms: float = 0) -> str:
    """Whether `attach(model)` would make steps faster: a verdict, then a line a weight. Nothing is sent, nothing runs.

    Parameters
    ----------
    model : torch.nn.Module
        As it is. Its linear and recurrent layers' weights count as summed by dsop, small ones by one call, all else as one
        dense sum either way.
    batch : int
        Samples of a rank in a step.
    ranks : int
        How many there would be, one a host.
    machine : dsop.Machine
        Of a file that `dsop-bench calibrate` has written, or `dsop.Machine.of()` on the ranks at hand.
    time_steps : int
        Rows that a sample has in what goes into a layer: the length of a sequence.
    step_ms : float
        What a step takes on one rank, without sums. Without it sums alone are compared.

    Returns
    -------
    str
        Predictions, as if no sum hid behind arithmetic.

    Raises
    ------
    ArgumentError
        A number makes no sense, or the machine is none.

    Examples
    --------
    >>> model = torch.nn.Sequential(torch.nn.Linear(3000, 2000))
    >>> print(dsop.torch.advise(model, 16, 8, dsop.Machine(gap_per_byte_seconds=8e-9)).split(":")[0])
    it helps
    """
    for number, name, least in ((batch, "batch", 1), (ranks, "ranks", 2), (time_steps, "time_steps", 1)):
        if number < least:
            raise ArgumentError(f"{name} is {number}, expected at least {least}")
    if not step_ms >= 0:
        raise ArgumentError(f"step_ms is {step_ms}, expected a number of at least 0")
    if not isinstance(machine, Machine):
        raise ArgumentError(f"machine is {shown(machine)}, expected a dsop.Machine, as dsop.Machine(\"machine.json\")")
    weights = _weights_with_factors(model)
    pairs = batch * time_steps
    others = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    with_dsop = with_dense = 0.0
    lines: list[str] = []

    def add(what: str, seconds: float, dense_seconds: float, own: float, how: str) -> None:
        """`own` is this rank's part of both, which a step makes in any case."""
        nonlocal with_dsop, with_dense
        with_dsop += min(seconds, dense_seconds) - own
        with_dense += dense_seconds - own
        gain = dense_seconds / seconds
        ratio = "no gain" if gain < LEAST_GAIN else f"{gain:.2f}x"
        lines.append(f"{what}: {_ms(seconds)} instead of {_ms(dense_seconds)}, {ratio}; {how}")

    gathered = []
    for weight in weights:
        shape, numel = (weight.rows, weight.columns), weight.rows * weight.columns
        words = pairs * ranks * sum(shape)
        if words < 2 * numel and max(4 * words, numel) < BUCKET_BYTES:  # as a synchronizer has it
            gathered.append(weight)
        elif numel * 4 >= BUCKET_BYTES:
            text, seconds = plan_outer_products(shape, [pairs] * ranks, machine=machine)
            add(f"{weight.name} {weight.rows}x{weight.columns}", seconds, _dense_seconds(shape, pairs, ranks, machine),
                _product_seconds(weight, pairs, machine), text.splitlines()[1])
            others -= numel
    if gathered:
        dense_seconds = _dense_seconds((1, others), 1, ranks, machine)
        elements = sum(weight.rows * weight.columns for weight in gathered)
        others -= elements
        dense_seconds -= _dense_seconds((1, others), 1, ranks, machine) if others else 0
        add(f"{len(gathered)} weights, {elements} elements", _gathered_seconds(gathered, pairs, ranks, machine),
            dense_seconds, 0, "factors, in buckets")
    if others:
        seconds = _dense_seconds((1, others), 1, ranks, machine)
        with_dsop, with_dense = with_dsop + seconds, with_dense + seconds
        lines.append(f"all else, {others} elements: dense, {_ms(seconds)}")
    if not lines:
        return "no gain: the model has nothing to sum"
    step, dense_step = step_ms / 1e3 + with_dsop, step_ms / 1e3 + with_dense
    verdict = "it helps" if dense_step >= LEAST_GAIN * step else "no gain"
    what = "a step takes" if step_ms else "sums take"
    return "\n".join([f"{verdict}: {what} {_ms(step)} instead of {_ms(dense_step)} with dense sums, {dense_step / step:.2f}x",
                      *lines])
