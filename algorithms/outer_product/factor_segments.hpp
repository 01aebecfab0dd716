// All ranks' factors in segments of their columns, each gathered by itself.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/outer_product/gather_factors.hpp"
#include "patterns/blocks.hpp"

namespace dsop::outer_product {

/// The columns of A in S segments, and those of B: A_0 .. A_(S-1), B_0 .. B_(S-1); G has S x S blocks A_i^T B_j.
/// Segment s of all K pairs lies together, one pair a row: [part of a | part of b]. Takes GatheredFactors.
template <class T>
class FactorSegments {
 public:
  FactorSegments(const OuterProductCall<T>& call, int S)
      : call_(call),
        gathered_(call.memory, call.plan.problem),
        rows_(call.gradient.rows, S),
        columns_(call.gradient.columns, S) {}

  MatrixView<T> a(int s) const { return segment(s).column_range(0, rows_.size(s)); }
  MatrixView<T> b(int s) const { return segment(s).column_range(rows_.size(s), columns_.size(s)); }
  MatrixView<T> block_of_gradient(int i, int j) const {
    return call_.gradient.row_range(rows_.offset(i), rows_.size(i)).column_range(columns_.offset(j), columns_.size(j));
  }

  /// Everybody gets everybody's part of segment s.
  void gather(int s, Transport& transport) const {
    const Factors<T> part{call_.own.a.column_range(rows_.offset(s), rows_.size(s)),
                          call_.own.b.column_range(columns_.offset(s), columns_.size(s))};
    gather_segment(call_.plan, transport, call_.plan.segments[static_cast<std::size_t>(s)], part, segment(s),
                   gathered_);
  }

 private:
  MatrixView<T> segment(int s) const {
    const std::size_t K = call_.plan.pair_bounds.back();
    return {gathered_.elements.data() + K * (rows_.offset(s) + columns_.offset(s)), K,
            rows_.size(s) + columns_.size(s)};
  }

  const OuterProductCall<T>& call_;
  GatheredFactors<T> gathered_;
  patterns::Blocks rows_;
  patterns::Blocks columns_;
};

/// Their allgathers.
inline std::vector<EqualAllgathers> factor_segments(const Problem& problem, double count) {
  const auto S = static_cast<int>(count);
  const patterns::Blocks rows(problem.rows, S);
  const patterns::Blocks columns(problem.columns, S);
  return segment_allgathers(
      S, [&](int s) { return rows.size(s) + columns.size(s); },
      [&](std::size_t elements) { return parts_of_pairs(problem, elements); });
}

}  // namespace dsop::outer_product
