// dsop-bench plan: what auto would do and gain, without running it.
#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include <dsop/machine.hpp>
#include <dsop/plan.hpp>

#include "contenders.hpp"
#include "lists.hpp"

namespace dsop::bench {

constexpr std::size_t most_planned_ranks = 4096;

struct PlanOptions {
  std::vector<Point> points;
  std::vector<std::size_t> ranks;
  std::size_t ranks_per_node = 1;
  std::vector<Rate> rates = {};  ///< of the machine's network; empty: its own
  DataType type = DataType::f32;
  Wire wire = Wire::full;
  Machine machine = {};
};

/// What is predicted of one shape on so many ranks.
struct Forecast {
  std::optional<Rate> rate;  ///< none: the machine's own
  std::size_t ranks_per_node;
  Plan plan;
  Candidate chosen;  ///< by auto
  Candidate dense;   ///< the fastest of those that send G alone, but for what runs inside the MPI library
  /// With more pairs a rank auto sends G alone; none: not with `most_pairs` either.
  std::optional<std::size_t> factors_pay_to_pairs;

  /// How many times faster a call is by a candidate than by `dense`, with the leads by which auto compares them.
  double gain_of(const Candidate& candidate) const;
  double gain() const { return gain_of(chosen); }
  bool factors_pay() const;
};

constexpr std::size_t most_pairs = std::size_t{1} << 20;

/// Of one shape, but for factors_pay_to_pairs, which takes some twenty plans more. Throws as forecasts() does.
Forecast forecast(const PlanOptions& options, const Point& point, std::size_t ranks, const std::optional<Rate>& rate);
std::optional<std::size_t> factors_pay_to_pairs(const Forecast& forecast);

/// The last number that `pays`, where all before it do: found by doubling from 1, then between the last two. 0: none;
/// more than `most`: `most` pays too, and no more were tried.
template <class Pays>
std::size_t last_that(const Pays& pays, std::size_t most) {
  std::size_t no_more = 1;
  while (pays(no_more)) {
    if (no_more >= most) return 2 * most;
    no_more *= 2;
  }
  std::size_t still = no_more / 2;
  while (still + 1 < no_more) {
    const std::size_t middle = std::midpoint(still, no_more);
    (pays(middle) ? still : no_more) = middle;
  }
  return still;
}

/// Of every shape for each number of ranks and each rate. Throws ArgumentError naming a number that makes no sense.
std::vector<Forecast> forecasts(const PlanOptions& options);

}  // namespace dsop::bench
