// The elements among which the k-th largest is.
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/selection/memory.hpp"
#include "kernels/compact.hpp"

namespace dsop::selection {

/// Those of `block`, whose first element has the index `first`, whose keys lie in `range`; in `picked`.
template <class T>
std::span<const T> those_inside(std::span<const T> block, std::size_t first, kernels::KeyRange<T> range,
                                kernels::Picked<T>& picked) {
  const kernels::Compact<T> compact = kernels::compactor<T>(best_instruction_set());
  return {picked.values, compact(block, static_cast<sparse::Index>(first), range, picked)};
}

/// Below, a sample is not much smaller than all.
inline constexpr std::size_t sampled_elements = 1 << 16;

/// Where a sample puts the k-th largest of sampled_elements or more, rightly in all but one of ten thousand cases.
template <class T>
kernels::KeyRange<T> guess(std::span<const T> values, std::size_t k, Memory<T>& memory);

/// Elements in a range, and above it.
struct Counts {
  std::size_t inside = 0;
  std::size_t above = 0;
};

/// Writes the keys within `range` to `keys`, in any order. If there are more than fit, it stops early and `inside` is
/// more than keys.size().
template <class T>
Counts gather(std::span<const T> values, kernels::KeyRange<T> range, std::span<kernels::Key<T>> keys);

}  // namespace dsop::selection
