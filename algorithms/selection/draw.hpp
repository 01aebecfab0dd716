// Choosing by chance, each element by itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "algorithms/selection/collect.hpp"
#include "base/mix.hpp"
#include "kernels/magnitude_sums.hpp"

namespace dsop::selection {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Number and sum of the magnitudes, times `scale`, that are below `th`.
template <class T>
kernels::Below sum_below(std::span<const T> x, double th, double scale = 1) {
  return sum_over(x, [th, scale](std::span<const T> part) { return kernels::sum_below(part, th, scale); });
}

/// How many of the call's k are left for the `finite` values once all others are chosen.
template <class T>
double left_of_k(const SelectionCall<T>& call, double finite) {
  const double others = static_cast<double>(call.values.size()) - finite;
  return std::max(static_cast<double>(call.k) - others, 0.0);
}

/// Chooses element i unless a number drawn from [0, 1), a function of the seed, the step and i, is at least
/// probability(|x_i|). That must be NaN, or at least 1, of what is not finite, since all such is chosen, and a number
/// of all else. More than there is room for: those of the lowest indices.
template <class T, class Probability>
void draw(SelectionCall<T>& call, const Probability& probability) {
  const std::uint64_t stream = mix(mix(call.state.seed) + call.state.step);
  const Collected collected =
      collect(call, [&](std::span<const T> block, sparse::Index first, kernels::Picked<T>& picked) {
        std::size_t count = 0;
        for (std::size_t e = 0; e < block.size(); ++e) {
          const sparse::Index i = first + static_cast<sparse::Index>(e);
          picked.indices[count] = i;
          picked.values[count] = block[e];
          const double drawn = static_cast<double>(mix(stream + i) >> 11) * 0x1p-53;
          count += drawn >= probability(std::abs(static_cast<double>(block[e]))) ? 0 : 1;
        }
        return count;
      });
  call.has_all_not_finite = collected == Collected::all;
}

}  // namespace dsop::selection
