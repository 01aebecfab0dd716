#include "kernels/blocked_product.hpp"

#include <algorithm>

#include <dsop/types.hpp>

namespace dsop::kernels {
namespace {

// Half of a 2 MB second-level cache in all; a panel of A is read once for each panel of B.
constexpr std::size_t panel_bytes = 512 * 1024;

std::size_t panel_width(std::size_t inner, std::size_t width, std::size_t element_bytes, std::size_t needed) {
  const std::size_t fitting = panel_bytes / (element_bytes * inner * width);
  const std::size_t all = (needed + width - 1) / width;
  return std::clamp<std::size_t>(fitting, 1, all) * width;
}

}  // namespace

template <class T>
Panels choose_panels(const RankK<T>& kernel, std::size_t inner, std::size_t rows, std::size_t columns) {
  return {panel_width(inner, kernel.block_rows, sizeof(T), rows),
          panel_width(inner, kernel.block_columns, sizeof(T), columns)};
}

template <class T>
void blocked_product(const RankK<T>& kernel, Panels panels, MatrixView<const T> a, MatrixView<const T> b,
                     MatrixView<T> c, T alpha, T beta, Write write, T* workspace) {
  T* packed_b = workspace;  // first, where vectors are aligned
  T* packed_a = workspace + a.rows * panels.column_panel;
  for (std::size_t i = 0; i < c.rows; i += panels.row_panel) {
    const std::size_t rows = std::min(panels.row_panel, c.rows - i);
    kernel.pack_a(column_range(a, i, rows), alpha, packed_a);  // the same bits whatever is cut
    for (std::size_t j = 0; j < c.columns; j += panels.column_panel) {
      const std::size_t columns = std::min(panels.column_panel, c.columns - j);
      kernel.pack_b(column_range(b, j, columns), T{1}, packed_b);
      const MatrixView<T> part = column_range(c.row_range(i, rows), j, columns);
      for (std::size_t band = 0; band < rows; band += kernel.block_rows)
        kernel.multiply({packed_a + band * a.rows, packed_b, a.rows,
                         part.row_range(band, std::min(kernel.block_rows, rows - band)), beta, write});
    }
  }
  if (write == Write::stream) finish_streaming();
}

#define INSTANTIATE(T)                                                                                               \
  template Panels choose_panels(const RankK<T>&, std::size_t, std::size_t, std::size_t);                             \
  template void blocked_product(const RankK<T>&, Panels, MatrixView<const T>, MatrixView<const T>, MatrixView<T>, T, \
                                T, Write, T*);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
