// dsop-bench outer-product: every algorithm on the same factors, in one run; with --overlap the share of a call that is
// hidden behind a program's own arithmetic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dsop/plan.hpp>

#include "benchmark.hpp"
#include "contenders.hpp"
#include "inputs.hpp"

namespace dsop::bench {

struct OuterProductOptions : BenchmarkOptions {
  std::vector<Point> points = {};
  bool is_a_model = false;  ///< whose layers the points are: they are measured in one step, too
  Densities densities = {};
  std::vector<Encoding> encodings = {Encoding::dense};
};

/// rows, cols, pairs
Columns shape_columns(const Problem& problem);

struct OuterProductRow : CallRow {
  using CallRow::CallRow;
  Columns input() const override { return shape_columns(problem); }

  Problem problem = {};
  std::optional<Plan> plan = {};  ///< none for a rival
};

/// What that rank is given on the point: whole numbers, so that a plain sum over all ranks' factors is the same.
template <class T>
InputFactors<T> factors_of(const Point& point, int rank) {
  constexpr std::uint64_t seed = 1;
  return {seed, rank, point.pairs, point.rows, point.columns, Values::whole, 0, point.densities};
}

/// Elements that differ from that plain sum, in the rows of G from `first_row` on.
template <class T>
std::size_t count_wrong_rows(const Point& point, int ranks, const MatrixView<T>& made, std::size_t first_row = 0) {
  std::vector<InputFactors<T>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(factors_of<T>(point, rank));
  std::size_t different = 0;
  for (std::size_t i = 0; i < made.rows; ++i) {
    std::vector<T> expected(made.columns);
    for (const InputFactors<T>& factors : all) add_reference_row<T>(factors.view(), first_row + i, T{1}, expected);
    different += count_different<T>({made.row(i), made.columns}, expected);
  }
  return different;
}

/// Contenders on one point. Watch and options must outlive them. All ranks must call it.
Rows outer_product_rows(Watch& watch, const Point& point, const std::vector<EncodedAlgorithm>& asked,
                        const BenchmarkOptions& options);

/// "1000 x 1000, 32 pairs"
std::string text_of(const Point& point);

/// Measures every combination and prints a table on stdout, as rank 0. A row's time is the median over iterations of
/// the largest time over ranks; the algorithms of a shape take turns, iteration by iteration, so that a disturbance
/// hits all of them. With verify, factors are whole numbers and every element on every rank is compared with a plain
/// sum.
void benchmark_outer_product(Transport& transport, const OuterProductOptions& options);

/// The same layers, all in one step of a Synchronizer: its table, and what its describe() says of each bucket.
void benchmark_layers(Transport& transport, const OuterProductOptions& options);

/// For every combination, two shares of a started call's time t_pure (started and waited for at once):
///
/// - hidden, as in OSU's tests of non-blocking collectives (osu_iallreduce): every rank starts the call, computes until
///   about t_pure has passed on the clock, and waits. t_compute is the time of that arithmetic, t the time of all
///   three: 1 - max(0, t - t_compute) / t_pure. Each is the median over iterations of the ranks' mean.
///   What is not hidden is the time in start() and in the wait.
/// - saved: the same formula for a given amount of arithmetic, which takes t_compute, about t_pure, when nothing else
///   runs. It also counts what the call takes of the arithmetic's cores, so where they are all busy it is smaller. Each
///   time is the median over iterations of the slowest rank's.
///
/// The four measurements take turns. The local products of a call are arithmetic too.
/// Prints a table on stdout, as rank 0.
void benchmark_overlap(Transport& transport, const OuterProductOptions& options);

}  // namespace dsop::bench
