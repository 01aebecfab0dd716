// Factors and vectors of which most elements are zero, and gradients of which most rows are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include <dsop/views.hpp>

namespace dsop {

/// A sparse matrix in compressed rows (CSR) that somebody else owns: row p has the elements row_offsets[p] ..
/// row_offsets[p + 1] - 1 of `column_indices` and `values`. Column indices rise within a row; zeros may stand among the
/// values. `row_offsets` has rows + 1 elements, or none when there are no rows.
template <class T>
struct SparseMatrixView {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::span<const std::size_t> row_offsets = {};
  std::span<const std::uint32_t> column_indices = {};
  std::span<const T> values = {};

  /// Elements that are stored.
  std::size_t count() const { return row_offsets.empty() ? 0 : row_offsets[rows]; }
};

/// A vector of `dimension` elements that somebody else owns. Sparse: the indices of those that are not zero, rising,
/// and their values. Dense: all values, and no indices. Example: 0 0 7 0 3 is {5, indices 2 4, values 7 3}, or {5, no
/// indices, values 0 0 7 0 3}. A vector of more than 2^32 elements is several of these, and a call each.
template <class T>
struct SparseVectorView {
  std::size_t dimension = 0;
  std::span<const std::uint32_t> indices = {};
  std::span<const T> values = {};

  bool dense() const { return indices.empty() && values.size() == dimension; }
};

/// A factor in either form.
template <class T>
using FactorView = std::variant<MatrixView<const T>, SparseMatrixView<T>>;

/// As Factors, each of a (pairs x n) and b (pairs x m) sparse or dense. Where only what is not zero is multiplied, a
/// zero that is not stored is 0 even times an infinity or NaN, so that elements of G may come out finite which are NaN
/// from the same factors given dense.
template <class T>
struct SparseFactors {
  FactorView<T> a;
  FactorView<T> b;

  SparseFactors(SparseMatrixView<T> a_, SparseMatrixView<T> b_) : a(a_), b(b_) {}
  SparseFactors(SparseMatrixView<T> a_, MatrixView<const T> b_) : a(a_), b(b_) {}
  SparseFactors(MatrixView<const T> a_, SparseMatrixView<T> b_) : a(a_), b(b_) {}
  SparseFactors(const Factors<T>& dense) : a(dense.a), b(dense.b) {}
};

/// The rows of a gradient that may hold anything but zero, and their memory. All ranks have the same.
template <class T>
struct GradientRows {
  std::size_t rows = 0;  ///< of the whole gradient
  std::size_t columns = 0;
  std::vector<std::uint32_t> indices = {};  ///< rising: the rows for which some pair's a is not zero
  std::unique_ptr<T[]> elements = {};       ///< indices.size() x columns

  /// Row i is row indices[i] of the gradient.
  MatrixView<const T> values() const { return {elements.get(), indices.size(), columns}; }
};

}  // namespace dsop
