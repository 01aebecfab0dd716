// What a call leaves of the values that it was given.
#pragma once

#include <cstddef>
#include <span>

#include "sparse/stream.hpp"

namespace dsop::topk {

/// What is in the sum.
template <class T>
void leave_out(std::span<T> values, std::span<const sparse::Index> took_part) {
  for (const sparse::Index i : took_part) values[i] = T{0};
}

/// Those of `selected`, which rise, that the sum has, of a dense sum those that are not zero in it; moved to the front.
template <class T>
std::span<sparse::Index> those_in(const sparse::Stream<T>& sum, std::span<sparse::Index> selected) {
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
sparse::Stream<T> copy_smaller_form(const sparse::Stream<T>& x, std::span<T> memory) {
  return x.indices.size() <= sparse::most_indices<T>(x.dimension) ? sparse::copy(x, memory) : sparse::expand(x, memory);
}

}  // namespace dsop::topk
