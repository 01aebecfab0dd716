// dsop-bench plan: what auto would do and gain, without running it.
#pragma once

#include <cstddef>
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

/// Of every shape for each number of ranks and each rate. Throws ArgumentError naming a number that makes no sense.
std::vector<Forecast> forecasts(const PlanOptions& options);

}  // namespace dsop::bench
