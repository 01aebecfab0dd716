#include "kernels/copy.hpp"

#include <algorithm>
#include <cstddef>

namespace dsop::kernels {

template <class T>
void copy(MatrixView<const T> from, MatrixView<T> to) {
  for (std::size_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.columns, to.row(i));
}

template void copy(MatrixView<const float>, MatrixView<float>);
template void copy(MatrixView<const double>, MatrixView<double>);

}  // namespace dsop::kernels
