// How a vector, or a region of it, travels: a header that says what it is, the values, the indices.
//
//   bytes  0 ..  3  the mark "dsop"      8 .. 15  first element of the region
//              4    0 sparse, 1 dense   16 .. 23  elements of the region
//              5    DataType's number,  24 .. 31  values that follow
//                   or one beyond: bf16
//         6 ..  7  zero
//
// Indices are counted from the region's first element, so that 32 bits serve vectors of any length. They begin at a
// multiple of 4 bytes.
#pragma once

#include <cstddef>
#include <span>

#include <dsop/problem.hpp>

#include "sparse/values.hpp"
#include "sparse/vector.hpp"

namespace dsop::sparse {

/// A packed region begins with a header. Beside its elements it has fewer bytes of padding than this.
inline constexpr std::size_t header_bytes = 32;
inline constexpr std::size_t most_padding_bytes = 8;

/// Elements first .. first + size - 1 of a vector.
struct Region {
  std::size_t first = 0;
  std::size_t size = 0;
};

/// The most indices with which a region is no larger sparse than dense on its way.
template <class T>
constexpr std::size_t most_indices(std::size_t size, Wire wire) {
  if (wire == Wire::full) return most_indices<T>(size);
  return size == 0 ? 0 : (2 * size - 1) / 6;  // with two bytes more, so that indices begin where they may
}

/// What a region travels in if `elements` of it are stored, or Sparsity::dense; a multiple of 8. Sparse where that is
/// no larger.
template <class T>
constexpr std::size_t packed_bytes(std::size_t size, std::size_t elements, Wire wire = Wire::full) {
  const std::size_t bytes = elements <= most_indices<T>(size, wire)
                                ? values_bytes<T>(elements, wire) + elements * sizeof(Index)
                                : values_bytes<T>(size, wire);
  return header_bytes + (bytes + 7) / 8 * 8;
}

/// What the region of x holds, its indices still counted from the beginning of x.
template <class T>
SparseVectorView<T> part(const SparseVectorView<T>& x, Region region);

template <class T>
std::size_t packed_bytes(const SparseVectorView<T>& x, Region region, Wire wire = Wire::full);

/// Writes the region of x to the beginning of `to`, which is aligned for size_t, and returns its packed_bytes().
template <class T>
std::span<std::byte> pack(const SparseVectorView<T>& x, Region region, std::span<std::byte> to, Wire wire = Wire::full);

/// A view of what was packed; indices are counted from the region's first element. What may have been packed as bf16 is
/// written in full to the beginning of `widened`, which becomes what is left of it. Throws TransportError naming what
/// is wrong if these bytes are not the region: truncated, another type or region, an impossible count, or indices that
/// do not rise or lie outside. Cost: a pass over the indices.
template <class T>
SparseVectorView<T> unpack(std::span<const std::byte> from, Region region, Wire wire, std::span<T>& widened);

}  // namespace dsop::sparse
