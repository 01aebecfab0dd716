// The innermost kernel: a few rows of C, held in vector registers while k runs.
#pragma once

#include <cstddef>

#include <dsop/views.hpp>

#include "kernels/outer_product.hpp"

namespace dsop::kernels {

/// What happens to C. `add` adds to beta times it; `stream` overwrites past the caches; every row of C must then start
/// at a multiple of `stream_alignment` bytes, and the writing thread must call `finish_streaming` before others read C.
enum class Write : unsigned char { overwrite, add, stream };

inline constexpr std::size_t stream_alignment = 64;
void finish_streaming();

/// The work of one call: at most `block_rows` whole rows of (a part of) C.
/// a: element (k, i) at a[k * block_rows + i].
/// b: one block of `block_columns` columns after the other; element (k, j) of a block at [k * block_columns + j].
/// Both are padded with any finite values where C has fewer rows or columns.
template <class T>
struct Band {
  const T* a;
  const T* b;
  std::size_t inner;
  MatrixView<T> c;
  T beta;  ///< where `write` is add
  Write write;
};

/// A kernel for one instruction set and the shape of the block of C that it keeps in registers. Each element is
/// (((a_0 b_0) + a_1 b_1) + ...) (+ beta C), whatever the shape.
template <class T>
struct RankK {
  std::size_t block_rows;
  std::size_t block_columns;
  bool streams;  ///< whether `multiply` can: its vectors are whole cache lines
  void (*multiply)(const Band<T>&);
  /// Packs all columns of some rows of A, or B, which has `inner` of them, in the order `multiply` reads them, times
  /// `factor`. Row k goes from packed + k * block_rows (block_columns) on: there `packed` stands for the first of them.
  void (*pack_a)(MatrixView<const T> a, std::size_t inner, T factor, T* packed);
  void (*pack_b)(MatrixView<const T> b, std::size_t inner, T factor, T* packed);
};

/// The kernel for `set`, which the processor must have.
template <class T>
RankK<T> rank_k(InstructionSet set);

}  // namespace dsop::kernels
