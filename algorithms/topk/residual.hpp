// Elements of a sum on their way to all ranks, and the residual: what of a rank's values is not in the sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include "algorithms/selection/cut.hpp"
#include "algorithms/selection/ranges.hpp"
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
std::span<sparse::Index> intersect(std::span<sparse::Index> selected, const SparseVectorView<T>& sum) {
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

/// An element of the vector, in 8 bytes (f32), 12 (f64) or 6 (Bf16).
template <class Value>
struct [[gnu::packed]] Pair {
  Value value;
  sparse::Index index;
};

inline std::size_t pair_bytes(DataType type, Wire wire) {
  if (wire == Wire::bf16) return sizeof(Pair<kernels::Bf16>);
  return visit(type, []<class T>(T) { return sizeof(Pair<T>); });
}

/// The value as another type, of which one may be Bf16.
template <class To, class From>
To value_as(From value) {
  if constexpr (std::is_same_v<To, kernels::Bf16>)
    return kernels::rounded(static_cast<float>(value));
  else if constexpr (std::is_same_v<From, kernels::Bf16>)
    return kernels::widened(value);
  else
    return value;
}

/// Calls visit(e) for those of x's values, counted from 0, that lie beyond the cut; the cut counts them from `first`.
template <class T, class Visit>
void for_each_beyond(std::span<const T> values, selection::Cut<T> cut, std::size_t first, const Visit& visit) {
  const selection::Beyond<T> beyond(cut);
  kernels::Picked<T> picked;
  selection::for_blocks(values, 0, values.size(), [&](std::span<const T> block, std::size_t at) {
    const std::size_t found = beyond(block, static_cast<sparse::Index>(first + at), picked);
    for (std::size_t e = 0; e < found; ++e) visit(picked.indices[e] - first);
    return true;
  });
}

/// Where element e of a region's sum stands in the vector.
template <class T>
sparse::Index index_of(const SparseVectorView<T>& x, sparse::Region region, std::size_t e) {
  return static_cast<sparse::Index>(region.first + (x.dense() ? e : x.indices[e]));
}

/// What of a region's sum lies beyond the cut, to `pairs` as far as it fits. Returns how many there are.
template <class T>
std::size_t select(const SparseVectorView<T>& x, sparse::Region region, selection::Cut<T> cut, std::size_t first,
                   std::span<Pair<T>> pairs) {
  std::size_t count = 0;
  for_each_beyond(x.values, cut, first, [&](std::size_t e) {
    if (count < pairs.size()) pairs[count] = {x.values[e], index_of(x, region, e)};
    ++count;
  });
  return count;
}

}  // namespace dsop::topk
