// Allgather of the factors: DSOP paper, the allgather baseline, with one product for all ranks' pairs.
//
//   1. Allgather of all factors, in the cheapest way or in a given one.
//   2. Every rank makes the whole G = A^T B with inner dimension K, the number of all pairs.
//
// Every rank computes every element, so all must make the product in the same way (the plan's shared_method).
// Cost: that of the allgather, (P-1) k (n+m) words; 2 P k n m flops.
#include "kernels/outer_product.hpp"
#include "outer_product/gather_factors.hpp"

namespace dsop::outer_product {
namespace {

template <class T>
void run(OuterProductCall<T>& call) {
  const Factors<T> all = gather_factors(call);
  kernels::product<T>(all.a, all.b, call.gradient, call.scale, call.accumulate, call.plan.shared_method);
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double) {
  const auto n = static_cast<double>(problem.rows);
  const auto m = static_cast<double>(problem.columns);
  const auto K = static_cast<double>(problem.total_pairs());
  const AllgatherProblem factors = factor_blocks(problem);
  const AllgatherAlgorithm& exchange = exchange_of(self, factors, machine);

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r) cost.raise_to(exchange.sent(factors, r));
  cost.flops = 2 * K * n * m;
  cost.communication_seconds = exchange.seconds(factors, machine);
  cost.arithmetic_seconds = machine.product_seconds(n, m, K, problem.type);
  return cost;
}

std::size_t workspace_elements(const OuterProductAlgorithm&, const Problem& problem, double) {
  return gathered_elements(problem);
}

}  // namespace

OuterProductAlgorithm allgather() {
  return {.name = "allgather",
          .summary = "everybody gets all factors and makes all of G; no gradient travels",
          .source = "Enderlin et al. 2021 (DSOP), allgather baseline",
          .sends_gradient = false,
          .cost = cost,
          .workspace_elements = workspace_elements,
          .run = {run<float>, run<double>}};
}

OuterProductAlgorithm allgather_over(const AllgatherAlgorithm& exchange) {
  OuterProductAlgorithm algorithm = allgather();
  algorithm.name.append("-").append(exchange.name);
  algorithm.summary = "the same, factors " + exchange.summary;
  algorithm.source = exchange.source;
  algorithm.exchange = &exchange;
  algorithm.unsupported = [](const OuterProductAlgorithm& self, const Problem& problem) {
    return self.exchange->unsupported(factor_blocks(problem));
  };
  return algorithm;
}

}  // namespace dsop::outer_product
