"""Memory that gradients are summed into, taken again step after step."""

from __future__ import annotations

import sys
from typing import Optional

import numpy as np
import torch
from torch import Tensor

from dsop._arrays import Array

_ALIGNMENT_BYTES = 64  # of torch's own tensors, too
_SMALL_ELEMENTS = 1 << 14  # the C library keeps the memory of so few


class Room:
    """Hands out tensors of one shape and type: large ones in the same memory, but for those that somebody still holds.

    Fresh memory costs more than a product of few samples: the kernel clears it page by page while it is written to.
    """

    def __init__(self, shape: torch.Size, dtype: torch.dtype) -> None:
        self._shape, self._dtype = tuple(shape), np.dtype(str(dtype).removeprefix("torch."))
        self._small = dtype if shape.numel() <= _SMALL_ELEMENTS else None
        self._values: Optional[Array] = None

    def _fresh(self) -> Array:
        size_bytes = int(np.prod(self._shape)) * self._dtype.itemsize
        data = np.empty(size_bytes + _ALIGNMENT_BYTES, np.uint8)  # NumPy asks for huge pages, torch does not
        begin = -data.ctypes.data % _ALIGNMENT_BYTES
        return data[begin:begin + size_bytes].view(self._dtype).reshape(self._shape)

    def take(self) -> Tensor:
        """A contiguous tensor of any values, whose memory is nobody else's."""
        if self._small is not None:
            return torch.empty(self._shape, dtype=self._small)
        if self._values is None or sys.getrefcount(self._values) > 2:  # a tensor's storage holds the array
            self._values = self._fresh()
        return torch.from_numpy(self._values)
