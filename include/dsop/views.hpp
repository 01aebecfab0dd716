// Views of matrices and factors: what a caller hands over. Nothing here owns memory.
#pragma once

#include <cstddef>
#include <type_traits>

namespace dsop {

/// A row-major matrix that somebody else owns: rows x columns elements, `stride` elements from one row to the next
/// (BLAS's leading dimension, at least `columns`). `data` may be null when there are no elements.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;

  MatrixView() = default;
  MatrixView(T* data_, std::size_t rows_, std::size_t columns_) : MatrixView(data_, rows_, columns_, columns_) {}
  MatrixView(T* data_, std::size_t rows_, std::size_t columns_, std::size_t stride_)
      : data(data_), rows(rows_), columns(columns_), stride(stride_) {}

  /// A view of mutable elements is also a view of constant ones.
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) { return {data, rows, columns, stride}; }

  T* row(std::size_t i) const { return data + i * stride; }
  MatrixView row_range(std::size_t first, std::size_t count) const {
    return {count == 0 ? data : row(first), count, columns, stride};
  }
  MatrixView column_range(std::size_t first, std::size_t count) const {
    return {count == 0 ? data : data + first, rows, count, stride};
  }
  bool contiguous() const { return stride == columns || rows <= 1; }
};

/// One rank's factors: pair p is (row p of a, row p of b). a is pairs x n, b is pairs x m; the rank contributes
/// a^T b to the gradient.
template <class T>
struct Factors {
  MatrixView<const T> a;
  MatrixView<const T> b;
};

}  // namespace dsop
