#include "plan.hpp"

#include <algorithm>
#include <string>

#include <dsop/errors.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "call/choose.hpp"
#include "contenders.hpp"

namespace dsop::bench {
namespace {

const OuterProductAlgorithm& algorithm_of(const Candidate& candidate) {
  return *outer_product_algorithms().find(without_parameter(candidate.algorithm));
}

bool sends_factors(const Candidate& candidate) {
  return algorithm_of(candidate).sends_factors;
}

// Ranks fill one node after the other.
std::vector<int> nodes_of(std::size_t ranks, std::size_t ranks_per_node) {
  std::vector<int> nodes(ranks);
  for (std::size_t r = 0; r < ranks; ++r) nodes[r] = static_cast<int>(r - r % ranks_per_node);
  return shared_nodes(nodes);
}

// The network's links, a node's and what lies above in proportion. Steps, MPI's own allreduce and winners were measured
// at another rate.
Machine with_rate(Machine machine, const Rate& rate) {
  const double slower = 8 / rate.bits_per_second / machine.gap_per_byte_seconds;
  const auto slow_down = [&](auto& network) {
    network.gap_per_byte_seconds *= slower;
    network.ring_step_seconds = network.exchange_step_seconds = {};
  };
  slow_down(machine);
  machine.native_allreduce_seconds = {};
  machine.winners.clear();
  for (Level& level : machine.inner_levels) {
    level.out_bytes_per_second /= slower;
    if (level.nodes > 1) slow_down(level);
  }
  return machine;
}

const Candidate& fastest_dense_of(const Plan& plan) {
  const Candidate* fastest = nullptr;
  for (const Candidate& candidate : plan.candidates) {
    if (!candidate.unsupported.empty() || sends_factors(candidate) || algorithm_of(candidate).native()) continue;
    if (fastest == nullptr || compared_seconds(candidate) < compared_seconds(*fastest)) fastest = &candidate;
  }
  return *fastest;
}

Plan with_pairs(Problem problem, const Machine& machine, std::size_t pairs) {
  std::fill(problem.pairs.begin(), problem.pairs.end(), pairs);
  return make_plan(problem, machine);
}

}  // namespace

std::optional<std::size_t> factors_pay_to_pairs(const Forecast& forecast) {
  const auto pays = [&](std::size_t pairs) {
    return sends_factors(with_pairs(forecast.plan.problem, forecast.plan.machine, pairs).chosen());
  };
  const std::size_t last = last_that(pays, most_pairs);
  return last > most_pairs ? std::nullopt : std::optional(last);
}

Forecast forecast(const PlanOptions& options, const Point& point, std::size_t ranks, const std::optional<Rate>& rate) {
  const Machine machine = rate ? with_rate(options.machine, *rate) : options.machine;
  const Problem problem{.rows = point.rows,
                        .columns = point.columns,
                        .pairs = std::vector(ranks, point.pairs),
                        .type = options.type,
                        .group = {true, nodes_of(ranks, options.ranks_per_node)},
                        .wire = options.wire};
  const Plan plan = make_plan(problem, machine);
  return {.rate = rate,
          .ranks_per_node = options.ranks_per_node,
          .plan = plan,
          .chosen = plan.chosen(),
          .dense = fastest_dense_of(plan),
          .factors_pay_to_pairs = {}};
}

double Forecast::gain_of(const Candidate& candidate) const {
  return compared_seconds(dense) / compared_seconds(candidate);
}

bool Forecast::factors_pay() const {
  return sends_factors(chosen);
}

std::vector<Forecast> forecasts(const PlanOptions& options) {
  for (const std::size_t ranks : options.ranks)
    if (ranks < 1 || ranks > most_planned_ranks)
      throw ArgumentError("--ranks is " + std::to_string(ranks) + ", expected 1 to " +
                          std::to_string(most_planned_ranks));
  std::vector<std::optional<Rate>> rates(options.rates.begin(), options.rates.end());
  if (rates.empty()) rates.emplace_back();

  std::vector<Forecast> all;
  for (const Point& point : options.points)
    for (const std::size_t ranks : options.ranks)
      for (const std::optional<Rate>& rate : rates) {
        all.push_back(forecast(options, point, ranks, rate));
        all.back().factors_pay_to_pairs = factors_pay_to_pairs(all.back());
      }
  return all;
}

}  // namespace dsop::bench
