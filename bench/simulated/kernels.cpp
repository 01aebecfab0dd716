// The local arithmetic, charged at the stated rates. Its results are made only where memory is real, in the plainest
// way.
#include "kernels/add.hpp"
#include "kernels/copy.hpp"
#include "kernels/outer_product.hpp"

#include <algorithm>

#include <dsop/problem.hpp>

#include "simulation.hpp"

namespace dsop::kernels {

template <class T>
std::size_t largest_inner_dimension() {
  return 0;
}

template <class T>
void product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T scale, bool accumulate, ProductMethod) {
  const simulated::Simulation& simulation = simulated::simulation();
  simulated::charge(simulation.machine.product_seconds(static_cast<double>(c.rows), static_cast<double>(c.columns),
                                                       static_cast<double>(a.rows), data_type<T>));
  if (simulation.folded) return;
  for (std::size_t i = 0; i < c.rows; ++i) {
    if (!accumulate) std::fill_n(c.row(i), c.columns, T{0});
    for (std::size_t p = 0; p < a.rows; ++p)
      for (std::size_t j = 0; j < c.columns; ++j) c.row(i)[j] += scale * a.row(p)[i] * b.row(p)[j];
  }
}

template <class T>
void add(std::span<T> sum, std::span<const T> left, std::span<const T> right) {
  const simulated::Simulation& simulation = simulated::simulation();
  simulated::charge(simulation.machine.addition_seconds(static_cast<double>(sum.size()), data_type<T>));
  if (!simulation.folded) simulated::add_elements(sum.data(), left.data(), right.data(), sum.size());
}

template <class T>
void copy(MatrixView<const T> from, MatrixView<T> to) {
  const simulated::Simulation& simulation = simulated::simulation();
  simulated::charge(simulation.machine.memory_seconds(2.0 * static_cast<double>(from.rows * from.columns * sizeof(T))));
  if (simulation.folded) return;
  for (std::size_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.columns, to.row(i));
}

template <class T>
void reserve_product(std::size_t) {}  // nothing is packed

template void reserve_product<float>(std::size_t);
template void reserve_product<double>(std::size_t);
template std::size_t largest_inner_dimension<float>();
template std::size_t largest_inner_dimension<double>();
template void product(MatrixView<const float>, MatrixView<const float>, MatrixView<float>, float, bool, ProductMethod);
template void product(MatrixView<const double>, MatrixView<const double>, MatrixView<double>, double, bool,
                      ProductMethod);
template void add(std::span<float>, std::span<const float>, std::span<const float>);
template void add(std::span<double>, std::span<const double>, std::span<const double>);
template void copy(MatrixView<const float>, MatrixView<float>);
template void copy(MatrixView<const double>, MatrixView<double>);

}  // namespace dsop::kernels
