// Rows of G, shared out among their owners.
#pragma once

#include <cstddef>

#include <dsop/problem.hpp>

#include "algorithms/dense/allgather.hpp"
#include "patterns/blocks.hpp"

namespace dsop::outer_product {

/// The first `rows` rows of G as consecutive blocks, one a rank of each group of `owners` ranks, sizes differing by at
/// most one row: what owners gather when all have made theirs. Consecutive ranks are a group.
inline AllgatherProblem row_blocks(const Problem& problem, std::size_t rows, int owners) {
  const patterns::Blocks blocks(rows, owners);
  return blocks_of(problem.group, owners,
                   [&](int owner) { return blocks.size(owner) * problem.columns * bytes_on_wire(problem); });
}

/// All rows, of which each rank owns a block, whatever the algorithm's parameter is.
inline AllgatherProblem all_row_blocks(const Problem& problem, double) {
  return row_blocks(problem, problem.rows, problem.ranks());
}

}  // namespace dsop::outer_product
