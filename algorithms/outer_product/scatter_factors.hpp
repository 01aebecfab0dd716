// The step with which algorithms begin whose ranks own blocks of G: everybody gets those parts of the factors that its
// own block needs. The DSOP paper's "all-scatter", which it names as future work.
#pragma once

#include <algorithm>

#include "algorithms/outer_product/travel.hpp"
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
  return {static_cast<std::size_t>(problem.ranks() - 1), problem.pairs[static_cast<std::size_t>(r)] * elements_a_pair *
                                                             bytes_on_wire(problem.factor_wire, problem.type)};
}

/// All messages are independent: one step.
inline double scatter_seconds(const Problem& problem, const Grid& grid, const Machine& machine) {
  const patterns::Network network(machine, problem.group.nodes, problem.ranks());
  std::vector<std::size_t> bytes_a_pair;
  for (int r = 0; r < problem.ranks(); ++r)
    bytes_a_pair.push_back((grid.rows(r) + grid.columns(r)) * bytes_on_wire(problem.factor_wire, problem.type));
  patterns::Step step(network, patterns::Partners::same);
  step.send_to_all(problem.pairs, bytes_a_pair);
  return step.seconds();
}

/// For rounding what a rank sends, and its own part, and widening what it gathers.
inline double scatter_conversion_seconds(const Problem& problem, const Grid& grid, const Machine& machine) {
  return conversion_seconds(problem.factor_wire, machine,
                            problem.largest_pairs() * scattered_elements_a_pair(problem, grid),
                            problem.total_pairs() * (grid.most_rows() + grid.most_columns()));
}

/// Memory for what is received, which must stay while the result is used, and for what is sent.
template <class T>
struct ScatteredFactors {
  ScatteredFactors(Arena& arena, const Problem& problem, const Grid& grid) {
    const std::size_t sent_elements = problem.largest_pairs() * scattered_elements_a_pair(problem, grid);
    gathered = arena.take<T>(problem.total_pairs() * (grid.most_rows() + grid.most_columns()));
    wire = wire_memory(arena, problem.factor_wire, gathered.size());
    sent = arena.take<std::byte>(sent_elements * bytes_on_wire(problem.factor_wire, problem.type));
  }
  std::span<T> gathered;
  std::span<kernels::Bf16> wire;  ///< for `gathered`, as it travels
  std::span<std::byte> sent;
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

  const auto scatter = [&]<class Element>(std::span<Element> travelling) {
    Element* outgoing = reinterpret_cast<Element*>(memory.sent.data());
    const auto pack_for = [&](int q, Element* packed) {
      for (std::size_t p = 0; p < own_pairs; ++p) {
        packed = pack(call.own.a.row(p) + grid.first_row(q), grid.rows(q), packed);
        packed = pack(call.own.b.row(p) + grid.first_column(q), grid.columns(q), packed);
      }
      return packed;
    };
    const auto received = [&](int q) {
      const std::size_t first = bounds[static_cast<std::size_t>(q)];
      return travelling.subspan(first * width, (bounds[static_cast<std::size_t>(q) + 1] - first) * width);
    };
    const auto sent = [&](int q) {
      Element* const first = outgoing;
      outgoing = pack_for(q, first);
      return std::span<const Element>(first, outgoing);
    };
    pack_for(r, received(r).data());
    patterns::staggered_all_to_all(call.transport, sent, received);
  };
  as_they_travel(memory.gathered.first(bounds.back() * width), memory.wire, scatter);
  return {gathered.column_range(0, grid.rows(r)), gathered.column_range(grid.rows(r), grid.columns(r))};
}

}  // namespace dsop::outer_product
