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

template <class T>
void run(OuterProductCall<T>& call) {
  const outer_product::GatheredFactors<T> memory(call.memory, call.plan.problem);
  const Factors<T> all = outer_product::gather_factors(call, memory);
  const std::size_t first = call.plan.row_bounds[static_cast<std::size_t>(call.transport.rank())];
  kernels::product<T>(all.a.column_range(first, call.gradient.rows), all.b, call.gradient, call.scale, call.beta);
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double,
          const Exchanges& exchanges) {
  return outer_product::cost_of_rows(problem, machine, exchanges,
                                     patterns::Blocks(problem.rows, problem.ranks()).largest());
}

}  // namespace

OuterProductAlgorithm allgather() {
  return {.name = "allgather",
          .summary = "everybody gets all factors and computes its rows of G; fewest messages",
          .source = "Enderlin et al. 2021 (DSOP), without the paper's last step",
          .sends_gradient = false,
          .exchanges = outer_product::all_factors,
          .cost = cost,
          .workspace_bytes = counted<outer_product::GatheredFactors>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sharded
