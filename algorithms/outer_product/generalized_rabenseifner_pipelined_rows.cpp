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
#include "algorithms/outer_product/row_blocks.hpp"
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
    allgather(never_idle, call.plan.segments[static_cast<std::size_t>(s)],
              std::span(segment.data, segment.rows * segment.columns));
  }
}

std::vector<EqualAllgathers> segments(const Problem& problem, double count) {
  const auto S = static_cast<int>(count);
  const Blocks rows(problem.rows, S);
  return segment_allgathers(
      S, [&](int s) { return rows.size(s); },
      [&](std::size_t size) { return row_blocks(problem, size, problem.ranks()); });
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double S) {
  const auto m = static_cast<double>(problem.columns);
  const auto K = static_cast<double>(problem.total_pairs());
  const AllgatherProblem factors = factor_blocks(problem);
  const std::vector<EqualAllgathers> exchanges = segments(problem, S);
  const AllgatherAlgorithm& gather_factors = exchange_of(self, factors, machine);
  const AllgatherAlgorithm& gather_rows = segment_exchange_of(self, exchanges.front().one, machine);

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r)
    cost.raise_to(gather_factors.sent(factors, r) + sent_in_all(gather_rows, exchanges, r));
  const double rows_seconds = seconds_of_all(gather_rows, exchanges, machine);
  for (int s = 0; s < static_cast<int>(S); ++s) {
    const auto rows =
        static_cast<double>(Blocks(Blocks(problem.rows, static_cast<int>(S)).size(s), problem.ranks()).largest());
    cost.flops += 2 * K * rows * m;
    cost.arithmetic_seconds += machine.product_seconds(rows, m, K, problem.type);
  }
  const double packed_again = 2 * (S - 1) * K * m * static_cast<double>(bytes_of(problem.type));  // B, for each segment
  cost.arithmetic_seconds += machine.memory_seconds(packed_again);
  cost.communication_seconds = gather_factors.seconds(factors, machine) + rows_seconds;
  cost.hide(1 - 1 / S, std::min(cost.arithmetic_seconds, rows_seconds), machine);  // all but the first segment
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
          .cost = cost,
          .segments = segments,
          .workspace_bytes = counted<GatheredFactors>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
