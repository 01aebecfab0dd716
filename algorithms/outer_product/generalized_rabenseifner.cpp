// Generalized Rabenseifner: the contribution of the DSOP paper (Enderlin et al. 2021).
//
//   1. Allgather of all factors.
//   2. Rank r makes its block of rows of G, sizes differing by at most one row.
//   3. Allgather of the blocks of rows.
//
// An element is computed by one rank and sent to the others. The paper gathers round rings; here, in the cheapest way.
// Cost: that of two allgathers, (P-1) k (n+m) + (P-1)/P n m words; 2 k n m flops.
#include "kernels/outer_product.hpp"
#include "outer_product/gather_factors.hpp"
#include "patterns/blocks.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const int r = call.transport.rank();
  const Blocks rows(G.rows, call.transport.size());
  const Factors<T> all = gather_factors(call);

  kernels::product<T>(all.a.column_range(rows.offset(r), rows.size(r)), all.b,
                      G.row_range(rows.offset(r), rows.size(r)), call.scale, false);
  allgather(call.transport, call.plan.gradient, std::span(G.data, G.rows * G.columns));
}

AllgatherProblem gradient_blocks(const Problem& problem, double) {
  const Blocks rows(problem.rows, problem.ranks());
  AllgatherProblem blocks{{0}, problem.native_collectives};
  for (int r = 1; r <= problem.ranks(); ++r)
    blocks.bounds_bytes.push_back(rows.offset(r) * problem.columns * bytes_of(problem.type));
  return blocks;
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double) {
  const auto m = static_cast<double>(problem.columns);
  const auto K = static_cast<double>(problem.total_pairs());
  const auto rows = static_cast<double>(Blocks(problem.rows, problem.ranks()).largest());
  const AllgatherProblem factors = factor_blocks(problem);
  const AllgatherProblem parts = gradient_blocks(problem, 0);
  const AllgatherAlgorithm& gather_factors = exchange_of(self, factors, machine);
  const AllgatherAlgorithm& gather_parts = cheapest_allgather(parts, machine);

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r)
    cost.raise_to(gather_factors.sent(factors, r) + gather_parts.sent(parts, r));
  cost.flops = 2 * K * rows * m;
  cost.communication_seconds = gather_factors.seconds(factors, machine) + gather_parts.seconds(parts, machine);
  cost.arithmetic_seconds = machine.product_seconds(rows, m, K, problem.type);
  return cost;
}

std::size_t workspace_elements(const OuterProductAlgorithm&, const Problem& problem, double) {
  return gathered_elements(problem);
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner() {
  return {.name = "generalized-rabenseifner",
          .summary = "everybody gets all factors, makes its rows of G, and sends them round",
          .source = "Enderlin et al. 2021 (DSOP), the paper's contribution",
          .cost = cost,
          .gradient_blocks = gradient_blocks,
          .workspace_elements = workspace_elements,
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::outer_product
