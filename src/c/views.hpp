// From C's structures to the library's views. A null structure is a view of one element at null, or a
// vector of no elements; missing arrays are empty: calls refuse them on all ranks.
#pragma once

#include <dsop/dsop.h>

#include <dsop/sparse.hpp>
#include <dsop/views.hpp>

namespace dsop::c {

template <class T>
std::span<T> span_of(void* values, std::size_t count) {
  return {static_cast<T*>(values), count};
}

template <class T>
MatrixView<T> view_of(const dsop_matrix* matrix) {
  if (matrix == nullptr) return {nullptr, 1, 1};
  const std::size_t stride = matrix->stride == 0 ? matrix->columns : matrix->stride;
  return {static_cast<T*>(matrix->values), matrix->rows, matrix->columns, stride};
}

template <class T>
std::span<const T> span_if_there(const void* values, std::size_t count) {
  return {static_cast<const T*>(values), values == nullptr ? 0 : count};
}

template <class T>
MatrixView<const T> dense_view_of(const dsop_factor* factor) {
  if (factor == nullptr) return {nullptr, 1, 1};
  const std::size_t stride = factor->stride == 0 ? factor->columns : factor->stride;
  return {static_cast<const T*>(factor->values), factor->rows, factor->columns, stride};
}

template <class T>
SparseMatrixView<T> sparse_view_of(const dsop_factor& factor) {
  return {.rows = factor.rows,
          .columns = factor.columns,
          .row_offsets = {factor.row_offsets, factor.rows + 1},
          .column_indices = span_if_there<std::uint32_t>(factor.column_indices, factor.nonzeros),
          .values = span_if_there<T>(factor.values, factor.nonzeros)};
}

template <class T>
SparseFactors<T> factors_of(const dsop_factor* a, const dsop_factor* b) {
  SparseFactors<T> factors(Factors<T>{dense_view_of<T>(a), dense_view_of<T>(b)});
  if (a != nullptr && a->row_offsets != nullptr) factors.a = sparse_view_of<T>(*a);
  if (b != nullptr && b->row_offsets != nullptr) factors.b = sparse_view_of<T>(*b);
  return factors;
}

template <class T>
SparseVectorView<T> view_of(const dsop_vector* vector) {
  if (vector == nullptr) return {};
  return {.dimension = vector->dimension,
          .indices = span_if_there<std::uint32_t>(vector->indices, vector->count),
          .values = span_if_there<T>(vector->values, vector->count)};
}

template <class T>
dsop_vector vector_of(const SparseVectorView<T>& view) {
  return {view.dimension, view.values.size(), view.indices.empty() ? nullptr : view.indices.data(), view.values.data()};
}

}  // namespace dsop::c
