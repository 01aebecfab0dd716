// Ok-Topk's first half: everybody gets what all have chosen of its region, and adds it. Li and Hoefler, "Near-Optimal
// Sparse Allreduce for Distributed Deep Learning" (PPoPP 2022), section 3.1.1.
#pragma once

#include "algorithms/sparse/split.hpp"
#include "algorithms/topk/regions.hpp"
#include "algorithms/topk/residual.hpp"

namespace dsop::topk {

using sparse::Region;

/// The size, in values, of each of the two memories in which a region's sum is made. One of them must also hold the
/// values of all ranks' sums: all pairs, or all elements if these take fewer bytes. As bf16 a pair takes 6 bytes and an
/// element of a dense region 2, so a dense region has up to three elements for each that was chosen. One value more for
/// each rank, since the sum of a region of one element has a value even if no rank chose it.
inline std::size_t reduced_elements(const TopKPlan& plan) {
  const std::size_t total = plan.total_chosen();
  const std::size_t pairs =
      plan.problem.wire == Wire::bf16 ? 3 * total : sparse::values_for_pairs(total, plan.problem.type);
  return std::min(pairs, plan.problem.elements) + plan.chosen.size();
}

/// A message to each rank; all that a rank has chosen may lie in one region.
inline sparse::SplitProblem split_of(const TopKPlan& plan) {
  const std::size_t most_chosen = *std::max_element(plan.chosen.begin(), plan.chosen.end());
  return {plan.problem.elements, plan.problem.elements, most_chosen, plan.problem.ranks, plan.problem.wire};
}

/// The sum of this rank's region, in two memories of reduced_elements(): its own part, then that of the rank above, and
/// so on round the circle, so that its bits depend on ranks alone. Destinations are rotated, so that nobody gets two
/// messages at once; up to eight are under way, and what has come is added while the next travel: the paper's buckets,
/// whose size is what the network gives. Other `steps` leave one of the two out.
template <class T>
sparse::RunningSum<T> split_and_reduce(TopKCall<T>& call, std::span<T> memory, std::span<T> other_memory,
                                       const sparse::SplitMemory<T>& messages, const patterns::Steps& steps = {}) {
  const auto region = [&](int q) { return region_of(call.state, q); };
  const std::size_t size = region(call.transport.rank()).size;
  sparse::RunningSum<T> sum(size, sparse::most_indices<T>(size), memory, other_memory);
  sparse::split(call.transport, region, call.plan.problem.wire, call.own, messages, sum, steps);
  return sum;
}

}  // namespace dsop::topk
