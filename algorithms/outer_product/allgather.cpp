// Allgather of the factors: DSOP paper, the allgather baseline, with one product for all ranks' pairs.
//
//   1. Allgather of all factors, in the cheapest way or in a given one.
//   2. Every rank computes the whole G = A^T B with inner dimension K, the number of all pairs.
//
// Every rank computes every element, so all must make the product in the same way (the plan's shared_method).
// Cost: that of the allgather, (P-1) k (n+m) words; 2 P k n m flops. Sparse factors: what is not zero of k (n+m), with
// an index each, and the flops for what is zero neither in a nor in b.
#include "algorithms/outer_product/pairs.hpp"

namespace dsop::outer_product {
namespace {

template <class T>
struct Memory : GatheredPairs<T> {
  Memory(Arena& arena, const Problem& problem, double = 0) : GatheredPairs<T>(arena, problem, problem.rows) {}
};

template <class T>
void run(OuterProductCall<T>& call) {
  const Memory<T> memory(call.memory, call.plan.problem);
  const Pairs<T> all = gather_pairs(call, memory);
  product<T>(call, all, 0, call.gradient, call.beta, call.plan.shared_method);
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double,
          const Exchanges& exchanges) {
  return cost_of_rows(problem, machine, exchanges, problem.rows);
}

}  // namespace

OuterProductAlgorithm allgather() {
  return {.name = "allgather",
          .summary = "everybody gets all factors and computes all of G; no gradient travels",
          .source = "Enderlin et al. 2021 (DSOP), allgather baseline",
          .sends_gradient = false,
          .takes_sparse = true,
          .can_piggyback = true,
          .in_buckets = true,
          .exchanges = all_factors,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

OuterProductAlgorithm allgather_over(const AllgatherAlgorithm& exchange) {
  OuterProductAlgorithm algorithm = allgather();
  algorithm.name.append("-").append(exchange.name);
  algorithm.summary = "as allgather, factors " + exchange.summary;
  algorithm.source = exchange.source;
  algorithm.exchange = &exchange;
  algorithm.can_piggyback = false;
  algorithm.unsupported = [](const OuterProductAlgorithm& self, const Problem& problem) {
    return self.exchange->unsupported(factor_blocks(problem));
  };
  return algorithm;
}

}  // namespace dsop::outer_product
