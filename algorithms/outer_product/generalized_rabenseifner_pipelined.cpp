// Generalized Rabenseifner with its first step pipelined: the DSOP paper's variant (Enderlin et al. 2021, section
// "Further Approaches").
//
//   The columns of B are cut into S segments.
//   1. For s = 1 .. S: allgather of segment s of all B, of all A too where s = 1. Whenever a rank would wait in it, it
//      computes its rows of a segment of G that has been gathered.
//   2. The rank computes its rows of the segments that are left.
//   3. Allgather of the blocks of rows.
//
// The paper does not say what its segments are. Here all pairs' terms of an element are in one, so that they are added
// in the order of ranks, whenever they come. An element is computed by one rank and sent to the others.
// Cost: that of S + 1 allgathers, (P-1) k (n+m) + (P-1)/P n m words; 2 k n m flops, hidden but for the last segment
// where segments take longer than making rows.
#include <algorithm>

#include "algorithms/outer_product/factor_segments.hpp"
#include "base/segments.hpp"
#include "kernels/outer_product.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

constexpr int most_segments_of_b = 16;

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const int r = call.transport.rank();
  const auto S = static_cast<int>(call.plan.parameter);
  const Blocks rows(G.rows, call.transport.size());
  const FactorSegments<T> segments(call, 1, S);

  int made = 0;
  segments.gather_all([&](int gathered) {
    if (made == gathered) return false;
    kernels::product<T>(segments.a(0).column_range(rows.offset(r), rows.size(r)), segments.b(made),
                        segments.block_of_gradient(0, made).row_range(rows.offset(r), rows.size(r)), call.scale, 0);
    ++made;
    return true;
  });
  allgather(call.transport, call.plan.gradient, std::span(G.data, G.rows * G.columns));
}

Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double S) {
  Exchanges made;
  made.gradient = exchange_of_parts(self, row_blocks(problem, problem.rows, problem.ranks()), machine);
  made.segments = factor_segments(self, problem, machine, 1, static_cast<int>(S));
  return made;
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double S,
          const Exchanges& exchanges) {
  const std::size_t rows = Blocks(problem.rows, problem.ranks()).largest();
  const LocalProduct product(problem);
  const double packed_again =  // A, for each
      2 * (S - 1) * static_cast<double>(problem.total_pairs() * rows * bytes_of(problem.type));
  std::vector<Exchange> after_first = exchanges.segments;
  --after_first.front().count;
  const double after_first_seconds = seconds(after_first, machine);

  Cost cost = exchange_cost(exchanges, problem.ranks(), machine);
  cost.flops = product.flops(rows);
  cost.arithmetic_seconds = product.seconds(machine, rows) + machine.memory_seconds(packed_again);
  cost.hide(std::min((1 - 1 / S) * cost.arithmetic_seconds, after_first_seconds), machine);  // all but the last segment
  cost.arithmetic_seconds += factor_conversion_seconds(problem, machine);
  return cost;
}

std::vector<double> values(const OuterProductAlgorithm&, const Problem& problem) {
  constexpr std::size_t narrowest = 64;  // products of fewer columns are slow to make
  const std::size_t most = std::min(problem.columns, narrowest * most_segments_of_b) / narrowest;
  return segment_counts(problem.largest_pairs() * problem.columns * bytes_on_wire(problem.factor_wire, problem.type),
                        static_cast<int>(most));
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner_pipelined() {
  return {.name = "generalized-rabenseifner-pipelined",
          .summary = "the same, with factors gathered in segments: rows of G are made while later segments travel",
          .source = "Enderlin et al. 2021 (DSOP), section \"Further Approaches\"",
          .parameter = {.name = "number of segments of b",
                        .values = values,
                        .expected = expected_segments<most_segments_of_b>},
          .exchanges = exchanges,
          .cost = cost,
          .workspace_bytes = counted<GatheredFactors>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
