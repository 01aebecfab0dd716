// What can be wrong with one rank's arguments.
#pragma once

#include <variant>

#include <dsop/dsop.hpp>

namespace dsop {

/// Throws ArgumentError naming the argument, its value and what was expected. `promised` is the OuterProduct's shape,
/// or null for dsop().
template <class T>
void check_arguments(const SparseFactors<T>& factors, const MatrixView<T>& gradient, const Options& options,
                     const Shape* promised);
/// The same for the calling rank's `count` rows of a gradient of the promised shape.
template <class T>
void check_sharded_arguments(const SparseFactors<T>& factors, const MatrixView<T>& own_rows, const Options& options,
                             const Shape& promised, std::size_t count);
/// The same where there is no gradient.
template <class T>
void check_row_arguments(const SparseFactors<T>& factors, const Options& options, const Shape& promised);
template <class T>
void check_shape(const Shape& shape, const Options& options);

/// What Options::beta stands for.
inline double beta_of(const Options& options) {
  return options.beta.value_or(options.accumulate ? 1 : 0);
}

/// The stride of a single row is never used, but OpenBLAS looks at it.
template <class T>
MatrixView<T> with_sane_stride(MatrixView<T> view) {
  if (view.rows <= 1) view.stride = view.columns;
  return view;
}

template <class T>
SparseFactors<T> with_sane_strides(SparseFactors<T> factors) {
  for (FactorView<T>* const factor : {&factors.a, &factors.b})
    if (auto* const dense = std::get_if<MatrixView<const T>>(factor)) *dense = with_sane_stride(*dense);
  return factors;
}

}  // namespace dsop
