// A vector of which most may be zero, and the sums of such vectors, after the stream of SparCML: Renggli, "Efficient
// Sparse AllReduce For Scalable Machine Learning" (master's thesis, ETH Zurich 2017), section 4.1; Renggli et al.,
// "SparCML: High-Performance Sparse Communication for Machine Learning" (SC'19), section 5.1.
//
// The thesis interleaves: one array of pairs of an index and its value, so that regions are joined by one copy. Here
// values and indices are two arrays, in a message values first: two copies, but a merge that takes less than half the
// time (docs/sparse.md, two layouts). Both take as many bytes, but for the header of a message (wire.hpp), and for the
// padding of a pair whose value has 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dsop/sparse.hpp>

#include "kernels/add_scaled.hpp"

namespace dsop::sparse {

/// Of a vector: no index is larger.
inline constexpr std::size_t most_elements = std::size_t{1} << 32;

/// The most indices with which a vector is no larger sparse than dense: the thesis's phi, SparCML's delta.
template <class T>
constexpr std::size_t most_indices(std::size_t dimension) {
  return dimension * sizeof(T) / (sizeof(T) + sizeof(Index));
}

/// Of its elements, in either form.
template <class T>
constexpr std::size_t bytes_of(const SparseVectorView<T>& x) {
  return x.values.size_bytes() + x.indices.size_bytes();
}

/// Throws TransportError if a sum of so many bytes has no room: the vectors that came hold more than their senders had
/// announced. Every function here that makes a sum calls it before it writes.
void check_room(std::size_t bytes, std::size_t room_bytes);

/// left + right, made in `memory`, which must not overlap either and then holds the result in whichever form it has: of
/// left.dimension elements or, where the result is sparse, of the two's pairs of index and value. Sparse where both are
/// sparse and their indices together exceed neither most_indices() nor `most`, dense otherwise: as in SparCML the
/// bound decides, not the union, so that the form is known beforehand. Cost: one pass over what the two hold, and over
/// all elements where the result is dense.
template <class T>
SparseVectorView<T> sum(const SparseVectorView<T>& left, const SparseVectorView<T>& right, std::span<T> memory,
                        std::size_t most = SIZE_MAX);

/// The sum of all `vectors`, in their order, as sum() makes that of two and in memory of the same size. Uses up the
/// views in `vectors`. At least one, all of the same dimension. Cost: one pass over what they hold, and over all
/// elements if the result is dense.
template <class T>
SparseVectorView<T> sum_all(std::span<SparseVectorView<T>> vectors, std::span<T> memory, std::size_t most = SIZE_MAX);

/// The vectors one after the other as one, made in `memory` as sum() makes it: the sum of vectors whose elements lie
/// apart. Sparse where that is no larger; the zeros of dense parts are then left out.
template <class T>
SparseVectorView<T> concatenate(std::span<const SparseVectorView<T>> parts, std::span<T> memory);

/// A copy in `memory`.
template <class T>
SparseVectorView<T> copy(const SparseVectorView<T>& x, std::span<T> memory);

/// All elements, zeros too, written to `dense`; that as a vector.
template <class T>
SparseVectorView<T> expand(const SparseVectorView<T>& x, std::span<T> dense);

/// Elements that are not zero; NaN is not.
template <class T>
std::size_t count_nonzeros(std::span<const T> dense);

/// The same vector without its zeros, in memory for count_nonzeros() indices and values.
template <class T>
SparseVectorView<T> compress(std::span<const T> dense, Index* indices, T* values);

}  // namespace dsop::sparse
