// Dense vectors that are like gradients: most elements small, a few large, as a rule in the same places on all ranks.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "sparse_inputs.hpp"

namespace dsop::bench {

/// A mixture of normal values: wide ones (0.1; in a hot region 1), on average `density` of all, where the distribution
/// puts them; of the rest a tenth medium (0.01), the others narrow (0.001). All ranks have the same widths, but where
/// elements are clustered or in a hot region, and each has its own values.
template <class T>
std::vector<T> gradient_like(int rank, std::size_t size, double density, Distribution distribution) {
  const Chances chances(size, density, distribution);
  const std::uint64_t seed = mix(static_cast<std::uint64_t>(rank) + 1);
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    const bool is_hot = chances.is_hot(i);
    const double place = Chances::uniform(is_hot ? ~seed + i : i);  // not one of the values' below
    const double chance = chances.of(rank, i);
    const double width = place < chance ? (is_hot ? 1 : 0.1) : place < chance + 0.1 * (1 - chance) ? 0.01 : 0.001;
    const double radius = std::sqrt(-2 * std::log(1 - Chances::uniform(seed + 2 * i)));
    const double angle = 2 * std::numbers::pi * Chances::uniform(seed + 2 * i + 1);
    values[i] = static_cast<T>(width * radius * std::cos(angle));
  }
  return values;
}

}  // namespace dsop::bench
