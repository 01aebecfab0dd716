// How a vector is gone through: by threads, in blocks that stay in the cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "kernels/compact.hpp"
#include "kernels/threads.hpp"

namespace dsop::selection {

// About 20 us on one thread: waking a team takes a few.
inline constexpr std::size_t parallel_elements = 1 << 17;

inline std::size_t threads_for(std::size_t elements) {
  return elements >= parallel_elements ? kernels::thread_count() : 1;
}

/// Calls visit(block, index of its first element) over elements first .. last - 1 until it gives false.
template <class T, class Visit>
void for_blocks(std::span<const T> values, std::size_t first, std::size_t last, const Visit& visit) {
  for (std::size_t i = first; i < last; i += kernels::compact_block)
    if (!visit(values.subspan(i, std::min(kernels::compact_block, last - i)), i)) return;
}

/// Those of `block`, whose first element has the index `first`, whose keys lie in `range`; in `picked`.
template <class T>
std::span<const T> those_inside(std::span<const T> block, std::size_t first, kernels::KeyRange<T> range,
                                kernels::Picked<T>& picked) {
  const kernels::Compact<T> compact = kernels::compactor<T>(best_instruction_set());
  return {picked.values, compact(block, static_cast<sparse::Index>(first), range, picked)};
}

/// The sum of of(part) over parts that depend on the number of values alone, always added in one order, so that
/// the bits do not depend on threads.
template <class T, class Of>
auto sum_over(std::span<const T> values, const Of& of) {
  constexpr std::size_t most_parts = 256;
  constexpr std::size_t part_elements = 512;
  using Sum = decltype(of(values));
  std::array<Sum, most_parts> sums;
  const std::size_t n = values.size();
  const std::size_t parts = std::min(most_parts, (n + part_elements - 1) / part_elements);
  const auto bound = [&](std::size_t part) { return n / parts * part + std::min(part, n % parts); };
  kernels::on_threads(threads_for(n), [&](std::size_t t, std::size_t team) {
    for (std::size_t part = parts * t / team; part < parts * (t + 1) / team; ++part)
      sums[part] = of(values.subspan(bound(part), bound(part + 1) - bound(part)));
  });
  Sum total{};
  for (const Sum& sum : std::span(sums).first(parts)) total += sum;
  return total;
}

}  // namespace dsop::selection
