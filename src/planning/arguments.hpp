// What can be wrong with one rank's arguments.
#pragma once

#include <dsop/dsop.hpp>

namespace dsop {

/// Throws ArgumentError naming the argument, its value and what was expected. `promised` is the OuterProduct's shape,
/// or null for dsop().
template <class T>
void check_arguments(const SparseFactors<T>& factors, const MatrixView<T>& gradient, const Options& options,
                     const Shape* promised);
/// The same where there is no gradient.
template <class T>
void check_row_arguments(const SparseFactors<T>& factors, const Options& options, const Shape& promised);
template <class T>
void check_shape(const Shape& shape, const Options& options);

}  // namespace dsop
