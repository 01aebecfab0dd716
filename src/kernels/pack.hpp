// The order of elements in which the register kernel reads its factors.
#pragma once

#include <algorithm>
#include <cstddef>

#include <dsop/views.hpp>

namespace dsop::kernels {

/// Copies `count` elements, fewer than 2 * `largest` (a power of two), in pieces of constant sizes: a library call
/// would cost more than the few elements of an edge.
template <std::size_t largest, class T>
[[gnu::always_inline]] inline void copy_few(const T* from, std::size_t count, T* to) {
#pragma GCC unroll 8
  for (std::size_t piece = largest; piece > 0; piece /= 2)
    if ((count & piece) != 0) {
      __builtin_memcpy(to, from, piece * sizeof(T));
      from += piece;
      to += piece;
    }
}

/// Cuts `from` into blocks of `width` columns, one after the other, the rows of a block one after the other, and
/// multiplies them by `factor`; pads the last block with zeros.
template <std::size_t width, class T>
void pack(MatrixView<const T> from, T factor, T* packed) {
  // Reading some blocks side by side uses whole cache lines and pages of `from`; writing many would miss the cache.
  constexpr std::size_t side_by_side = 16;
  const std::size_t whole = from.columns / width;
  for (std::size_t first = 0; first < whole; first += side_by_side) {
    const std::size_t last = std::min(first + side_by_side, whole);
    for (std::size_t k = 0; k < from.rows; ++k)
      for (std::size_t block = first; block < last; ++block)
        for (std::size_t j = 0; j < width; ++j)
          packed[(block * from.rows + k) * width + j] = factor * from.row(k)[block * width + j];
  }
  const std::size_t rest = from.columns - whole * width;
  if (rest == 0) return;
  packed += whole * from.rows * width;
  std::fill_n(packed, from.rows * width, T{0});
  for (std::size_t k = 0; k < from.rows; ++k)
    for (std::size_t j = 0; j < rest; ++j) packed[k * width + j] = factor * from.row(k)[whole * width + j];
}

}  // namespace dsop::kernels
