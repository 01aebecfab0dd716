// Messages and time of Ok-Topk.
#pragma once

#include <bit>

#include "algorithms/sparse/expected.hpp"
#include "algorithms/topk/global_threshold.hpp"
#include "patterns/steps.hpp"

namespace dsop::topk {

/// Everybody's share of the sum.
inline AllgatherProblem ok_topk_blocks(const TopKProblem& problem) {
  const patterns::Blocks shares(problem.k, problem.ranks);
  return blocks_of(problem.group, problem.ranks,
                   [&](int q) { return shares.size(q) * pair_bytes(problem.type, problem.wire); });
}

/// Of a call that reuses thresholds and regions, where all ranks have chosen the same k elements, evenly spread. Times
/// are those of rotated buckets: what leaving them out costs, where messages meet, is for measurements to say.
inline Cost ok_topk_cost(const TopKPlan& plan, const Machine& machine) {
  const auto& [N, k, P, type, group, wire] = plan.problem;
  const auto others = static_cast<std::size_t>(P - 1);
  const patterns::Blocks shares(k, P);
  const std::size_t part_bytes = sparse::packed_bytes(N / static_cast<std::size_t>(P), shares.largest(), type, wire);
  const auto rounds = static_cast<std::size_t>(std::bit_width(others));
  const AllgatherProblem gathered = ok_topk_blocks(plan.problem);
  Cost cost;
  for (int r = 0; r < P; ++r) cost.raise_to(plan.exchange->sent(gathered, r));
  cost.messages += others + rounds;
  cost.bytes += others * (part_bytes + sparse::length_bytes);
  cost.flops = static_cast<double>(k);
  const patterns::Network network(machine, group.nodes, P);
  cost.communication_seconds = patterns::all_to_all_step(network, part_bytes).seconds() +
                               patterns::bruck_seconds(network, sparse::length_bytes) +
                               plan.exchange->seconds(gathered, machine);
  const double own_share = cost.flops / P;
  cost.arithmetic_seconds =
      sparse::summing_seconds(machine, 3 * cost.flops, type) +                     // packed, added, written
      sparse::conversion_seconds(plan.problem, machine, cost.flops, cost.flops) +  // split and reduce
      sparse::conversion_seconds(plan.problem, machine, own_share, cost.flops);    // allgatherv
  return cost;
}

}  // namespace dsop::topk
