// Whether numbers are numbers.
#pragma once

#include <cmath>
#include <cstddef>

#include <dsop/views.hpp>

namespace dsop::learn {

template <class T>
bool all_finite(MatrixView<const T> matrix) {
  for (std::size_t i = 0; i < matrix.rows; ++i)
    for (std::size_t j = 0; j < matrix.columns; ++j)
      if (!std::isfinite(matrix.row(i)[j])) return false;
  return true;
}

}  // namespace dsop::learn
