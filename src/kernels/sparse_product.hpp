// The local product where factors are sparse, C = alpha A^T B + beta C: only what is not zero is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <dsop/views.hpp>

#include "sparse/stream.hpp"

namespace dsop::kernels {

/// K pairs: pair k is (a[k], b[k]), each sparse or dense. The streams of a have one dimension, those of b another.
template <class T>
struct StreamPairs {
  std::span<const SparseVectorView<T>> a;
  std::span<const SparseVectorView<T>> b;
};

/// Memory for sparse_product() or sparse_product_rows(), for so many rows of C and elements of a that are not zero.
template <class T>
std::size_t sparse_product_bytes(std::size_t rows, std::size_t nonzeros_of_a);

/// C = alpha times rows first_row .. first_row + c.rows - 1 of A^T B, + beta C, of which beta = 0 reads nothing. Every
/// element is the sum of its terms (alpha a) b in the order of the pairs, from zero or from beta C; the bits do not
/// depend on which rows are made, on threads, or on which streams are sparse, but are not those of product(). `memory`
/// starts at a cache line. Uses OpenMP's threads of the calling thread. Cost: c.rows x m elements written once unless
/// beta is 1, two passes over a, and for each element of a that is not zero one pass over its b.
template <class T>
void sparse_product(const StreamPairs<T>& pairs, std::size_t first_row, MatrixView<T> c, T alpha, T beta,
                    std::span<std::byte> memory);

/// The same for those rows of A^T B alone that have a term. Writes their numbers, rising, to `row_indices` (room for
/// the number of non-zeros of a, or of rows if those are fewer) and the rows one after the other to `rows`, which has
/// room for as many. Returns how many there are.
template <class T>
std::size_t sparse_product_rows(const StreamPairs<T>& pairs, std::span<std::uint32_t> row_indices, MatrixView<T> rows,
                                T scale, std::span<std::byte> memory);

}  // namespace dsop::kernels
