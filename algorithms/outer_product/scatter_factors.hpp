// The step with which algorithms begin whose ranks own blocks of G: everybody gets those parts of the factors that its
// own block needs. The DSOP paper's "all-scatter", which it names as future work.
#pragma once

#include <algorithm>

#include "algorithms/outer_product/algorithm.hpp"
#include "patterns/all_to_all.hpp"
#include "patterns/grid.hpp"
#include "patterns/network.hpp"

namespace dsop::outer_product {

using patterns::Grid;

/// What a pair's parts of all blocks take: width() blocks of G share their rows, height() their columns.
inline std::size_t scattered_elements_a_pair(const Problem& problem, const Grid& grid) {
  return static_cast<std::size_t>(grid.width()) * problem.rows +
         static_cast<std::size_t>(grid.height()) * problem.columns;
}

/// What rank r sends: P - 1 messages, and n/p_r + m/p_c elements a pair in each.
inline Traffic scattered_by(const Problem& problem, const Grid& grid, int r) {
  const std::size_t elements_a_pair = scattered_elements_a_pair(problem, grid) - grid.rows(r) - grid.columns(r);
  return {static_cast<std::size_t>(problem.ranks() - 1),
          problem.pairs[static_cast<std::size_t>(r)] * elements_a_pair * bytes_of(problem.type)};
}

/// All messages are independent: one step.
inline double scatter_seconds(const Problem& problem, const Grid& grid, const Machine& machine) {
  const patterns::Network network(machine, problem.nodes, problem.ranks());
  std::vector<std::size_t> bytes_a_pair;
  for (int r = 0; r < problem.ranks(); ++r)
    bytes_a_pair.push_back((grid.rows(r) + grid.columns(r)) * bytes_of(problem.type));
  patterns::Step step(network, patterns::Partners::same);
  step.send_to_all(problem.pairs, bytes_a_pair);
  return step.seconds();
}

/// Memory for what is received, which must stay while the result is used, and for what is sent.
template <class T>
struct ScatteredFactors {
  ScatteredFactors(Arena& arena, const Problem& problem, const Grid& grid)
      : gathered(arena.take<T>(problem.total_pairs() * (grid.most_rows() + grid.most_columns()))),
        sent(arena.take<T>(problem.largest_pairs() * scattered_elements_a_pair(problem, grid))) {}
  std::span<T> gathered;
  std::span<T> sent;
};

/// Gathers the parts of all K pairs that make this rank's block of G, one pair a row: [part of a_p | part of b_p].
/// Returns views of them.
template <class T>
Factors<T> scatter_factors(OuterProductCall<T>& call, const Grid& grid, const ScatteredFactors<T>& memory) {
  const std::vector<std::size_t>& bounds = call.plan.pair_bounds;
  const int r = call.transport.rank();
  const std::size_t own_pairs = call.own.a.rows;
  const std::size_t width = grid.rows(r) + grid.columns(r);
  const MatrixView<T> gathered(memory.gathered.data(), bounds.back(), width);
  T* outgoing = memory.sent.data();

  const auto pack = [&](int q, T* packed) {
    for (std::size_t p = 0; p < own_pairs; ++p) {
      packed = std::copy_n(call.own.a.row(p) + grid.first_row(q), grid.rows(q), packed);
      packed = std::copy_n(call.own.b.row(p) + grid.first_column(q), grid.columns(q), packed);
    }
    return packed;
  };
  const auto received = [&](int q) {
    const std::size_t first = bounds[static_cast<std::size_t>(q)];
    return std::span<T>(gathered.row(first), (bounds[static_cast<std::size_t>(q) + 1] - first) * width);
  };
  const auto sent = [&](int q) {
    T* const first = outgoing;
    outgoing = pack(q, first);
    return std::span<const T>(first, outgoing);
  };
  pack(r, received(r).data());
  patterns::staggered_all_to_all(call.transport, sent, received);
  return {gathered.column_range(0, grid.rows(r)), gathered.column_range(grid.rows(r), grid.columns(r))};
}

}  // namespace dsop::outer_product
