#pragma once
#include <span>
namespace dsop::kernels {
template <class T>
inline void add(std::span<T> sum, std::span<const T> left, std::span<const T> right) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = left[i] + right[i];
}
}  // namespace dsop::kernels
