// Ranks in groups of equal size, as many groups as a power of two, and what each has of a vector.
#pragma once

#include <algorithm>

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
  /// Of a rank's block, in elements; for P all.
  std::size_t offset(int rank) const {
    if (rank >= g * C) return regions.offset(g);
    return regions.offset(position(rank)) + blocks(position(rank)).offset(group(rank));
  }

  int P;
  int g;
  int C;
  patterns::Blocks regions;
};

}  // namespace dsop::sparse
