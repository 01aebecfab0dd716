// Allgather of the factors: DSOP paper, the allgather baseline, with one product for all ranks' pairs.
//
//   1. Ring allgather of all factors.
//   2. Every rank makes the whole G = A^T B with inner dimension K, the number of all pairs.
//
// Every rank computes every element, so all must make the product in the same way (the plan's shared_method).
// Cost: P-1 messages; (P-1) k (n+m) words; 2 P k n m flops.
#include "kernels/outer_product.hpp"
#include "outer_product/gather_factors.hpp"

namespace dsop::outer_product {
namespace {

template <class T>
void run(OuterProductCall<T>& call) {
  const Factors<T> all = gather_factors(call);
  kernels::product<T>(all.a, all.b, call.gradient, call.scale, call.accumulate, call.plan.shared_method);
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine) {
  const std::size_t n = problem.rows;
  const std::size_t m = problem.columns;
  const int P = problem.ranks();
  const std::size_t K = problem.total_pairs();
  const std::size_t fewest_not_sent = *std::min_element(problem.pairs.begin(), problem.pairs.end());
  const std::size_t pair_bytes = (n + m) * bytes_of(problem.type);

  Cost cost;
  cost.flops = 2 * static_cast<double>(K) * static_cast<double>(n) * static_cast<double>(m);
  cost.arithmetic_seconds =
      machine.product_seconds(static_cast<double>(n), static_cast<double>(m), static_cast<double>(K), problem.type);
  if (P == 1) return cost;
  cost.messages = static_cast<std::size_t>(P - 1);
  cost.bytes = (K - fewest_not_sent) * pair_bytes;
  cost.communication_seconds = (P - 1) * machine.message_seconds(problem.largest_pairs() * pair_bytes);
  return cost;
}

}  // namespace

OuterProductAlgorithm allgather() {
  return {.name = "allgather",
          .summary = "everybody gets all factors and makes all of G; no gradient travels",
          .source = "Enderlin et al. 2021 (DSOP), allgather baseline",
          .sends_gradient = false,
          .cost = cost,
          .workspace_elements = [](const OuterProductAlgorithm&,
                                   const Problem& problem) { return gathered_elements(problem); },
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::outer_product
