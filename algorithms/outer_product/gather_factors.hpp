// The step with which several algorithms begin: everybody gets everybody's factors.
#pragma once

#include <algorithm>

#include "outer_product/algorithm.hpp"
#include "patterns/ring.hpp"

namespace dsop::outer_product {

inline std::size_t gathered_elements(const Problem& problem) {
  return problem.total_pairs() * (problem.rows + problem.columns);
}

/// Gathers all K pairs at the start of the workspace, one pair a row: [a_p | b_p], so that a rank's factors are one
/// message and all A and all B are matrices with K rows. Returns views of them. Takes gathered_elements().
template <class T>
Factors<T> gather_factors(OuterProductCall<T>& call) {
  const std::size_t n = call.plan.problem.rows;
  const std::size_t m = call.plan.problem.columns;
  const std::vector<std::size_t>& bounds = call.plan.pair_bounds;
  const int r = call.transport.rank();
  const MatrixView<T> gathered(call.workspace.data(), bounds.back(), n + m);

  for (std::size_t p = 0; p < call.own.a.rows; ++p) {
    T* const pair = gathered.row(bounds[static_cast<std::size_t>(r)] + p);
    std::copy_n(call.own.a.row(p), n, pair);
    std::copy_n(call.own.b.row(p), m, pair + n);
  }
  patterns::ring_allgather(call.transport, r, [&](int rank) {
    const std::size_t first = bounds[static_cast<std::size_t>(rank)];
    const std::size_t count = bounds[static_cast<std::size_t>(rank) + 1] - first;
    return call.workspace.subspan(first * (n + m), count * (n + m));
  });
  return {gathered.column_range(0, n), gathered.column_range(n, m)};
}

}  // namespace dsop::outer_product
