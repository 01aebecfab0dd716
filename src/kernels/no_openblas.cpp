// In a build without OpenBLAS all products are our kernel's.
#include <algorithm>

#include <dsop/types.hpp>

#include "kernels/blas_info.hpp"
#include "kernels/gemm.hpp"
#include "kernels/outer_product.hpp"
#include "kernels/threads.hpp"
#include "memory/workspace.hpp"

namespace dsop::kernels {
namespace {

template <class T>
MatrixView<const T> transposed(MatrixView<const T> from, Workspace<T>& memory) {
  constexpr std::size_t tile = 16;  // a cache line of floats
  T* const to = memory.at_least(from.rows * from.columns).data();
  on_threads(from.rows * from.columns < 1 << 16 ? 1 : thread_count(), [&](std::size_t t, std::size_t team) {
    for (std::size_t first = t * tile; first < from.rows; first += team * tile)
      for (std::size_t j = 0; j < from.columns; ++j)
        for (std::size_t i = first; i < std::min(first + tile, from.rows); ++i) to[j * from.rows + i] = from.row(i)[j];
  });
  return {to, from.columns, from.rows};
}

}  // namespace

template <class T>
void gemm(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T alpha, T beta) {
  product<T>(a, b, c, alpha, beta);
}

template <class T>
void multiply(std::type_identity_t<MatrixView<const T>> a, std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c,
              bool accumulate) {
  thread_local Workspace<T> of_a;
  product<T>(transposed<T>(a, of_a), b, c, 1, accumulate ? 1 : 0);
}

template <class T>
void multiply_transposed(std::type_identity_t<MatrixView<const T>> a, std::type_identity_t<MatrixView<const T>> b,
                         MatrixView<T> c, bool accumulate) {
  thread_local Workspace<T> of_b;
  multiply<T>(a, transposed<T>(b, of_b), c, accumulate);
}

#define INSTANTIATE(T)                                                                   \
  template void gemm(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, T, T);     \
  template void multiply(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, bool); \
  template void multiply_transposed(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, bool);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

std::string_view blas_core_name() {
  return "none";
}
std::string_view blas_threading() {
  return "none";
}
std::string_view blas_version() {
  return "none";
}

}  // namespace dsop::kernels
