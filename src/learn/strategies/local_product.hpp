// A rank's own gradient from its factors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <variant>

#include <dsop/sparse.hpp>

#include "kernels/outer_product.hpp"

namespace dsop::learn {

/// gradient = a^T b, where b is dense: what the layers give.
template <class T>
void local_product(const SparseFactors<T>& factors, MatrixView<T> gradient) {
  const auto b = std::get<MatrixView<const T>>(factors.b);
  if (const auto* const a = std::get_if<MatrixView<const T>>(&factors.a)) {
    kernels::product<T>(*a, b, gradient, 1, 0);
    return;
  }
  const auto& a = std::get<SparseMatrixView<T>>(factors.a);
  for (std::size_t i = 0; i < gradient.rows; ++i) std::fill_n(gradient.row(i), gradient.columns, T{0});
  for (std::size_t pair = 0; pair < a.rows; ++pair)
    for (std::size_t e = a.row_offsets[pair]; e < a.row_offsets[pair + 1]; ++e)
      for (std::size_t j = 0; j < gradient.columns; ++j)
        gradient.row(a.column_indices[e])[j] += a.values[e] * b.row(pair)[j];
}

}  // namespace dsop::learn
