// Sharded result over an allgather of the factors: the first two steps of Generalized Rabenseifner (Enderlin et al.
// 2021).
//
//   1. Allgather of all factors, in the cheapest way.
//   2. Rank r computes its rows of G.
//
// An element is computed by one rank, the only one that has it.
// Cost: that of the allgather, (P-1) k (n+m) words in as few as log2 P messages; 2 k n m flops.
#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/outer_product/gather_factors.hpp"
#include "kernels/outer_product.hpp"
#include "patterns/blocks.hpp"

namespace dsop::sharded {
namespace {

using patterns::Blocks;

template <class T>
void run(OuterProductCall<T>& call) {
  const outer_product::GatheredFactors<T> memory(call.memory, call.plan.problem);
  const Factors<T> all = outer_product::gather_factors(call, memory);
  const std::size_t first = call.plan.row_bounds[static_cast<std::size_t>(call.transport.rank())];
  kernels::product<T>(all.a.column_range(first, call.gradient.rows), all.b, call.gradient, call.scale, call.beta);
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double) {
  const auto m = static_cast<double>(problem.columns);
  const auto K = static_cast<double>(problem.total_pairs());
  const auto rows = static_cast<double>(Blocks(problem.rows, problem.ranks()).largest());
  const AllgatherProblem factors = outer_product::factor_blocks(problem);
  const AllgatherAlgorithm& exchange = outer_product::exchange_of(self, factors, machine);

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r) cost.raise_to(exchange.sent(factors, r));
  cost.flops = 2 * K * rows * m;
  cost.communication_seconds = exchange.seconds(factors, machine);
  cost.arithmetic_seconds =
      machine.product_seconds(rows, m, K, problem.type) + outer_product::factor_conversion_seconds(problem, machine);
  return cost;
}

}  // namespace

OuterProductAlgorithm allgather() {
  return {.name = "allgather",
          .summary = "everybody gets all factors and computes its rows of G; fewest messages",
          .source = "Enderlin et al. 2021 (DSOP), without the paper's last step",
          .sends_gradient = false,
          .cost = cost,
          .workspace_bytes = counted<outer_product::GatheredFactors>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sharded
