// Whether ranks' nodes make sense.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/refuse.hpp"

namespace dsop {

/// Throws ArgumentError naming what(r) of the first rank whose node is not called by its lowest rank.
template <class What>
void check_nodes(const std::vector<int>& nodes, const What& what) {
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const int leader = nodes[r];
    if (leader < 0 || leader > static_cast<int>(r) || nodes[static_cast<std::size_t>(leader)] != leader)
      refuse(what(r), leader, "the lowest rank of that rank's node");
  }
}

/// Throws ArgumentError unless a problem's nodes are of as many ranks, or of none.
inline void check_problem_nodes(const std::vector<int>& nodes, std::size_t ranks) {
  if (!nodes.empty() && nodes.size() != ranks)
    refuse("nodes.size()", nodes.size(), "one for each of " + std::to_string(ranks) + " ranks");
  check_nodes(nodes, [](std::size_t r) { return "nodes[" + std::to_string(r) + "]"; });
}

}  // namespace dsop
