// Sums of vectors that all are sparse, and stay so.
#pragma once

#include <span>

#include "sparse/vector.hpp"

namespace dsop::sparse {

/// left + right, made in `memory`, which has room for the pairs of index and value of both and overlaps with neither.
/// Pairs are merged in blocks that stay in the first-level cache, at two places of a block at once and without a
/// branch; then those of equal index are joined on the way to `memory`. Cost: each pair is read once and written once.
template <class T>
SparseVectorView<T> merge(const SparseVectorView<T>& left, const SparseVectorView<T>& right, std::span<T> memory);

/// first + others, in the order in which they stand, with such memory. Leaves nothing of the others.
template <class T>
SparseVectorView<T> merge_all(SparseVectorView<T> first, std::span<SparseVectorView<T>> others, std::span<T> memory);

}  // namespace dsop::sparse
