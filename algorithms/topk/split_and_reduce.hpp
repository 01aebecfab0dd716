// Ok-Topk's first half: everybody gets what all have chosen of its region, and adds it. Li and Hoefler, "Near-Optimal
// Sparse Allreduce for Distributed Deep Learning" (PPoPP 2022), section 3.1.1.
#pragma once

#include "algorithms/sparse/split.hpp"
#include "algorithms/topk/regions.hpp"
#include "algorithms/topk/residual.hpp"

namespace dsop::topk {

using sparse::Region;

/// Values for which the two memories have room in which a region's sum is made by turns, and in one of which those of
/// all sums find room: all pairs, or all elements where these are fewer bytes. By bf16 a region travels dense from 6
/// bytes a pair beside 2 an element on: it then has three elements for each that was chosen. The sum of a region of one
/// element has a value even where nobody has chosen it.
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
/// whose size is what the network gives.
template <class T>
sparse::RunningSum<T> split_and_reduce(TopKCall<T>& call, std::span<T> memory, std::span<T> other_memory,
                                       const sparse::SplitMemory<T>& messages) {
  const auto region = [&](int q) { return region_of(call.state, q); };
  const std::size_t size = region(call.transport.rank()).size;
  sparse::RunningSum<T> sum(size, sparse::most_indices<T>(size), memory, other_memory);
  sparse::split(call.transport, region, call.plan.problem.wire, call.own, messages, sum);
  return sum;
}

}  // namespace dsop::topk
