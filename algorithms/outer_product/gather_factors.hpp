// The step with which several algorithms begin: everybody gets everybody's factors.
#pragma once

#include <algorithm>

#include "algorithms/outer_product/local_product.hpp"
#include "algorithms/outer_product/travel.hpp"
#include "sparse/factor.hpp"

namespace dsop::outer_product {

/// Bytes of a dense pair on its way.
inline std::size_t pair_bytes(const Problem& problem) {
  return (problem.rows + problem.columns) * bytes_on_wire(problem.factor_wire, problem.type);
}

/// Bytes of rank r's pairs on their way.
inline std::size_t factor_bytes(const Problem& problem, std::size_t r) {
  const std::size_t k = problem.pairs[r];
  if (problem.sparsity.empty()) return k * pair_bytes(problem);
  return sparse::encoded_bytes(k, problem.rows, problem.sparsity[r].a, problem.type, problem.factor_wire) +
         sparse::encoded_bytes(k, problem.columns, problem.sparsity[r].b, problem.type, problem.factor_wire);
}

inline std::size_t total_factor_bytes(const Problem& problem) {
  std::size_t total = 0;
  for (std::size_t r = 0; r < problem.pairs.size(); ++r) total += factor_bytes(problem, r);
  return total;
}

/// Seconds for rounding the largest rank's pairs and widening all.
inline double factor_conversion_seconds(const Problem& problem, const Machine& machine) {
  const Nonzeros nonzeros(problem);
  return conversion_seconds(problem.factor_wire, machine, nonzeros.largest, nonzeros.total);
}

/// Rank r's block are its pairs: a and b of each or, in a problem with sparse factors, all its a, then all its b.
inline AllgatherProblem factor_blocks(const Problem& problem) {
  return blocks_of(problem.group, problem.ranks(),
                   [&](int r) { return factor_bytes(problem, static_cast<std::size_t>(r)); });
}

/// The exchanges of an algorithm that gathers all factors at once, and nothing else.
inline Exchanges all_factors(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine,
                             double) {
  return {.factors = exchange_of_factors(self, factor_blocks(problem), machine)};
}

/// What the exchanges cost, and `rows` rows of the product of all pairs, where nothing is hidden.
template <class PlaceOf = std::identity>
Cost cost_of_rows(const Problem& problem, const Machine& machine, const Exchanges& exchanges, std::size_t rows,
                  const PlaceOf& place_of = {}) {
  const LocalProduct product(problem);
  Cost cost = exchange_cost(exchanges, problem.ranks(), machine, place_of);
  cost.flops = product.flops(rows);
  cost.arithmetic_seconds = product.seconds(machine, rows) + factor_conversion_seconds(problem, machine) +
                            parts_conversion_seconds(problem, exchanges, machine);
  return cost;
}

/// The blocks of so many elements of each pair, in a problem without sparse factors.
inline AllgatherProblem parts_of_pairs(const Problem& problem, std::size_t elements) {
  const std::size_t bytes = elements * bytes_on_wire(problem.factor_wire, problem.type);
  return blocks_of(problem.group, problem.ranks(),
                   [&](int r) { return problem.pairs[static_cast<std::size_t>(r)] * bytes; });
}

/// Memory for all K pairs, one a row: [a_p | b_p]. None in a problem with sparse factors.
template <class T>
struct GatheredFactors {
  GatheredFactors(Arena& arena, const Problem& problem, double = 0)
      : elements(
            arena.take<T>(problem.sparsity.empty() ? problem.total_pairs() * (problem.rows + problem.columns) : 0)),
        wire(wire_memory(arena, problem.factor_wire, elements.size())),
        pairs(elements.data(), problem.total_pairs(), problem.rows + problem.columns) {}

  /// Where `part` of the elements travels.
  std::span<kernels::Bf16> wire_of(std::span<T> part) const {
    return wire.empty() ? wire : wire.subspan(static_cast<std::size_t>(part.data() - elements.data()), part.size());
  }

  std::span<T> elements;
  std::span<kernels::Bf16> wire;
  MatrixView<T> pairs;
};

/// Copies own pairs as they travel to the rows of `gathered` from row `first` on: [a_p | b_p].
template <class T, class Element>
void pack_pairs(const Factors<T>& own, MatrixView<Element> gathered, std::size_t first) {
  for (std::size_t p = 0; p < own.a.rows; ++p)
    pack(own.b.row(p), own.b.columns, pack(own.a.row(p), own.a.columns, gathered.row(first + p)));
}

/// Gathers in one of the plan's exchanges all K pairs, or the same columns of each, of which `own` are this rank's: one
/// a row of `all`, a part of the memory.
template <class T>
void gather_segment(const Plan& plan, Transport& transport, const Exchange& exchange, const Factors<T>& own,
                    MatrixView<T> all, const GatheredFactors<T>& memory) {
  const std::span<T> elements(all.data, all.rows * all.columns);
  as_they_travel(elements, memory.wire_of(elements), [&]<class Element>(std::span<Element> travelling) {
    pack_pairs(own, MatrixView<Element>(travelling.data(), all.rows, all.columns),
               plan.pair_bounds[static_cast<std::size_t>(transport.rank())]);
    allgather(transport, exchange, travelling);
  });
}

/// Gathers all K pairs, so that a rank's factors are one message and all A and all B are matrices with K rows. Returns
/// views of them.
template <class T>
Factors<T> gather_factors(OuterProductCall<T>& call, const GatheredFactors<T>& gathered) {
  const std::size_t n = call.plan.problem.rows;
  const std::size_t m = call.plan.problem.columns;
  if (call.unpack)
    call.unpack(gathered.elements);
  else
    gather_segment(call.plan, call.transport, call.plan.factors, call.own, gathered.pairs, gathered);
  return {gathered.pairs.column_range(0, n), gathered.pairs.column_range(n, m)};
}

}  // namespace dsop::outer_product
