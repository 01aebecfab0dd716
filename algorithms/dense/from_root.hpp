// Any root, for algorithms whose root is rank 0.
#pragma once

#include <dsop/problem.hpp>

#include "patterns/network.hpp"
#include "transport/subset.hpp"

namespace dsop::dense {

/// All ranks of `transport`, numbered from `root` on: rank v is rank (root + v) mod P of `transport`.
inline auto from_root(Transport& transport, int root) {
  const int P = transport.size();
  return Subset(transport, (transport.rank() - root + P) % P, P, [=](int v) { return (root + v) % P; });
}

/// What messages between ranks so numbered take.
inline patterns::Network network_from_root(const DenseProblem& problem, const Machine& machine) {
  std::vector<int> nodes;
  for (std::size_t v = 0; v < problem.group.nodes.size(); ++v)
    nodes.push_back(problem.group.nodes[(static_cast<std::size_t>(problem.root) + v) % problem.group.nodes.size()]);
  return {machine, nodes, problem.ranks};
}

}  // namespace dsop::dense
