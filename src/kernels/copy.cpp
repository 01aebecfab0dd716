#include "kernels/copy.hpp"

#include <algorithm>
#include <cstddef>

#include <dsop/types.hpp>

namespace dsop::kernels {

template <class T>
void copy(MatrixView<const T> from, MatrixView<T> to) {
  for (std::size_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.columns, to.row(i));
}

#define INSTANTIATE(T) template void copy(MatrixView<const T>, MatrixView<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
