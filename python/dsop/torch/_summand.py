"""What is summed over ranks as one: a gradient, of which a rank has a dense part and outer products."""

from __future__ import annotations

import enum
from functools import cached_property
from typing import Optional, Union

import numpy as np
import torch
from torch import Tensor

import dsop
from dsop._arrays import Array
from dsop.torch._room import Room


_MOST_MORE_BYTES = 1 << 16  # than a gradient takes may its factors take


class Way(enum.IntEnum):
    """How a gradient travels, the same on all ranks."""

    DENSE = 0
    FACTORS = 1  # or rows
    FACTORS_IN_16_BITS = 2  # which rounds what is not bf16


class Summand:
    """A gradient that is summed over ranks, and what this rank has of it: dense part + sum of outer products."""

    def __init__(self, name: str, shape: torch.Size, dtype: torch.dtype, policy: str) -> None:
        self.name, self.shape, self.dtype, self.policy = name, shape, dtype, policy
        self.entry_name = name  # of a synchronizer's
        self.gives_factors = False  # a module hands them over
        self.has_sparse_grad = False  # autograd makes one
        self.unit_rows = False  # all its factors are rows, of which a has the numbers
        self.is_bias = False  # of a weight that gives factors: it has the same errors, and ones
        self.is_by_default = False  # no policy was named for it
        self.may_be_in_16_bits = False  # its factors, where they are bf16; the same on all ranks
        self.room = Room(shape, dtype)  # for the sum
        self.forget()

    def forget(self) -> None:
        """Nothing is left to be summed."""
        # Of pairs x rows, or row numbers, and pairs x columns; both bf16, or of the gradient's type.
        self.factors: list[tuple[Tensor, Tensor]] = []
        self.dense: Optional[Tensor] = None

    @property
    def is_matrix(self) -> bool:
        """A synchronizer knows it by rows and columns."""
        return self.gives_factors and not self.is_bias

    @property
    def _pair_elements(self) -> int:
        rows, columns = self.shape
        return columns + (1 if self.unit_rows else rows)

    @cached_property
    def most_kept_pairs(self) -> int:
        """More of them take more memory than the gradient."""
        return self.shape.numel() // self._pair_elements

    @cached_property
    def most_unmultiplied(self) -> int:
        """More pairs make so much of a difference that they are multiplied as they come."""
        return self.most_kept_pairs + _MOST_MORE_BYTES * 8 // torch.finfo(self.dtype).bits // self._pair_elements

    @property
    def is_rows(self) -> bool:
        """Of its factors a are row numbers."""
        return self.factors[0][0].dim() == 1 if self.factors else self.unit_rows

    @property
    def pairs(self) -> int:
        factors = self.factors
        return factors[0][1].shape[0] if len(factors) == 1 else sum(b.shape[0] for _, b in factors)

    @property
    def has_gradient(self) -> bool:
        return self.dense is not None or bool(self.factors)

    @property
    def is_dense(self) -> bool:
        """Factors alone can't say what is to be summed."""
        return self.dense is not None

    @property
    def is_wide(self) -> bool:
        """16 bits can't say what its factors are."""
        return any(b.dtype != torch.bfloat16 for _, b in self.factors)

    @property
    def is_finite(self) -> bool:
        parts = [part for pair in self.factors for part in pair] + ([] if self.dense is None else [self.dense])
        return all(bool(part.isfinite().all()) for part in parts)

    def _widened(self) -> list[tuple[Tensor, Tensor]]:
        kind = self.dtype
        return [pair if pair[1].dtype == kind else (pair[0].to(kind) if pair[0].dim() == 2 else pair[0], pair[1].to(kind))
                for pair in self.factors]

    def as_pair(self) -> tuple[Tensor, Tensor]:
        """a and b, each contiguous, as one; where there are no factors, of no pairs."""
        kind = self.dtype
        if len(self.factors) == 1 and self.factors[0][1].dtype == kind:
            return self.factors[0]
        rows, columns = self.shape
        factors = self._widened()
        if len(factors) == 1:
            return factors[0]
        no_a = torch.zeros(0, dtype=torch.int64) if self.is_rows else torch.zeros(0, rows, dtype=kind)
        a, b = (torch.cat(parts) for parts in zip((no_a, torch.zeros(0, columns, dtype=kind)), *factors))
        return a, b

    def as_factors(self) -> tuple[Union[Array, dsop.SparseMatrix], Array]:
        """The same, as dsop's calls take them."""
        a, b = self.as_pair()
        if a.dim() == 2:
            return a.numpy(), b.numpy()
        ones = np.ones(len(b), b.numpy().dtype)
        return dsop.SparseMatrix((len(b), self.shape[0]), np.arange(len(b) + 1), a.numpy(), ones), b.numpy()

    def as_dense(self) -> Tensor:
        """A contiguous tensor that is nobody else's; a dense part alone is that, autograd having made it for .grad."""
        if self.dense is not None and not self.factors:
            return self.dense.contiguous()
        total = self.room.take().zero_()
        if self.dense is not None:
            total += self.dense
        return self._add_products(total, self._widened())

    @staticmethod
    def _add_products(total: Tensor, factors: list[tuple[Tensor, Tensor]]) -> Tensor:
        for a, b in factors:
            if a.dim() == 1:
                total.index_add_(0, a, b)
            else:
                total.addmm_(a.t(), b)
        return total
