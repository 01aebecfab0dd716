// Messages and time of a split of vectors among ranks.
#pragma once

#include "algorithms/sparse/expected.hpp"
#include "patterns/blocks.hpp"
#include "patterns/steps.hpp"

namespace dsop::sparse {

using patterns::Blocks;

inline std::size_t largest_region(const SparseProblem& problem, int parts) {
  return Blocks(problem.elements, parts).largest();
}

/// What a rank holds of a region, as expected.
inline std::size_t expected_part(const SparseProblem& problem, int parts) {
  return whole(problem.expected_union(1) / parts);
}

/// Elements that are not zero in the sum of a region, as expected.
inline std::size_t expected_in_region(const SparseProblem& problem) {
  return whole(problem.expected_union(problem.ranks()) / problem.ranks());
}

inline patterns::Network network_of(const SparseProblem& problem, const Machine& machine) {
  return {machine, problem.group.nodes, problem.ranks()};
}

/// P - 1 messages among the network's P: what all hold of the region, `part` elements each or Sparsity::dense.
inline Cost split_cost(const SparseProblem& problem, const patterns::Network& network, std::size_t part) {
  const int P = network.ranks();
  const Machine& machine = network.machine();
  if (P == 1) return {};
  const auto others = static_cast<std::size_t>(P - 1);
  const std::size_t region = largest_region(problem, P);
  const std::size_t part_bytes = packed_bytes(problem, region, part);
  const std::size_t bytes = others * part_bytes;
  Cost cost;
  cost.messages = others;
  cost.bytes = bytes;
  cost.flops = P * stored(part, region);
  cost.communication_seconds = patterns::all_to_all_step(network, part_bytes).seconds();
  cost.arithmetic_seconds = P * adding_seconds(problem, machine, region, part) +
                            packing_seconds(machine, bytes + part_bytes, bytes + part_bytes) +
                            conversion_seconds(problem, machine, cost.flops, cost.flops);
  return cost;
}

}  // namespace dsop::sparse
