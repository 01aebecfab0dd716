// Messages and time of dsar-early-switch.
#pragma once

#include <cmath>

#include "algorithms/dense/halving_cost.hpp"
#include "algorithms/sparse/fold.hpp"
#include "algorithms/sparse/gather_dense.hpp"
#include "algorithms/sparse/groups.hpp"

namespace dsop::sparse {

inline Cost early_switch_cost(const SparseProblem& problem, const Machine& machine, const Groups& groups,
                              const AllgatherProblem& blocks) {
  const std::vector<int> by_group = groups.nodes_by_group(problem.group.nodes);
  const std::vector<int> by_region = groups.nodes_by_region(problem.group.nodes);
  const patterns::Network within_groups(machine, by_group, groups.g);
  const patterns::Network between_groups(machine, by_region, groups.C);
  const auto split_of = [&](std::size_t held) {
    const std::size_t part = held == Sparsity::dense ? held : whole(static_cast<double>(held) / groups.g);
    return split_cost(problem, within_groups, part);
  };
  const std::size_t k = whole(problem.expected_union(1));
  const Cost without_extra = split_of(k);
  const bool folds = groups.extras() > 0;
  const Cost with_extra = folds ? split_of(expected_folded(problem)) : without_extra;
  const dense::HalvingCost halving{groups.blocks(0), groups.C, bytes_on_wire(problem)};
  const AllgatherAlgorithm& exchange = cheapest_allgather(blocks, machine);

  Cost cost = folds ? fold_cost(problem, machine, groups.g * groups.C) : Cost();
  for (int r = 0; r < groups.P; ++r) {
    const patterns::Corners rank = groups.corners(r);
    const Cost& own_split = rank.has_extra() ? with_extra : without_extra;
    const Traffic before = rank.is_extra()
                               ? Traffic{1, packed_bytes(problem, problem.elements, k)}
                               : Traffic{own_split.messages, own_split.bytes} + halving.sent(groups.group(r));
    cost.raise_to(before + exchange.sent(blocks, r));
  }
  // The share of the first group's ranks that have extras.
  const double share = std::ceil(static_cast<double>(groups.extras()) / groups.C) / groups.g;
  cost.flops += std::lerp(without_extra.flops, with_extra.flops, share) + halving.additions();
  cost.communication_seconds += with_extra.communication_seconds + halving.communication_seconds(between_groups) +
                                exchange.seconds(blocks, machine);
  cost.arithmetic_seconds +=
      std::lerp(without_extra.arithmetic_seconds, with_extra.arithmetic_seconds, share) +
      machine.addition_seconds(halving.additions(), problem.type) +
      machine.memory_seconds(static_cast<double>(groups.regions.largest() * bytes_of(problem.type))) +
      conversion_seconds(problem, machine, halving.additions(),
                         halving.additions() + static_cast<double>(problem.elements));
  return cost;
}

}  // namespace dsop::sparse
