// Split and dense allgather: Renggli, "SparCML: High-Performance Sparse Communication for Machine Learning" (2017),
// section 3.3 (DSAR_Split_allgather).
//
//   1. Split: every rank gets what all hold of its region of N/P elements, and adds it in the order of ranks, dense.
//   2. Dense allgather of the regions, each at its place in the result.
//
// Cost, k elements of each rank: 2 (P-1) messages, half of them lengths, and the allgather's; 2 k (P-1)/P words in step
// 1, N (P-1)/P in step 2.
#include "sparse/gather_regions.hpp"

namespace dsop::sparse {
namespace {

AllgatherProblem blocks(const SparseProblem& problem, double) {
  const Blocks regions(problem.elements, problem.ranks());
  AllgatherProblem blocks{{0}, problem.native_collectives};
  for (int q = 0; q < problem.ranks(); ++q)
    blocks.bounds_bytes.push_back(regions.offset(q + 1) * bytes_of(problem.type));
  return blocks;
}

template <class T>
void run(SparseCall<T>& call) {
  const int P = call.transport.size();
  const Blocks regions(call.own.dimension, P);
  for (int q = 0; q <= P; ++q) call.blocks.bounds_bytes[static_cast<std::size_t>(q)] = regions.offset(q) * sizeof(T);
  const std::span<T> result = call.result.first(call.own.dimension);
  sum_dense<T>(split(call.transport, call.plan.problem, call.own, Room(call.workspace)),
               regions.of(result, call.transport.rank()));
  AllgatherCall exchange{call.transport, std::as_writable_bytes(result), call.blocks};
  call.plan.exchange->run(exchange);
  call.sum = {result.size(), {}, result};
}

Cost cost(const SparseAlgorithm&, const SparseProblem& problem, const Machine& machine, double) {
  const AllgatherProblem regions = blocks(problem, 0);
  const AllgatherAlgorithm& exchange = cheapest_allgather(regions, machine);
  Cost gather;
  for (int r = 0; r < problem.ranks(); ++r) gather.raise_to(exchange.sent(regions, r));
  gather.communication_seconds = exchange.seconds(regions, machine);
  gather.arithmetic_seconds = machine.memory_seconds(static_cast<double>(regions.largest_bytes()));
  return one_after_the_other(split_cost(problem, machine, problem.ranks()), gather);
}

}  // namespace

SparseAlgorithm dsar_split_allgather() {
  return {.name = "dsar-split-allgather",
          .summary = "everybody sums a region, then dense allgather; for sums that become dense",
          .source = "Renggli 2017 (SparCML), section 3.3",
          .makes_dense = true,
          .cost = cost,
          .blocks = blocks,
          .workspace_bytes = [](const SparseAlgorithm&, const SparseProblem& problem,
                                double) { return split_bytes(problem, problem.ranks()); },
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::sparse
