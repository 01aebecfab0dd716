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

#include "algorithms/outer_product/gather_factors.hpp"
#include "algorithms/outer_product/row_blocks.hpp"
#include "base/segments.hpp"
#include "kernels/outer_product.hpp"
#include "transport/working.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

constexpr int most_segments_of_b = 16;

/// All K pairs, segment by segment, in each one pair a row: [a | b_0], then [b_1], [b_2], ...
template <class T>
class SegmentsOfB {
 public:
  SegmentsOfB(const OuterProductCall<T>& call, int S)
      : call_(call), gathered_(call.memory, call.plan.problem), columns_(call.gradient.columns, S) {}

  MatrixView<T> a() const { return segment(0).column_range(0, call_.gradient.rows); }
  MatrixView<T> b(int s) const { return segment(s).column_range(s == 0 ? call_.gradient.rows : 0, columns_.size(s)); }
  MatrixView<T> part_of(MatrixView<T> rows, int s) const {
    return rows.column_range(columns_.offset(s), columns_.size(s));
  }

  /// Everybody gets everybody's part of segment s.
  void gather(int s, Transport& transport) const {
    const Factors<T> part{call_.own.a.column_range(0, s == 0 ? call_.gradient.rows : 0),
                          call_.own.b.column_range(columns_.offset(s), columns_.size(s))};
    gather_segment(call_.plan, transport, call_.plan.segments[static_cast<std::size_t>(s)], part, segment(s),
                   gathered_);
  }

 private:
  MatrixView<T> segment(int s) const {
    const std::size_t K = call_.plan.pair_bounds.back();
    const std::size_t n = call_.gradient.rows;
    return {gathered_.elements.data() + (s == 0 ? 0 : K * (n + columns_.offset(s))), K,
            (s == 0 ? n : 0) + columns_.size(s)};
  }

  const OuterProductCall<T>& call_;
  GatheredFactors<T> gathered_;
  Blocks columns_;
};

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const int r = call.transport.rank();
  const auto S = static_cast<int>(call.plan.parameter);
  const Blocks rows(G.rows, call.transport.size());
  const MatrixView<T> own_rows = G.row_range(rows.offset(r), rows.size(r));
  const SegmentsOfB<T> segments(call, S);

  int gathered = 0;
  int made = 0;
  const auto make_segment = [&] {
    if (made == gathered) return false;
    kernels::product<T>(segments.a().column_range(rows.offset(r), rows.size(r)), segments.b(made),
                        segments.part_of(own_rows, made), call.scale, 0);
    ++made;
    return true;
  };
  WorkingTransport never_idle(call.transport, make_segment);
  while (gathered < S) {
    segments.gather(gathered, never_idle);
    ++gathered;
  }
  while (make_segment()) {
  }
  allgather(call.transport, call.plan.gradient, std::span(G.data, G.rows * G.columns));
}

std::vector<EqualAllgathers> segments(const Problem& problem, double count) {
  const auto S = static_cast<int>(count);
  const Blocks columns(problem.columns, S);
  return segment_allgathers(
      S, [&](int s) { return (s == 0 ? problem.rows : 0) + columns.size(s); },
      [&](std::size_t elements) { return parts_of_pairs(problem, elements); });
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double S) {
  const auto rows = static_cast<double>(Blocks(problem.rows, problem.ranks()).largest());
  const auto m = static_cast<double>(problem.columns);
  const auto K = static_cast<double>(problem.total_pairs());
  const std::vector<EqualAllgathers> exchanges = segments(problem, S);
  const AllgatherProblem parts = all_row_blocks(problem, S);
  const AllgatherAlgorithm& gather_factors = segment_exchange_of(self, exchanges.front().one, machine);
  const AllgatherAlgorithm& gather_parts = gradient_exchange_of(self, parts, machine);

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r)
    cost.raise_to(sent_in_all(gather_factors, exchanges, r) + gather_parts.sent(parts, r));
  const double first_seconds = gather_factors.seconds(exchanges.front().one, machine);
  const double after_first_seconds = static_cast<double>(exchanges.front().count - 1) * first_seconds +
                                     seconds_of_all(gather_factors, std::span(exchanges).subspan(1), machine);
  const double packed_again = 2 * (S - 1) * K * rows * static_cast<double>(bytes_of(problem.type));  // A, for each
  cost.flops = 2 * K * rows * m;
  cost.arithmetic_seconds = machine.product_seconds(rows, m, K, problem.type) + machine.memory_seconds(packed_again);
  cost.communication_seconds = first_seconds + after_first_seconds + gather_parts.seconds(parts, machine);
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
          .cost = cost,
          .gradient_blocks = all_row_blocks,
          .segments = segments,
          .workspace_bytes = counted<GatheredFactors>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
