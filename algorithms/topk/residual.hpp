// What a call leaves of the values that it was given.
#pragma once

#include <span>

#include "sparse/stream.hpp"

namespace dsop::topk {

/// All that was selected is in the sum.
template <class T>
void leave_out(std::span<T> values, std::span<const sparse::Index> selected) {
  for (const sparse::Index i : selected) values[i] = T{0};
}

/// A copy in `memory`, in the form that is smaller.
template <class T>
sparse::Stream<T> copy_smaller_form(const sparse::Stream<T>& x, std::span<T> memory) {
  if (x.indices.size() <= sparse::most_indices<T>(x.dimension)) return sparse::copy(x, memory);
  sparse::expand(x, memory);
  return {x.dimension, {}, memory.first(x.dimension)};
}

}  // namespace dsop::topk
