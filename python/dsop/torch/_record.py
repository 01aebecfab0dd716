"""What ranks tell each other of a step before they sum what has not travelled yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import dsop
from dsop._arrays import Array
from dsop.torch._joint import Joint, Unit
from dsop.torch._parameter import Parameter


class Agreed(NamedTuple):
    """Of all ranks; a parameter's numbers stand at its place."""

    samples: float
    has_changed: bool  # a rank has other buffers than in the last step
    waited_seconds: Array  # by each rank, in its last step, for the others and what travelled
    has: Array  # ranks that have a gradient of it
    dense: Array  # that have one which factors alone can't say
    wide: Array  # that have one of factors which 16 bits can't say
    is_left: Array  # that have not handed over all
    in_parts: Array  # that have handed over something, before more came
    apart: Array  # of each joint: that have something left of the two which they can't say as one
    single: Array  # of each joint: that have one of the two alone

    @property
    def of_parameters(self) -> bytes:
        """All that is said of parameters and joints."""
        return b"".join(numbers.tobytes() for numbers in (self.has, self.dense, self.wide, self.is_left, self.in_parts,
                                                          self.apart, self.single))


_BITS = 5  # of a parameter: what Agreed counts, from `has` to `in_parts`


def _has(p: Parameter) -> bool:
    return p.has_gradient or p.is_given


def _bits(p: Parameter) -> int:
    if not p.has_gradient:
        return p.is_given | p.was_dense << 1 | p.was_wide << 2
    return 1 | (p.is_dense or p.was_dense) << 1 | (p.is_wide or p.was_wide) << 2 | 1 << 3 | p.is_given << 4


def agree(parameters: Sequence[Parameter], joints: Sequence[Joint], samples: float, has_changed: bool,
          waited_seconds: float, comm: dsop.Communicator) -> Agreed:
    count, ranks = len(parameters), comm.size
    record = np.zeros(2 + ranks + _BITS * count + 2 * len(joints))
    record[:2] = samples, has_changed
    record[2 + comm.rank] = waited_seconds
    of_parameters, of_joints = np.split(record[2 + ranks:], [_BITS * count])
    of_parameters, of_joints = of_parameters.reshape(_BITS, count), of_joints.reshape(2, len(joints))
    of_parameters[:] = np.array([_bits(p) for p in parameters]) >> np.arange(_BITS)[:, None] & 1
    of_joints[:] = ([joint.is_apart for joint in joints],
                    [len({_has(part) for part in joint.parts}) > 1 for joint in joints])
    dsop.allreduce(record, comm)
    has, dense, wide, is_left, in_parts = of_parameters
    apart, single = of_joints
    return Agreed(record[0], bool(record[1]), record[2:2 + ranks], has, dense, wide, is_left, in_parts, apart, single)


def most_pairs(units: Sequence[Unit], comm: dsop.Communicator) -> list[int]:
    """That a rank has, of each."""
    pairs = np.zeros((len(units), comm.size))
    pairs[:, comm.rank] = [unit.pairs for unit in units]
    dsop.allreduce(pairs, comm)
    return [int(most) for most in pairs.max(1)]


def of_rank_0(numbers: Sequence[int], comm: dsop.Communicator) -> list[int]:
    """As many on all ranks."""
    values = np.array(numbers, np.float64)
    dsop.broadcast(values, comm=comm)
    return [int(value) for value in values]
