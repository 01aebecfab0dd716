// What tasks count, added over ranks.
#pragma once

#include <array>
#include <cstddef>

#include <dsop/transport.hpp>

#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {

/// Sums of all ranks' numbers, in the order of ranks. All ranks must call it.
template <std::size_t n>
std::array<double, n> sums_over_ranks(Transport& transport, const std::array<double, n>& own) {
  std::array<double, n> sums{};
  for (const std::array<double, n>& numbers : patterns::of_all_ranks(transport, own))
    for (std::size_t i = 0; i < n; ++i) sums[i] += numbers[i];
  return sums;
}

}  // namespace dsop::learn
