// Generalized Rabenseifner with its second step pipelined, after the DSOP paper (Enderlin et al. 2021), which pipelines
// the first (generalized-rabenseifner-pipelined) and leaves this one to future work.
//
//   The rows of G are cut into S segments, each shared out among all ranks.
//   1. Allgather of all factors.
//   2. For s = 1 .. S: the rank computes its rows of segment s, if it has not yet; allgather of the segment. Whenever a
//      rank would wait in it, it computes its rows of the next segment instead.
//
// An element is computed by one rank and sent to the others.
// Cost: that of S + 1 allgathers, (P-1) k (n+m) + (P-1)/P n m words; 2 k n m flops, hidden but for the first segment
// where sending rows takes longer than making them.
#include <algorithm>

#include "algorithms/outer_product/gather_factors.hpp"
#include "base/segments.hpp"
#include "kernels/outer_product.hpp"
#include "transport/working.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const auto S = static_cast<int>(call.plan.parameter);
  const Blocks segments(G.rows, S);
  const GatheredFactors<T> memory(call.memory, call.plan.problem);
  const Factors<T> all = gather_factors(call, memory);

  int made = 0;
  const auto make_rows = [&] {
    if (made == S) return false;
    const Blocks rows(segments.size(made), call.transport.size());
    const std::size_t first = segments.offset(made) + rows.offset(call.transport.rank());
    const std::size_t count = rows.size(call.transport.rank());
    kernels::product<T>(all.a.column_range(first, count), all.b, G.row_range(first, count), call.scale, 0);
    ++made;
    return true;
  };
  WorkingTransport never_idle(call.transport, make_rows);
  for (int s = 0; s < S; ++s) {
    if (made == s) make_rows();
    const MatrixView<T> segment = G.row_range(segments.offset(s), segments.size(s));
    allgather(never_idle, segment_exchange(call.plan, s), std::span(segment.data, segment.rows * segment.columns));
  }
}

Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double S) {
  const Blocks rows(problem.rows, static_cast<int>(S));
  Exchanges made;
  made.factors = exchange_of_factors(self, factor_blocks(problem), machine);
  made.segments = exchanges_of_segments(
      self, static_cast<int>(S), [&](int s) { return rows.size(s); },
      [&](std::size_t size) { return row_blocks(problem, size, problem.ranks()); }, machine);
  return made;
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double S,
          const Exchanges& exchanges) {
  const Blocks segments(problem.rows, static_cast<int>(S));
  const LocalProduct product(problem);
  const double packed_again =  // B, for each segment
      2 * (S - 1) * static_cast<double>(problem.total_pairs() * problem.columns * bytes_of(problem.type));

  Cost cost = exchange_cost(exchanges, problem.ranks(), machine);
  for (int s = 0; s < static_cast<int>(S); ++s) {
    const std::size_t rows = Blocks(segments.size(s), problem.ranks()).largest();
    cost.flops += product.flops(rows);
    cost.arithmetic_seconds += product.seconds(machine, rows);
  }
  cost.arithmetic_seconds += machine.memory_seconds(packed_again);
  const double hideable_seconds = std::min(cost.arithmetic_seconds, seconds(exchanges.segments, machine));
  cost.hide(1 - 1 / S, hideable_seconds, machine);  // all but the first segment
  cost.arithmetic_seconds += factor_conversion_seconds(problem, machine);
  return cost;
}

std::vector<double> values(const OuterProductAlgorithm&, const Problem& problem) {
  const std::size_t rows = Blocks(problem.rows, problem.ranks()).largest();
  return segment_counts(rows * problem.columns * bytes_of(problem.type));
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner_pipelined_rows() {
  return {.name = "generalized-rabenseifner-pipelined-rows",
          .summary = "the same, with the rows of G in segments: the next are made while finished ones travel",
          .source = "after Enderlin et al. 2021 (DSOP), which pipelines the first step",
          .parameter = {.name = "number of segments of the rows",
                        .values = values,
                        .expected = expected_segments<most_segments>},
          .exchanges = exchanges,
          .cost = cost,
          .workspace_bytes = counted<GatheredFactors>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
