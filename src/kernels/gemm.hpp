// OpenBLAS's matrix product behind the kernels' views. In a build without, that of our kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <dsop/views.hpp>

namespace dsop::kernels {

/// Whether BLAS's integers, of 32 bits as a rule, hold all sizes of this product: no view has more columns than its
/// stride, so rows and columns of C fit when these do.
template <class T>
bool fits_gemm(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  return std::max({a.rows, a.stride, b.stride, c.stride}) <= INT32_MAX;
}

/// C = alpha A^T B + beta C for sizes that fit, none of them zero. Uses the OpenMP threads of the calling thread, in
/// the default float mode. The threads of an OpenBLAS that has its own (pthreads) keep theirs.
template <class T>
void gemm(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T alpha, T beta);

/// C = A B (+ C): what a layer computes forward. A size may be zero.
template <class T>
void multiply(std::type_identity_t<MatrixView<const T>> a, std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c,
              bool accumulate = false);

/// C = A B^T (+ C): what a layer computes backward. A size may be zero.
template <class T>
void multiply_transposed(std::type_identity_t<MatrixView<const T>> a, std::type_identity_t<MatrixView<const T>> b,
                         MatrixView<T> c, bool accumulate = false);

}  // namespace dsop::kernels
