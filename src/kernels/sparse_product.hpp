// The local product where factors are sparse, C = alpha A^T B + beta C: only what is not zero is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dsop/views.hpp>

#include "kernels/add_scaled.hpp"
#include "memory/arena.hpp"

namespace dsop::kernels {

/// K pairs: pair k is (a[k], b[k]), each sparse or dense. The vectors of a have one dimension, those of b another.
template <class T>
struct SparsePairs {
  std::span<const SparseVectorView<T>> a;
  std::span<const SparseVectorView<T>> b;
};

/// What sparse_product() and sparse_product_rows() work in: A by columns, so that a row of C is computed as a whole
/// while it is in the cache.
template <class T>
struct SparseProductMemory {
  SparseProductMemory() = default;
  /// For at most so many rows of C and elements of a that are not zero.
  SparseProductMemory(Arena& arena, std::size_t rows, std::size_t nonzeros_of_a)
      : begins(arena.take<std::size_t>(rows + 1)),
        factors(arena.take<T>(nonzeros_of_a)),
        pairs(arena.take<sparse::Index>(nonzeros_of_a)) {}
  std::span<std::size_t> begins = {};
  std::span<T> factors = {};
  std::span<sparse::Index> pairs = {};
};

/// C = alpha times rows first_row .. first_row + c.rows - 1 of A^T B, + beta C, of which beta = 0 reads nothing. Every
/// element is the sum of its terms (alpha a) b in the order of the pairs, from zero or from beta C; the bits do not
/// depend on which rows are made, on threads, or on which vectors are sparse, but are not those of product(). Uses
/// OpenMP's threads of the calling thread. Cost: c.rows x m elements written once unless beta is 1, two passes over a,
/// and for each element of a that is not zero one pass over its b.
template <class T>
void sparse_product(const SparsePairs<T>& pairs, std::size_t first_row, MatrixView<T> c, T alpha, T beta,
                    const SparseProductMemory<T>& memory);

/// The same for those rows of A^T B alone that have a term. Writes their numbers, rising, to `row_indices` (room for
/// the number of non-zeros of a, or of rows if those are fewer) and the rows one after the other to `rows`, which has
/// room for as many. Returns how many there are.
template <class T>
std::size_t sparse_product_rows(const SparsePairs<T>& pairs, std::span<std::uint32_t> row_indices, MatrixView<T> rows,
                                T scale, const SparseProductMemory<T>& memory);

}  // namespace dsop::kernels
