// A matrix that owns its elements.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dsop/views.hpp>

#include "memory/workspace.hpp"

namespace dsop::learn {

/// Row-major, zero at first.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns) { resize(rows, columns); }

  /// Elements keep no place that means anything when `columns` changes.
  void resize(std::size_t rows, std::size_t columns) {
    elements_.resize(rows * columns);
    rows_ = rows;
    columns_ = columns;
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::span<T> elements() { return elements_; }
  std::span<const T> elements() const { return elements_; }
  MatrixView<T> view() { return {elements_.data(), rows_, columns_}; }
  MatrixView<const T> view() const { return {elements_.data(), rows_, columns_}; }

 private:
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<T, LineAllocator<T>> elements_;  // weights and momenta are read and written in whole at each step
};

}  // namespace dsop::learn
