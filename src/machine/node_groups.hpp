// With whom a rank shares its node, and who stands at its place on the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace dsop {

struct NodeGroups {
  /// `nodes` as in Problem.
  NodeGroups(const std::vector<int>& node_of, int rank, int ranks) {
    std::map<int, std::vector<int>> all;
    for (int r = 0; r < ranks; ++r) all[node_of.empty() ? r : node_of[static_cast<std::size_t>(r)]].push_back(r);
    nodes = static_cast<int>(all.size());
    on_node = all[node_of.empty() ? rank : node_of[static_cast<std::size_t>(rank)]];
    place_on_node = static_cast<int>(std::ranges::find(on_node, rank) - on_node.begin());
    least_on_node = ranks;
    for (const auto& [node, of_node] : all) {
      const auto count = static_cast<int>(of_node.size());
      least_on_node = std::min(least_on_node, count);
      most_on_node = std::max(most_on_node, count);
      if (place_on_node < count) across.push_back(of_node[static_cast<std::size_t>(place_on_node)]);
    }
  }

  int nodes = 0;
  std::vector<int> on_node;  ///< the ranks of this rank's node
  int place_on_node = 0;     ///< of this rank among them
  int least_on_node = 0;     ///< ranks of the smallest node
  int most_on_node = 0;
  std::vector<int> across;  ///< on each node that has one the rank at this one's place
};

}  // namespace dsop
