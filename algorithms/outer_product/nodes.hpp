// Ranks and their pairs by the nodes that they share.
#pragma once

#include <cstddef>
#include <utility>

#include "algorithms/outer_product/gather_factors.hpp"

namespace dsop::outer_product {

/// The lowest rank of r's node, its leader.
inline int node_of(const Problem& problem, int r) {
  return problem.group.nodes[static_cast<std::size_t>(r)];
}

/// Calls body(q) for the ranks of r's node but r.
template <class Body>
void for_others_on_node(const Problem& problem, int r, Body body) {
  for (int q = 0; q < problem.ranks(); ++q)
    if (q != r && node_of(problem, q) == node_of(problem, r)) body(q);
}

/// Where rank r's pairs begin in the order of nodes.
inline std::size_t first_pair(const Problem& problem, int r) {
  std::size_t before = 0;
  for (int q = 0; q < problem.ranks(); ++q)
    if (std::pair(node_of(problem, q), q) < std::pair(node_of(problem, r), r))
      before += problem.pairs[static_cast<std::size_t>(q)];
  return before;
}

/// The allgather of the nodes' factors, in the order of their leaders, no two of whom share a node.
inline AllgatherProblem node_blocks(const Problem& problem) {
  AllgatherProblem blocks{{0}};
  for (int leader = 0; leader < problem.ranks(); ++leader) {
    if (node_of(problem, leader) != leader) continue;
    std::size_t pairs = problem.pairs[static_cast<std::size_t>(leader)];
    for_others_on_node(problem, leader, [&](int q) { pairs += problem.pairs[static_cast<std::size_t>(q)]; });
    blocks.bounds_bytes.push_back(blocks.bounds_bytes.back() + pairs * pair_bytes(problem));
  }
  return blocks;
}

}  // namespace dsop::outer_product
