// All ranks' factors in segments of their columns, each gathered by itself.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/outer_product/gather_factors.hpp"
#include "patterns/blocks.hpp"
#include "transport/working.hpp"

namespace dsop::outer_product {

/// The columns of A in as many segments as there are of factors or, where it is whole, in the first alone; those of B
/// in S: G has blocks A_i^T B_j.
class Cut {
 public:
  Cut(const Problem& problem, int segments_of_a, int S)
      : most_(segments_of_a), rows_(problem.rows, segments_of_a), columns_(problem.columns, S) {}

  std::size_t row(int s) const { return rows_.offset(std::min(s, most_)); }
  std::size_t rows(int s) const { return row(s + 1) - row(s); }
  std::size_t column(int s) const { return columns_.offset(s); }
  std::size_t columns(int s) const { return columns_.size(s); }

 private:
  int most_;
  patterns::Blocks rows_;
  patterns::Blocks columns_;
};

/// Segment s of all K pairs lies together, one pair a row: [part of a | part of b]. Takes GatheredFactors.
template <class T>
class FactorSegments {
 public:
  FactorSegments(const OuterProductCall<T>& call, int segments_of_a, int S)
      : call_(call), S_(S), gathered_(call.memory, call.plan.problem), cut_(call.plan.problem, segments_of_a, S) {}

  MatrixView<T> a(int s) const { return segment(s).column_range(0, cut_.rows(s)); }
  MatrixView<T> b(int s) const { return segment(s).column_range(cut_.rows(s), cut_.columns(s)); }
  MatrixView<T> block_of_gradient(int i, int j) const {
    return call_.gradient.row_range(cut_.row(i), cut_.rows(i)).column_range(cut_.column(j), cut_.columns(j));
  }

  /// Everybody gets everybody's part of each segment. Whenever this rank would wait, and in the end, make(segments that
  /// have been gathered) makes a part of G, until it returns false: nothing is left.
  template <class Make>
  void gather_all(const Make& make) const {
    int gathered = 0;
    const auto make_part = [&] { return make(gathered); };
    WorkingTransport never_idle(call_.transport, make_part);
    for (; gathered < S_; ++gathered) gather(gathered, never_idle);
    while (make_part()) {
    }
  }

 private:
  void gather(int s, Transport& transport) const {
    const Factors<T> part{call_.own.a.column_range(cut_.row(s), cut_.rows(s)),
                          call_.own.b.column_range(cut_.column(s), cut_.columns(s))};
    gather_segment(call_.plan, transport, segment_exchange(call_.plan, s), part, segment(s), gathered_);
  }
  MatrixView<T> segment(int s) const {
    const std::size_t K = call_.plan.pair_bounds.back();
    return {gathered_.elements.data() + K * (cut_.row(s) + cut_.column(s)), K, cut_.rows(s) + cut_.columns(s)};
  }

  const OuterProductCall<T>& call_;
  int S_;
  GatheredFactors<T> gathered_;
  Cut cut_;
};

/// Their allgathers.
inline std::vector<Exchange> factor_segments(const OuterProductAlgorithm& self, const Problem& problem,
                                             const Machine& machine, int segments_of_a, int S) {
  const Cut cut(problem, segments_of_a, S);
  return exchanges_of_segments(
      self, S, [&](int s) { return cut.rows(s) + cut.columns(s); },
      [&](std::size_t elements) { return parts_of_pairs(problem, elements); }, machine);
}

}  // namespace dsop::outer_product
