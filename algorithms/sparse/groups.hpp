// Ranks in groups of equal size, as many groups as a power of two, and what each has of a vector.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "patterns/blocks.hpp"
#include "patterns/hypercube.hpp"

namespace dsop::sparse {

/// C groups of g ranks, C the largest power of two that P has room for; the ranks beyond are their extras. Each rank of
/// a group has a region of N/g elements, and of that a block of N/gC: the first C ranks have the first region, and so
/// on, so that blocks lie in the order of ranks. Extras have none.
struct Groups {
  /// Groups of more ranks than there are: one of all.
  Groups(const SparseProblem& problem, double ranks_a_group)
      : P(problem.ranks()),
        g(static_cast<int>(std::min<double>(ranks_a_group, P))),
        C(patterns::Hypercube(0, P / g).corners),
        regions(problem.elements, g) {}

  patterns::Corners corners(int rank) const { return {rank, P, g * C}; }
  int extras() const { return P - g * C; }
  int position(int rank) const { return rank / C; }  ///< in its group, and of its region
  int group(int rank) const { return rank % C; }
  patterns::Blocks blocks(int position) const { return {regions.size(position), C}; }
  /// Each rank's node, group by group, and region by region, as patterns::Network takes teams; `nodes` as in Problem.
  std::vector<int> nodes_by_group(const std::vector<int>& nodes) const {
    std::vector<int> sorted;
    for (int c = 0; c < C; ++c)
      for (int i = 0; i < g; ++i) sorted.push_back(node(nodes, i * C + c));
    return sorted;
  }
  std::vector<int> nodes_by_region(const std::vector<int>& nodes) const {
    std::vector<int> sorted;
    for (int r = 0; r < g * C; ++r) sorted.push_back(node(nodes, r));
    return sorted;
  }
  /// Of a rank's block, in elements; for P all.
  std::size_t offset(int rank) const {
    if (rank >= g * C) return regions.offset(g);
    return regions.offset(position(rank)) + blocks(position(rank)).offset(group(rank));
  }

  int P;
  int g;
  int C;
  patterns::Blocks regions;

 private:
  static int node(const std::vector<int>& nodes, int rank) {
    return nodes.empty() ? rank : nodes[static_cast<std::size_t>(rank)];
  }
};

}  // namespace dsop::sparse
