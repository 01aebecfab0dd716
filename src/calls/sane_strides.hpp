// Views of one row, as OpenBLAS takes them.
#pragma once

#include <variant>

#include <dsop/sparse.hpp>
#include <dsop/views.hpp>

namespace dsop {

/// The stride of a single row is never used, but OpenBLAS looks at it.
template <class T>
MatrixView<T> with_sane_stride(MatrixView<T> view) {
  if (view.rows <= 1) view.stride = view.columns;
  return view;
}

template <class T>
FactorView<T> with_sane_stride(const FactorView<T>& factor) {
  const auto* const dense = std::get_if<MatrixView<const T>>(&factor);
  return dense == nullptr ? factor : FactorView<T>(with_sane_stride(*dense));
}

template <class T>
SparseFactors<T> with_sane_strides(SparseFactors<T> factors) {
  factors.a = with_sane_stride<T>(factors.a);
  factors.b = with_sane_stride<T>(factors.b);
  return factors;
}

}  // namespace dsop
