// A vector of which most may be zero, and the sums of such vectors: the stream of SparCML (Renggli, "SparCML:
// High-Performance Sparse Communication for Machine Learning", master's thesis, ETH 2017, section 4.1; Renggli et al.,
// SC'19, section 5.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dsop::sparse {

using Index = std::uint32_t;

/// `dimension` elements in memory that somebody else owns. Sparse: the indices of those that are not zero, rising, and
/// their values. Dense: all values, and no indices.
/// Example: 0 0 7 0 3 is {5, indices 2 4, values 7 3}, or {5, no indices, values 0 0 7 0 3}.
template <class T>
struct Stream {
  std::size_t dimension = 0;
  std::span<const Index> indices = {};
  std::span<const T> values = {};

  bool dense() const { return indices.empty() && values.size() == dimension; }
};

/// The most indices with which a vector is no larger sparse than dense: SparCML's delta.
template <class T>
constexpr std::size_t most_indices(std::size_t dimension) {
  return dimension * sizeof(T) / (sizeof(T) + sizeof(Index));
}

/// Of its elements, in either form.
template <class T>
constexpr std::size_t bytes_of(const Stream<T>& x) {
  return x.values.size_bytes() + x.indices.size_bytes();
}

/// sum += factor x. An element's product is rounded before it is added, whether x is sparse or dense, so that both give
/// the same bits (where a sum is not -0, and no value infinite or NaN).
template <class T>
inline void add_scaled(std::span<T> sum, T factor, const Stream<T>& x) {
  const T* const values = x.values.data();
  if (x.dense()) {
    for (std::size_t i = 0; i < x.dimension; ++i) sum[i] += factor * values[i];
    return;
  }
  const Index* const indices = x.indices.data();
  for (std::size_t e = 0; e < x.indices.size(); ++e) sum[indices[e]] += factor * values[e];
}

/// left + right, made in `memory` of left.dimension elements, which must not overlap either and then holds the result
/// in whichever form it has. Sparse where both are sparse and their indices together do not exceed most_indices(),
/// dense otherwise: as in SparCML the bound decides, not the union, so that the form is known beforehand.
/// Cost: one pass over what the two hold, and over all elements where the result is dense.
template <class T>
Stream<T> sum(const Stream<T>& left, const Stream<T>& right, std::span<T> memory);

/// All elements, zeros too, written to `dense`.
template <class T>
void expand(const Stream<T>& x, std::span<T> dense);

/// Elements that are not zero; NaN is not.
template <class T>
std::size_t count_nonzeros(std::span<const T> dense);

/// The same vector without its zeros, in memory for count_nonzeros() indices and values.
template <class T>
Stream<T> compress(std::span<const T> dense, Index* indices, T* values);

}  // namespace dsop::sparse
