// The paper's passes over G, charged at the stated rates; computed only where memory is real.
#include "compare/pair_passes.hpp"

#include <dsop/types.hpp>

#include "kernels/outer_product.hpp"
#include "simulation.hpp"

namespace dsop::bench::compare {

template <class T>
void pair_passes(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> G) {
  const Machine& machine = simulated::simulation().machine;
  const double reading = static_cast<double>(G.rows * G.columns * sizeof(T)) / machine.memory_bytes_per_second;
  for (std::size_t p = 0; p < a.rows; ++p) {
    kernels::product<T>(a.row_range(p, 1), b.row_range(p, 1), G, T{1}, p > 0 ? T{1} : T{0});  // charges for writing G
    if (p > 0) simulated::charge(reading);
  }
  if (a.rows == 0) kernels::product<T>(a, b, G, T{1}, 0);
}

#define INSTANTIATE(T) template void pair_passes(MatrixView<const T>, MatrixView<const T>, MatrixView<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
#undef INSTANTIATE

}  // namespace dsop::bench::compare
