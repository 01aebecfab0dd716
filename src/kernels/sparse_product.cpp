#include "kernels/sparse_product.hpp"

#include <algorithm>

#include <dsop/types.hpp>

#include "kernels/threads.hpp"
#include "kernels/update.hpp"

namespace dsop::kernels {
namespace {

using sparse::Index;

// About 10 us on one thread: waking a team takes a few.
constexpr std::size_t parallel_elements = 1 << 17;

// The part of the memory that is in use: row i of C = sum over t in begins[i] .. begins[i + 1] - 1 of factors[t]
// b[pairs[t]], the pairs rising.
template <class T>
struct Terms {
  std::span<std::size_t> begins;
  std::span<T> factors;
  std::span<Index> pairs;

  std::size_t rows() const { return begins.size() - 1; }
  bool empty(std::size_t row) const { return begins[row] == begins[row + 1]; }
};

/// Calls visit(row, value) for what is not zero in rows first .. first + count - 1.
template <class T, class Visit>
void for_nonzeros(const SparseVectorView<T>& a, std::size_t first, std::size_t count, Visit visit) {
  if (a.dense()) {
    for (std::size_t i = 0; i < count; ++i)
      if (a.values[first + i] != T{0}) visit(i, a.values[first + i]);
    return;
  }
  auto index = std::lower_bound(a.indices.begin(), a.indices.end(), first);
  for (; index != a.indices.end() && *index < first + count; ++index) {
    const T value = a.values[static_cast<std::size_t>(index - a.indices.begin())];
    if (value != T{0}) visit(*index - first, value);
  }
}

template <class T>
Terms<T> collect_terms(std::span<const SparseVectorView<T>> a, std::size_t first, std::size_t rows, T scale,
                       const SparseProductMemory<T>& memory) {
  const std::span<std::size_t> begins = memory.begins.first(rows + 1);
  std::fill(begins.begin(), begins.end(), std::size_t{0});
  for (const SparseVectorView<T>& column : a)
    for_nonzeros(column, first, rows, [&](std::size_t i, T) { ++begins[i + 1]; });
  for (std::size_t i = 0; i < rows; ++i) begins[i + 1] += begins[i];

  const std::size_t count = begins[rows];
  const std::span<T> factors = memory.factors.first(count);
  const std::span<Index> pairs = memory.pairs.first(count);
  // Filling row i moves begins[i] to its end, which is where row i + 1 began.
  for (std::size_t k = 0; k < a.size(); ++k)
    for_nonzeros(a[k], first, rows, [&](std::size_t i, T value) {
      const std::size_t t = begins[i]++;
      factors[t] = scale * value;
      pairs[t] = static_cast<Index>(k);
    });
  std::copy_backward(begins.begin(), begins.end() - 1, begins.end());
  begins[0] = 0;
  return {begins, factors, pairs};
}

template <class T>
void add_row(const Terms<T>& terms, std::size_t row, std::span<const SparseVectorView<T>> b, std::span<T> sum) {
  for (std::size_t t = terms.begins[row]; t < terms.begins[row + 1]; ++t)
    sparse::add_scaled(sum, terms.factors[t], b[terms.pairs[t]]);
}

}  // namespace

template <class T>
void sparse_product(const SparsePairs<T>& pairs, std::size_t first_row, MatrixView<T> c, T alpha, T beta,
                    const SparseProductMemory<T>& memory) {
  const Terms<T> terms = collect_terms(pairs.a, first_row, c.rows, alpha, memory);
  const std::size_t threads = c.rows * c.columns >= parallel_elements ? std::min(c.rows, thread_count()) : 1;
  on_threads(threads, [&](std::size_t t, std::size_t team) {
    for (std::size_t i = c.rows * t / team; i < c.rows * (t + 1) / team; ++i) {
      const std::span<T> row(c.row(i), c.columns);
      multiply_by<T>(beta, row);
      add_row(terms, i, pairs.b, row);
    }
  });
}

template <class T>
std::size_t sparse_product_rows(const SparsePairs<T>& pairs, std::span<std::uint32_t> row_indices, MatrixView<T> rows,
                                T scale, const SparseProductMemory<T>& memory) {
  const std::size_t dimension = pairs.a.empty() ? 0 : pairs.a[0].dimension;
  const Terms<T> terms = collect_terms(pairs.a, 0, dimension, scale, memory);
  std::size_t count = 0;
  for (std::size_t i = 0; i < dimension; ++i)
    if (!terms.empty(i)) row_indices[count++] = static_cast<std::uint32_t>(i);
  const std::size_t threads = count * rows.columns >= parallel_elements ? std::min(count, thread_count()) : 1;
  on_threads(threads, [&](std::size_t t, std::size_t team) {
    for (std::size_t r = count * t / team; r < count * (t + 1) / team; ++r) {
      const std::span<T> row(rows.row(r), rows.columns);
      std::fill(row.begin(), row.end(), T{0});
      add_row(terms, row_indices[r], pairs.b, row);
    }
  });
  return count;
}

#define INSTANTIATE(T)                                                                                        \
  template void sparse_product(const SparsePairs<T>&, std::size_t, MatrixView<T>, T, T,                       \
                               const SparseProductMemory<T>&);                                                \
  template std::size_t sparse_product_rows(const SparsePairs<T>&, std::span<std::uint32_t>, MatrixView<T>, T, \
                                           const SparseProductMemory<T>&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
