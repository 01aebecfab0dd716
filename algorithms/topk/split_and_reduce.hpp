// Ok-Topk's first half: everybody gets what all have chosen of its region, of which each rank has one, and adds it. Li
// and Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (PPoPP 2022), section 3.1.1.
#pragma once

#include <algorithm>

#include "algorithms/dense/algorithm.hpp"
#include "algorithms/sparse/split.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/residual.hpp"

namespace dsop::topk {

using sparse::Region;

/// A few whole numbers of which all ranks get the sums: exactly, below 2^53.
struct SumOfNumbers {
  SumOfNumbers(Arena& arena, std::size_t count, int ranks)
      : numbers(arena.take<double>(count)),
        workspace(arena.take<std::byte>(butterfly().workspace_bytes({count, ranks, DataType::f64}, 0))) {}

  /// On all ranks.
  void run(Transport& transport) const {
    Arena memory(workspace);
    DenseCall<double> call{transport, numbers, memory, 0};
    butterfly().run(call);
  }

  std::span<double> numbers;
  std::span<std::byte> workspace;

 private:
  static const DenseAlgorithm& butterfly() {
    static const DenseAlgorithm& algorithm = *dense_algorithms().find("butterfly");
    return algorithm;
  }
};

inline Region region_of(const TopKState& state, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return {state.bounds[r], state.bounds[r + 1] - state.bounds[r]};
}

/// Regions of N/P elements.
template <class T>
void equal_regions(TopKCall<T>& call) {
  const patterns::Blocks equal(call.values.size(), call.transport.size());
  call.state.bounds.resize(call.plan.chosen.size() + 1);
  for (std::size_t b = 0; b < call.state.bounds.size(); ++b) call.state.bounds[b] = equal.offset(static_cast<int>(b));
}

/// Every rank bounds regions in which it has chosen equally many elements; the means of all ranks' bounds are agreed
/// upon. `sum` is of P - 1 numbers. Cost: an allreduce of these, whole ones, so exact.
template <class T>
void space_repartition(TopKCall<T>& call, const SumOfNumbers& sum) {
  const int P = call.transport.size();
  const std::span<double> bounds = sum.numbers;
  equal_regions(call);
  const std::size_t k = call.own.indices.size();
  for (std::size_t b = 1; b <= bounds.size(); ++b)
    bounds[b - 1] =
        static_cast<double>(k == 0 ? call.state.bounds[b] : call.own.indices[b * k / call.plan.chosen.size()]);
  sum.run(call.transport);
  for (std::size_t b = 1; b <= bounds.size(); ++b) call.state.bounds[b] = static_cast<std::uint64_t>(bounds[b - 1] / P);
}

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
