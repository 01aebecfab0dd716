// Sharded result from the needed parts of the factors alone: the "all-scatter" of the DSOP paper's future work
// (Enderlin et al. 2021).
//
//   1. Rank r gets the columns of all A that make its rows of G, and all of B, straight from their ranks.
//   2. It computes its rows of G.
//
// An element is computed by one rank, the only one that has it.
// Cost: P - 1 messages; k (n (P-1)/P + (P-1) m) words; 2 k n m flops.
#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/outer_product/scatter_factors.hpp"
#include "kernels/outer_product.hpp"

namespace dsop::sharded {
namespace {

using patterns::Grid;

Grid owners_of_rows(const Problem& problem) {
  return {problem.rows, problem.columns, problem.ranks(), problem.ranks()};
}

template <class T>
struct Memory : outer_product::ScatteredFactors<T> {
  Memory(Arena& arena, const Problem& problem, double = 0)
      : outer_product::ScatteredFactors<T>(arena, problem, owners_of_rows(problem)) {}
};

template <class T>
void run(OuterProductCall<T>& call) {
  const Problem& problem = call.plan.problem;
  const Memory<T> memory(call.memory, problem);
  const Factors<T> needed = outer_product::scatter_factors(call, owners_of_rows(problem), memory);
  kernels::product<T>(needed.a, needed.b, call.gradient, call.scale, call.beta);
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double, const Exchanges&) {
  const Grid grid = owners_of_rows(problem);
  const auto m = static_cast<double>(problem.columns);
  const auto K = static_cast<double>(problem.total_pairs());
  const auto rows = static_cast<double>(grid.most_rows());

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r) cost.raise_to(outer_product::scattered_by(problem, grid, r));
  cost.flops = 2 * K * rows * m;
  cost.communication_seconds = outer_product::scatter_seconds(problem, grid, machine);
  cost.arithmetic_seconds = machine.product_seconds(rows, m, K, problem.type) +
                            outer_product::scatter_conversion_seconds(problem, grid, machine);
  return cost;
}

}  // namespace

OuterProductAlgorithm scattered() {
  return {.name = "scattered",
          .summary = "everybody gets the parts of the factors that make its rows of G; fewest words",
          .source = "Enderlin et al. 2021 (DSOP), future work (all-scatter)",
          .sends_gradient = false,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sharded
