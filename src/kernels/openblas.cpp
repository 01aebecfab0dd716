// All that we call of OpenBLAS; no_openblas.cpp stands in for it.
#include <cblas.h>

#include <type_traits>

#include <dsop/types.hpp>

#include "kernels/blas_info.hpp"
#include "kernels/gemm.hpp"
#include "kernels/threads.hpp"

namespace dsop::kernels {
namespace {

constexpr auto blas_gemm(float) {
  return cblas_sgemm;
}
constexpr auto blas_gemm(double) {
  return cblas_dgemm;
}

/// C = alpha A B + beta C, A being transposed as it is told, and B; `inner` is what the sum goes over.
template <class T>
void call_blas(CBLAS_TRANSPOSE a_form, CBLAS_TRANSPOSE b_form, MatrixView<const T> a, MatrixView<const T> b,
               MatrixView<T> c, std::size_t inner, T alpha, T beta) {
  const auto function = blas_gemm(T{});
  function(CblasRowMajor, a_form, b_form, static_cast<blasint>(c.rows), static_cast<blasint>(c.columns),
           static_cast<blasint>(inner), alpha, a.data, static_cast<blasint>(a.stride), b.data,
           static_cast<blasint>(b.stride), beta, c.data, static_cast<blasint>(c.stride));
}

}  // namespace

// OpenBLAS takes a team from 262,144 multiplications on.
template <class T>
void gemm(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T alpha, T beta) {
  constexpr std::size_t on_one_thread = 1 << 17;
  const DefaultFloatModeOfTeam mode(c.rows * c.columns * a.rows > on_one_thread ? thread_count() : 1);
  call_blas<T>(CblasTrans, CblasNoTrans, a, b, c, a.rows, alpha, beta);
}

template <class T>
void multiply(std::type_identity_t<MatrixView<const T>> a, std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c,
              bool accumulate) {
  if (c.rows == 0 || c.columns == 0) return;
  call_blas<T>(CblasNoTrans, CblasNoTrans, a, b, c, a.columns, 1, accumulate ? 1 : 0);
}

template <class T>
void multiply_transposed(std::type_identity_t<MatrixView<const T>> a, std::type_identity_t<MatrixView<const T>> b,
                         MatrixView<T> c, bool accumulate) {
  if (c.rows == 0 || c.columns == 0) return;
  call_blas<T>(CblasNoTrans, CblasTrans, a, b, c, a.columns, 1, accumulate ? 1 : 0);
}

#define INSTANTIATE(T)                                                                   \
  template void gemm(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, T, T);     \
  template void multiply(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, bool); \
  template void multiply_transposed(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, bool);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

std::string_view blas_core_name() {
  return openblas_get_corename();
}

std::string_view blas_threading() {
  switch (openblas_get_parallel()) {
    case OPENBLAS_SEQUENTIAL:
      return "sequential";
    case OPENBLAS_THREAD:
      return "pthreads";
    case OPENBLAS_OPENMP:
      return "OpenMP";
    default:
      return "unknown";
  }
}

std::string_view blas_version() {
  return openblas_get_config();
}

}  // namespace dsop::kernels
