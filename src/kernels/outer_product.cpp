#include "kernels/outer_product.hpp"
namespace dsop {
InstructionSet best_instruction_set() {
  return InstructionSet::baseline;
}
std::string_view name(InstructionSet) {
  return "baseline";
}
}  // namespace dsop
namespace dsop::kernels {
template <class T>
void product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T scale, bool accumulate, ProductMethod) {
  for (std::size_t i = 0; i < c.rows; ++i)
    for (std::size_t j = 0; j < c.columns; ++j) {
      T s = 0;
      for (std::size_t k = 0; k < a.rows; ++k) s += a.row(k)[i] * b.row(k)[j];
      c.row(i)[j] = scale * s + (accumulate ? c.row(i)[j] : 0);
    }
}
template void product(MatrixView<const float>, MatrixView<const float>, MatrixView<float>, float, bool, ProductMethod);
template void product(MatrixView<const double>, MatrixView<const double>, MatrixView<double>, double, bool,
                      ProductMethod);
}  // namespace dsop::kernels
