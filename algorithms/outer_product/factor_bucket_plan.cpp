// Cost: that of the allgather, (P-1) times the sum over layers of k (n+m) words, a shared factor once, and 8 bytes; one
// latency for all.
#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/outer_product/factor_bucket.hpp"
#include "algorithms/outer_product/travel.hpp"

namespace dsop {
namespace {

constexpr std::size_t in_whole_words(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace

void FactorBucketProblem::add(const GradientSize& layer, const std::vector<std::size_t>& pairs) {
  layers.push_back(layer);
  elements.resize(pairs.size());
  for (std::size_t r = 0; r < pairs.size(); ++r) {
    elements[r] += pairs[r] * (layer.rows + layer.columns);
    multiplied_elements += pairs[r] * (layer.rows + layer.columns);
  }
}

std::size_t FactorBucketProblem::block_bytes(std::size_t layers, std::size_t element_bytes) {
  return layers * sizeof(Heading) + in_whole_words(element_bytes);
}

std::size_t FactorBucketProblem::block_bytes(std::size_t rank) const {
  return block_bytes(layers.size(), elements[rank] * bytes_on_wire(factor_wire, type));
}

FactorBucketPlan make_factor_bucket_plan(FactorBucketProblem problem, const Machine& machine,
                                         const std::string& algorithm) {
  const auto ranks = static_cast<int>(problem.elements.size());
  FactorBucketPlan plan;
  plan.factors = outer_product::exchange_of_factors(
      *parse_algorithm(factor_bucket_text(algorithm), "algorithm", outer_product_algorithms()).algorithm,
      blocks_of(problem.group, ranks, [&](int r) { return problem.block_bytes(static_cast<std::size_t>(r)); }),
      machine);
  plan.cost = outer_product::exchange_cost({.factors = plan.factors}, ranks, machine);
  const std::size_t elements = std::reduce(problem.elements.begin(), problem.elements.end());
  double of_a_pair = 0;
  for (const auto& [n, m] : problem.layers) of_a_pair += static_cast<double>(n + m);
  const double K = of_a_pair == 0 ? 0 : static_cast<double>(problem.multiplied_elements) / of_a_pair;
  for (const auto& [rows, columns] : problem.layers) {
    const auto n = static_cast<double>(rows);
    const auto m = static_cast<double>(columns);
    plan.cost.flops += 2 * K * n * m;
    plan.cost.arithmetic_seconds += machine.product_seconds(n, m, K, problem.type);
  }
  plan.cost.arithmetic_seconds += outer_product::conversion_seconds(
      problem.factor_wire, machine, *std::max_element(problem.elements.begin(), problem.elements.end()), elements);
  plan.problem = std::move(problem);
  return plan;
}

}  // namespace dsop
