// Minimum spanning tree allreduce: reduce to rank 0 on a binomial tree, then broadcast on it. Wang et al., "Efficient
// Communications in Training Large Scale Neural Networks" (2016), section 3, as in van de Geijn's InterCom.
//
// Cost: ceil(log2 P) messages of N words (the root's), one after the other as many again; ceil(log2 P) N additions.
#include "algorithms/dense/algorithm.hpp"
#include "patterns/binomial_tree.hpp"

namespace dsop::dense {

DenseAlgorithm reduce_minimum_spanning_tree();
DenseAlgorithm broadcast_minimum_spanning_tree();

namespace {

template <class T>
void run(DenseCall<T>& call) {
  patterns::tree_reduce(call.transport, call.data, Received<T>(call.memory, call.problem()).elements);
  patterns::tree_broadcast(call.transport, call.data);
}

// Rank 0 sends the most: any other has fewer children, and one parent.
Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  const Cost reduce = reduce_minimum_spanning_tree().cost(problem, machine, 0);
  Cost cost = broadcast_minimum_spanning_tree().cost(problem, machine, 0);
  cost.flops = reduce.flops;
  cost.communication_seconds += reduce.communication_seconds;
  cost.arithmetic_seconds = reduce.arithmetic_seconds;
  return cost;
}

}  // namespace

DenseAlgorithm minimum_spanning_tree() {
  return {.name = "minimum-spanning-tree",
          .summary = "reduce, then broadcast, on a binomial tree",
          .source = "Wang et al. 2016, table 1 (MST)",
          .cost = cost,
          .workspace_bytes = counted<Received>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
