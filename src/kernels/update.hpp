// A result's way into its target, with BLAS's alpha and beta.
#pragma once

#include <span>
#include <type_traits>

#include <dsop/views.hpp>

namespace dsop::kernels {

/// to = alpha from + beta to. With beta = 0 nothing of `to` is read, not even NaN. Equal shapes; `from` may be `to`,
/// but may not overlap it otherwise. Uses OpenMP's threads of the calling thread where that pays.
template <class T>
void update(std::type_identity_t<MatrixView<const T>> from, T alpha, T beta, MatrixView<T> to);

/// values = beta values, on the calling thread; zeros for beta = 0, whatever stands there.
template <class T>
void multiply_by(T beta, std::span<T> values);
template <class T>
void multiply_by(T beta, MatrixView<T> values);

}  // namespace dsop::kernels
