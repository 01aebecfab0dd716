#include "algorithms/outer_product/sharing.hpp"

#include <algorithm>
#include <utility>

#include <dsop/types.hpp>

#include "algorithms/outer_product/factor_bucket.hpp"
#include "algorithms/outer_product/gather_factors.hpp"
#include "algorithms/outer_product/operation.hpp"
#include "base/largest_inner_dimension.hpp"
#include "call/agreement_seconds.hpp"

namespace dsop::outer_product {
namespace {

std::size_t gradient_bytes(const Problem& problem) {
  return problem.rows * problem.columns * bytes_of(problem.type);
}

// Beyond that BLAS multiplies, and all pairs must stand in one matrix.
bool is_ours(const Problem& problem) {
  std::size_t most_pairs = 0;
  visit(problem.type, [&]<class T>(T) { most_pairs = largest_inner_dimension<T>; });
  return problem.total_pairs() <= most_pairs;
}

bool sums_gradients(const OuterProductAlgorithm& algorithm) {
  return algorithm.dense != nullptr && !algorithm.native();
}

// A message more in a step of a bucket is a longer message.
Machine without_latency(Machine machine) {
  const auto clear = [](auto& level) {
    constexpr double none = 1e-15;  // 0 is no machine's
    level.latency_seconds = level.overhead_seconds = level.gap_seconds = none;
    level.ring_step_seconds = level.exchange_step_seconds = {};
  };
  clear(machine);
  std::ranges::for_each(machine.inner_levels, clear);
  return machine;
}

}  // namespace

std::size_t factor_bucket_bytes(const Problem& problem, std::size_t most_pairs) {
  Problem largest = problem;
  std::ranges::fill(largest.pairs, std::min<std::size_t>(most_pairs, FactorBucketProblem::most_pairs));
  return std::max(total_factor_bytes(largest), gradient_bytes(problem) / 4);
}

Shared choose_shared(const Problem& problem, const Machine& machine, const std::string& algorithm,
                     std::size_t factor_bytes, std::size_t bucket_bytes) {
  if (problem.ranks() == 1 || !problem.sparsity.empty() || gradient_bytes(problem) == 0) return Shared::nothing;
  const bool factors_fit = factor_bytes < bucket_bytes && is_ours(problem);
  if (algorithm != "auto") {
    const NamedAlgorithm by = parse_algorithm(algorithm, "algorithm", outer_product_algorithms());
    return factors_fit && by.algorithm->in_buckets ? Shared::factors : Shared::nothing;
  }
  const bool gradient_fits = gradient_bytes(problem) < bucket_bytes;
  const Plan alone = make_plan(problem, machine, "auto", {}, Evaluated::named);
  if (alone.auto_is_measured) {
    if (alone.algorithm->in_buckets) return factors_fit ? Shared::factors : Shared::nothing;
    return sums_gradients(*alone.algorithm) && gradient_fits ? Shared::gradient : Shared::nothing;
  }
  Shared best = Shared::nothing;
  double least_seconds = alone.seconds();
  const auto take_if_less = [&](Shared shared, const Cost& cost) {
    if (cost.seconds() >= least_seconds) return;
    best = shared;
    least_seconds = cost.seconds();
  };
  const Plan plan = make_plan(problem, without_latency(machine), "allgather", {}, Evaluated::all);
  if (factors_fit) take_if_less(Shared::factors, plan.cost());
  if (!gradient_fits) return best;
  for (const Candidate& candidate : plan.candidates) {
    const NamedAlgorithm by = parse_algorithm(candidate.algorithm, "algorithm", outer_product_algorithms());
    if (sums_gradients(*by.algorithm) && candidate.unsupported.empty()) take_if_less(Shared::gradient, candidate.cost);
  }
  return best;
}

double factor_bucket_seconds(const std::vector<const Problem*>& layers, const Machine& machine) {
  const Problem& all = *layers.front();
  FactorBucketProblem problem{.type = all.type, .group = all.group};
  for (const Problem* const layer : layers) problem.add({layer->rows, layer->columns}, layer->pairs);
  return agreement_seconds(machine, all.group.nodes, all.ranks()) +
         make_factor_bucket_plan(std::move(problem), machine, "auto").cost.seconds();
}

}  // namespace dsop::outer_product
