// What a call leaves of the values that it was given.
#pragma once

#include <span>

#include "sparse/stream.hpp"
#include "topk/pairs.hpp"

namespace dsop::topk {

/// All that was selected is in the sum.
template <class T>
void leave_out(std::span<T> values, std::span<const sparse::Index> selected) {
  for (const sparse::Index i : selected) values[i] = T{0};
}

/// What was selected of `in_sum` alone is in the sum. Indices of both rise.
template <class T>
void leave_out_common(std::span<T> values, std::span<const sparse::Index> selected, std::span<const Pair<T>> in_sum) {
  auto pair = in_sum.begin();
  for (const sparse::Index i : selected) {
    while (pair != in_sum.end() && pair->index < i) ++pair;
    if (pair == in_sum.end()) return;
    if (pair->index == i) values[i] = T{0};
  }
}

/// A copy in `memory`, in the form that is smaller.
template <class T>
sparse::Stream<T> copy_smaller_form(const sparse::Stream<T>& x, std::span<T> memory) {
  return x.indices.size() <= sparse::most_indices<T>(x.dimension) ? sparse::copy(x, memory) : sparse::expand(x, memory);
}

}  // namespace dsop::topk
