// Copies of matrices, the arithmetic of moving parts of G to their places.
#pragma once

#include <dsop/views.hpp>

namespace dsop::kernels {

/// to = from, of the same shape, on the calling thread; they do not overlap.
template <class T>
void copy(MatrixView<const T> from, MatrixView<T> to);

}  // namespace dsop::kernels
