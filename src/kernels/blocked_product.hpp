// Our own product: packed panels of A and B that stay in cache, around the register kernel.
#pragma once

#include <cstddef>

#include <dsop/views.hpp>

#include "kernels/rank_k.hpp"

namespace dsop::kernels {

template <class T>
MatrixView<T> column_range(MatrixView<T> view, std::size_t first, std::size_t count) {
  return {view.data + first, view.rows, count, view.stride};
}

/// How a thread cuts its product: `row_panel` rows of A and `column_panel` columns of B are packed at a time, whole
/// blocks of the kernel each and with all K of them, so that no element's sum is ever cut.
struct Panels {
  std::size_t row_panel;
  std::size_t column_panel;
};

template <class T>
Panels choose_panels(const RankK<T>& kernel, std::size_t inner, std::size_t rows, std::size_t columns);

/// C = alpha A^T B (+ beta C where `write` adds) on the calling thread alone. `workspace` holds inner * (row_panel +
/// column_panel) elements and starts at a cache line.
template <class T>
void blocked_product(const RankK<T>& kernel, Panels panels, MatrixView<const T> a, MatrixView<const T> b,
                     MatrixView<T> c, T alpha, T beta, Write write, T* workspace);

}  // namespace dsop::kernels
