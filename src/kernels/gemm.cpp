#include "kernels/gemm.hpp"

#include <cblas.h>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace dsop::kernels {

template <class T>
bool fits_gemm(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  // No view has more columns than its stride, so rows and columns of C fit when these do.
  const std::size_t largest = std::max({a.rows, a.stride, b.stride, c.stride});
  return largest <= static_cast<std::size_t>(std::numeric_limits<blasint>::max());
}

template <class T>
void gemm(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T scale, bool accumulate) {
  const auto call = [&](auto function) {
    function(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<blasint>(c.rows), static_cast<blasint>(c.columns),
             static_cast<blasint>(a.rows), scale, a.data, static_cast<blasint>(a.stride), b.data,
             static_cast<blasint>(b.stride), accumulate ? T{1} : T{0}, c.data, static_cast<blasint>(c.stride));
  };
  if constexpr (std::is_same_v<T, float>)
    call(cblas_sgemm);
  else
    call(cblas_dgemm);
}

template bool fits_gemm(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template bool fits_gemm(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void gemm(MatrixView<const float>, MatrixView<const float>, MatrixView<float>, float, bool);
template void gemm(MatrixView<const double>, MatrixView<const double>, MatrixView<double>, double, bool);

}  // namespace dsop::kernels
