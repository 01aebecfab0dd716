// The step with which several algorithms begin: everybody gets everybody's factors.
#pragma once

#include <algorithm>

#include "algorithms/outer_product/algorithm.hpp"
#include "sparse/factor.hpp"

namespace dsop::outer_product {

/// Bytes of rank r's pairs on their way.
inline std::size_t factor_bytes(const Problem& problem, std::size_t r) {
  const std::size_t k = problem.pairs[r];
  if (problem.sparsity.empty()) return k * (problem.rows + problem.columns) * bytes_of(problem.type);
  return sparse::encoded_bytes(k, problem.rows, problem.sparsity[r].a, problem.type) +
         sparse::encoded_bytes(k, problem.columns, problem.sparsity[r].b, problem.type);
}

inline std::size_t total_factor_bytes(const Problem& problem) {
  std::size_t total = 0;
  for (std::size_t r = 0; r < problem.pairs.size(); ++r) total += factor_bytes(problem, r);
  return total;
}

/// Rank r's block are its pairs: a and b of each or, in a problem with sparse factors, all its a, then all its b.
inline AllgatherProblem factor_blocks(const Problem& problem) {
  AllgatherProblem blocks{{0}, problem.native_collectives, problem.nodes};
  for (std::size_t r = 0; r < problem.pairs.size(); ++r)
    blocks.bounds_bytes.push_back(blocks.bounds_bytes.back() + factor_bytes(problem, r));
  return blocks;
}

/// Makes one of the plan's exchanges: every rank's block of `data` is on all ranks afterwards.
template <class T>
void allgather(Transport& transport, const Exchange& exchange, std::span<T> data) {
  AllgatherCall call{transport, std::as_writable_bytes(data), exchange.problem};
  exchange.algorithm->run(call);
}

/// How `algorithm` gathers factors: in its own way or the cheapest.
inline const AllgatherAlgorithm& exchange_of(const OuterProductAlgorithm& algorithm, const AllgatherProblem& blocks,
                                             const Machine& machine) {
  return algorithm.exchange != nullptr ? *algorithm.exchange : cheapest_allgather(blocks, machine);
}

/// How it gathers parts of G.
inline const AllgatherAlgorithm& gradient_exchange_of(const OuterProductAlgorithm& algorithm,
                                                      const AllgatherProblem& parts, const Machine& machine) {
  return algorithm.gradient_exchange != nullptr ? *algorithm.gradient_exchange : cheapest_allgather(parts, machine);
}

/// What a rank sends in several allgathers.
inline Traffic sent_in_all(const AllgatherAlgorithm& exchange, const std::vector<AllgatherProblem>& problems,
                           int rank) {
  Traffic sent;
  for (const AllgatherProblem& problem : problems) sent = sent + exchange.sent(problem, rank);
  return sent;
}

/// Memory for all K pairs, one a row: [a_p | b_p]. None in a problem with sparse factors.
template <class T>
struct GatheredFactors {
  GatheredFactors(Arena& arena, const Problem& problem, double = 0)
      : elements(
            arena.take<T>(problem.sparsity.empty() ? problem.total_pairs() * (problem.rows + problem.columns) : 0)),
        pairs(elements.data(), problem.total_pairs(), problem.rows + problem.columns) {}

  std::span<T> elements;
  MatrixView<T> pairs;
};

/// Copies own pairs to the rows of `gathered` from row `first` on: [a_p | b_p].
template <class T>
void pack_pairs(const Factors<T>& own, MatrixView<T> gathered, std::size_t first) {
  for (std::size_t p = 0; p < own.a.rows; ++p)
    std::copy_n(own.b.row(p), own.b.columns, std::copy_n(own.a.row(p), own.a.columns, gathered.row(first + p)));
}

/// Gathers all K pairs, so that a rank's factors are one message and all A and all B are matrices with K rows. Returns
/// views of them.
template <class T>
Factors<T> gather_factors(OuterProductCall<T>& call, const GatheredFactors<T>& gathered) {
  const std::size_t n = call.plan.problem.rows;
  const std::size_t m = call.plan.problem.columns;
  if (call.unpack) {
    call.unpack(gathered.elements);
  } else {
    pack_pairs(call.own, gathered.pairs, call.plan.pair_bounds[static_cast<std::size_t>(call.transport.rank())]);
    allgather(call.transport, call.plan.factors, gathered.elements);
  }
  return {gathered.pairs.column_range(0, n), gathered.pairs.column_range(n, m)};
}

}  // namespace dsop::outer_product
