// Which exchanges factors and parts of G travel in, and what that costs.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/dense/exchange.hpp"
#include "algorithms/outer_product/algorithm.hpp"
#include "kernels/bf16.hpp"
#include "patterns/blocks.hpp"

namespace dsop::outer_product {

/// Memory for so many elements as they travel; none where they travel as they are.
inline std::span<kernels::Bf16> wire_memory(Arena& arena, Wire wire, std::size_t elements) {
  return arena.take<kernels::Bf16>(wire == Wire::bf16 ? elements : 0);
}

/// Seconds for rounding the elements of the own part and widening all: six bytes an element, read and written.
inline double conversion_seconds(Wire wire, const Machine& machine, std::size_t own, std::size_t all) {
  return wire == Wire::bf16 ? machine.memory_seconds(6 * static_cast<double>(own + all)) : 0;
}

/// Of all parts of G.
inline double parts_conversion_seconds(const Problem& problem, const Exchanges& exchanges, const Machine& machine) {
  const AllgatherProblem& parts = exchanges.gradient.problem;
  if (exchanges.gradient.algorithm == nullptr) return 0;
  return conversion_seconds(problem.wire, machine, parts.largest_bytes() / bytes_on_wire(problem),
                            parts.total_bytes() / bytes_on_wire(problem));
}

/// The first `rows` rows of G as consecutive blocks, one a rank of each group of `owners` ranks, sizes differing by at
/// most one row: what owners gather when all have made theirs.
inline AllgatherProblem row_blocks(const Problem& problem, std::size_t rows, int owners) {
  const patterns::Blocks blocks(rows, owners);
  return blocks_of(problem.group, owners,
                   [&](int owner) { return blocks.size(owner) * problem.columns * bytes_on_wire(problem); });
}

/// What the number of rows or groups may be into which an algorithm divides the ranks.
inline std::vector<double> divisors_of(int ranks) {
  std::vector<double> divisors;
  for (int divisor = 1; divisor <= ranks; ++divisor)
    if (ranks % divisor == 0) divisors.push_back(divisor);
  return divisors;
}
inline std::string expected_divisor(double divisor, const OuterProductAlgorithm&, const Problem& problem) {
  const std::vector<double> divisors = divisors_of(problem.ranks());
  if (std::find(divisors.begin(), divisors.end(), divisor) != divisors.end()) return "";
  return "a divisor of the number of ranks, " + std::to_string(problem.ranks());
}

/// An allgather of factors, which all ranks begin to send at once: in the algorithm's own way or the cheapest.
inline Exchange exchange_of_factors(const OuterProductAlgorithm& algorithm, AllgatherProblem blocks,
                                    const Machine& machine) {
  const AllgatherAlgorithm* const own = algorithm.exchange;
  return {own != nullptr ? own : &cheapest_allgather(blocks, machine), std::move(blocks)};
}

/// One of parts of G, to which ranks come from their products.
inline Exchange exchange_of_parts(const OuterProductAlgorithm& algorithm, AllgatherProblem parts,
                                  const Machine& machine) {
  const AllgatherAlgorithm* const own = algorithm.gradient_exchange;
  return {own != nullptr ? own : &cheapest_allgather_out_of_step(parts, machine), std::move(parts)};
}

/// Those of S segments, of either, with products in between: segment s gathers blocks_of(size_of(s)), all in the way
/// that is best for the first.
template <class SizeOf, class BlocksOf>
std::vector<Exchange> exchanges_of_segments(const OuterProductAlgorithm& algorithm, int S, const SizeOf& size_of,
                                            const BlocksOf& blocks_of, const Machine& machine) {
  const AllgatherAlgorithm* by = algorithm.exchange;
  std::vector<Exchange> exchanges;
  for (int s = 0; s < S; ++s) {
    if (s > 0 && size_of(s) == size_of(s - 1)) {
      ++exchanges.back().count;
      continue;
    }
    AllgatherProblem blocks = blocks_of(size_of(s));
    if (by == nullptr) by = &cheapest_allgather_out_of_step(blocks, machine);
    exchanges.push_back({by, std::move(blocks)});
  }
  return exchanges;
}

/// That of segment s.
inline const Exchange& segment_exchange(const Exchanges& exchanges, int s) {
  auto equal = exchanges.segments.begin();
  for (auto left = static_cast<std::size_t>(s); left >= equal->count; ++equal) left -= equal->count;
  return *equal;
}

/// What rank r sends.
inline Traffic sent_by(int r, const Exchange& exchange) {
  if (exchange.algorithm == nullptr) return {};
  const Traffic one = exchange.algorithm->sent(exchange.problem, r);
  return {exchange.count * one.messages, exchange.count * one.bytes};
}

inline double seconds(const Exchange& exchange, const Machine& machine) {
  if (exchange.algorithm == nullptr) return 0;
  return static_cast<double>(exchange.count) * exchange.algorithm->seconds(exchange.problem, machine);
}
inline double seconds(const std::vector<Exchange>& exchanges, const Machine& machine) {
  double sum = 0;
  for (const Exchange& exchange : exchanges) sum += seconds(exchange, machine);
  return sum;
}

/// What they cost, without arithmetic. In that of parts of G, which may be one of several groups', rank r is number
/// place_of(r).
template <class PlaceOf = std::identity>
Cost exchange_cost(const Exchanges& exchanges, int ranks, const Machine& machine, const PlaceOf& place_of = {}) {
  Cost cost;
  for (int r = 0; r < ranks; ++r) {
    Traffic sent = sent_by(r, exchanges.factors) + sent_by(place_of(r), exchanges.gradient);
    for (const Exchange& segments : exchanges.segments) sent = sent + sent_by(r, segments);
    cost.raise_to(sent);
  }
  cost.communication_seconds =
      seconds(exchanges.factors, machine) + seconds(exchanges.gradient, machine) + seconds(exchanges.segments, machine);
  return cost;
}

}  // namespace dsop::outer_product
