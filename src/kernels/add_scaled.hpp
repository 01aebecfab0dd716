// Adding a vector of which most may be zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dsop/sparse.hpp>

namespace dsop::sparse {

using Index = std::uint32_t;

/// sum += factor x. An element's product is rounded before it is added, whether x is sparse or dense, so that both give
/// the same bits (where a sum is not -0, and no value infinite or NaN).
template <class T>
inline void add_scaled(std::span<T> sum, T factor, const SparseVectorView<T>& x) {
  const T* const values = x.values.data();
  if (x.dense()) {
    for (std::size_t i = 0; i < x.dimension; ++i) sum[i] += factor * values[i];
    return;
  }
  const Index* const indices = x.indices.data();
  for (std::size_t e = 0; e < x.indices.size(); ++e) sum[indices[e]] += factor * values[e];
}

}  // namespace dsop::sparse
