#include "kernels/add.hpp"

#include <cstddef>

namespace dsop::kernels {

template <class T>
void add(std::span<T> sum, std::span<const T> left, std::span<const T> right) {
  // Wider vectors than the compiler's default gained at most a third for 4 KB, and nothing beyond the first-level
  // cache.
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = left[i] + right[i];
}

template void add(std::span<float>, std::span<const float>, std::span<const float>);
template void add(std::span<double>, std::span<const double>, std::span<const double>);

}  // namespace dsop::kernels
