// A rank's a or b as sparse vectors, one a pair, and how it travels.
#pragma once

#include <cstddef>
#include <span>

#include <dsop/problem.hpp>
#include <dsop/sparse.hpp>

#include "sparse/vector.hpp"

namespace dsop::sparse {

template <class T>
std::size_t rows_of(const FactorView<T>& factor) {
  return std::visit([](const auto& view) { return view.rows; }, factor);
}
template <class T>
std::size_t columns_of(const FactorView<T>& factor) {
  return std::visit([](const auto& view) { return view.columns; }, factor);
}

template <class T>
SparseVectorView<T> row(const SparseMatrixView<T>& matrix, std::size_t p) {
  const std::size_t first = matrix.row_offsets[p];
  const std::size_t count = matrix.row_offsets[p + 1] - first;
  return {matrix.columns, matrix.column_indices.subspan(first, count), matrix.values.subspan(first, count)};
}
template <class T>
SparseVectorView<T> row(const MatrixView<const T>& matrix, std::size_t p) {
  return {matrix.columns, {}, {matrix.row(p), matrix.columns}};
}
template <class T>
SparseVectorView<T> row(const FactorView<T>& factor, std::size_t p) {
  return std::visit([p](const auto& view) { return row<T>(view, p); }, factor);
}

/// Bytes of a factor on its way, `elements` (or Sparsity::dense) of it; a multiple of 8. Dense: its rows. Sparse:
/// rows + 1 offsets of 8 bytes, the values, the column indices of 4 bytes, which begin at a multiple of 4.
std::size_t encoded_bytes(std::size_t rows, std::size_t columns, std::size_t elements, DataType type,
                          Wire wire = Wire::full);

/// `elements`, or Sparsity::dense if the factor is no larger dense, or too wide for an index.
std::size_t smaller_form(std::size_t rows, std::size_t columns, std::size_t elements, DataType type,
                         Wire wire = Wire::full);

/// The elements that must travel: those that are stored; of a dense factor those that are not zero if `find_zeros`, all
/// otherwise. As smaller_form() gives them.
template <class T>
std::size_t elements_to_send(const FactorView<T>& factor, bool find_zeros, Wire wire = Wire::full);

/// Writes encoded_bytes() to `to`. `elements` is what elements_to_send() gave. `memory` is where values that travel as
/// bf16 are written in full before.
template <class T>
void encode(const FactorView<T>& factor, std::size_t elements, std::span<std::byte> to, Wire wire, std::span<T> memory);

/// Views of the rows of a factor of `columns` columns that encode() wrote, in `rows`. Values that have travelled as
/// bf16 are written in full to the beginning of `widened`, which becomes what is left of it.
template <class T>
void decode(std::span<const std::byte> from, std::size_t columns, std::size_t elements, Wire wire,
            std::span<T>& widened, std::span<SparseVectorView<T>> rows);

/// Writes all elements, zeros too, one row after the other.
template <class T>
void expand(const FactorView<T>& factor, std::span<T> to);

}  // namespace dsop::sparse
