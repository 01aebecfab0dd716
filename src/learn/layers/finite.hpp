// Whether numbers are numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include <dsop/views.hpp>

namespace dsop::learn {

template <class T>
bool all_finite(std::span<const T> numbers) {
  return std::ranges::all_of(numbers, [](T number) { return std::isfinite(number); });
}

template <class T>
bool all_finite(MatrixView<const T> matrix) {
  for (std::size_t i = 0; i < matrix.rows; ++i)
    if (!all_finite(std::span(matrix.row(i), matrix.columns))) return false;
  return true;
}

}  // namespace dsop::learn
