// The residual: what of a rank's values is not in the sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "algorithms/topk/algorithm.hpp"
#include "kernels/bf16.hpp"
#include "sparse/wire.hpp"

namespace dsop::topk {

/// What rounding takes from a value on its way; 0 if it becomes infinite.
template <class T>
T rounded_off(T value, Wire wire) {
  if (wire == Wire::full) return T{0};
  const T error = value - kernels::widened(kernels::rounded(static_cast<float>(value)));
  return std::isfinite(error) ? error : T{0};
}

/// Sets the values that took part to what rounding took from them.
template <class T>
void leave_out(std::span<T> values, std::span<const sparse::Index> took_part, Wire wire) {
  for (const sparse::Index i : took_part) values[i] = rounded_off(values[i], wire);
}

/// Moves the indices that the sum has to the front of `selected`, and returns them. `selected` is in rising order. A
/// dense sum has an index if its element is not zero.
template <class T>
std::span<sparse::Index> those_in(const SparseVectorView<T>& sum, std::span<sparse::Index> selected) {
  std::size_t next = 0;
  const auto has = [&](sparse::Index i) {
    if (sum.dense()) return sum.values[i] != T{0};
    while (next < sum.indices.size() && sum.indices[next] < i) ++next;
    return next < sum.indices.size() && sum.indices[next] == i;
  };
  std::size_t count = 0;
  for (const sparse::Index i : selected)
    if (has(i)) selected[count++] = i;
  return selected.first(count);
}

/// A copy in `memory`, in the form that is smaller.
template <class T>
SparseVectorView<T> copy_smaller_form(const SparseVectorView<T>& x, std::span<T> memory) {
  return x.indices.size() <= sparse::most_indices<T>(x.dimension) ? sparse::copy(x, memory) : sparse::expand(x, memory);
}

}  // namespace dsop::topk
