// Ok-Topk's regions, one a rank: Li and Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (PPoPP
// 2022), section 3.1.1.
#pragma once

#include <algorithm>

#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/sum_of_numbers.hpp"
#include "patterns/blocks.hpp"
#include "sparse/wire.hpp"

namespace dsop::topk {

inline sparse::Region region_of(const TopKState& state, int rank) {
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

}  // namespace dsop::topk
