// What it costs to gather all factors, have owners make the rows of G, and gather these.
#pragma once

#include "algorithms/outer_product/pairs.hpp"
#include "algorithms/outer_product/row_blocks.hpp"
#include "algorithms/outer_product/travel.hpp"

namespace dsop::outer_product {

/// With the rows shared out as `parts` among the ranks of each group, which divide all ranks; rank r is number
/// owner_of(r) of its group.
template <class OwnerOf>
Cost owners_cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine,
                 const AllgatherProblem& parts, const OwnerOf& owner_of) {
  const LocalProduct product(problem, 0, problem.ranks());
  const std::size_t rows = patterns::Blocks(problem.rows, parts.ranks()).largest();
  const AllgatherProblem factors = factor_blocks(problem);
  const AllgatherAlgorithm& gather_factors = exchange_of(self, factors, machine);
  const AllgatherAlgorithm& gather_parts = gradient_exchange_of(self, parts, machine);

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r)
    cost.raise_to(gather_factors.sent(factors, r) + gather_parts.sent(parts, owner_of(r)));
  cost.flops = product.flops(rows);
  cost.communication_seconds = gather_factors.seconds(factors, machine) + gather_parts.seconds(parts, machine);
  cost.arithmetic_seconds =
      product.seconds(machine, rows) + factor_conversion_seconds(problem, machine) +
      conversion_seconds(problem.wire, machine, rows * problem.columns, problem.rows * problem.columns);
  return cost;
}

}  // namespace dsop::outer_product
