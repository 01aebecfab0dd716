// Generalized Rabenseifner: the contribution of the DSOP paper (Enderlin et al. 2021).
//
//   1. Allgather of all factors.
//   2. Rank r makes its block of rows of G, sizes differing by at most one row.
//   3. Allgather of the blocks of rows.
//
// An element is computed by one rank and sent to the others. The paper gathers round rings; here, in the cheapest way.
// Cost: that of two allgathers, (P-1) k (n+m) + (P-1)/P n m words; 2 k n m flops.
#include "outer_product/pairs.hpp"
#include "outer_product/row_blocks.hpp"
#include "outer_product/share_parts.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const int r = call.transport.rank();
  const Blocks rows(G.rows, call.transport.size());
  const Pairs<T> all = gather_pairs(call);

  product<T>(call, all, rows.offset(r), G.row_range(rows.offset(r), rows.size(r)), false);
  share_parts(call, call.transport, std::span<T>(G.data, G.rows * G.columns));
}

AllgatherProblem gradient_blocks(const Problem& problem, double) {
  return row_blocks(problem, problem.rows, problem.ranks());
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double) {
  const LocalProduct product(problem, 0, problem.ranks());
  const std::size_t rows = Blocks(problem.rows, problem.ranks()).largest();
  const AllgatherProblem factors = factor_blocks(problem);
  const AllgatherProblem parts = gradient_blocks(problem, 0);
  const AllgatherAlgorithm& gather_factors = exchange_of(self, factors, machine);
  const AllgatherAlgorithm& gather_parts = cheapest_allgather(parts, machine);

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r)
    cost.raise_to(gather_factors.sent(factors, r) + gather_parts.sent(parts, r));
  cost.flops = product.flops(rows);
  cost.communication_seconds = gather_factors.seconds(factors, machine) + gather_parts.seconds(parts, machine);
  cost.arithmetic_seconds =
      product.seconds(machine, rows) +
      conversion_seconds(problem, machine, rows * problem.columns, problem.rows * problem.columns);
  return cost;
}

std::size_t workspace_elements(const OuterProductAlgorithm&, const Problem& problem, double) {
  return gathered_pairs_elements(problem, Blocks(problem.rows, problem.ranks()).largest()) +
         wire_elements(problem, problem.rows * problem.columns);
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner() {
  return {.name = "generalized-rabenseifner",
          .summary = "everybody gets all factors, makes its rows of G, and sends them round",
          .source = "Enderlin et al. 2021 (DSOP), the paper's contribution",
          .takes_sparse = true,
          .sends_bf16 = true,
          .cost = cost,
          .gradient_blocks = gradient_blocks,
          .workspace_elements = workspace_elements,
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::outer_product
