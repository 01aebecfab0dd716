// Minimum spanning tree reduce: on a binomial tree, the whole vector at each step. Wang et al., "Efficient
// Communications in Training Large Scale Neural Networks" (2016), section 3, as in van de Geijn's InterCom.
//
// A parent adds its children from the nearest to the farthest, so that the sum is in the order of the ranks.
// Cost: one message of N words; ceil(log2 P) of them one after the other, and N additions after each.
#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/from_root.hpp"
#include "patterns/binomial_tree.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

template <class T>
void run(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  patterns::tree_reduce(transport, call.data, Received<T>(call.memory, call.problem()).elements);
}

Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  if (problem.ranks == 1) return {};
  const patterns::Network network = network_from_root(problem, machine);
  Cost cost;
  cost.messages = 1;
  cost.bytes = problem.elements * bytes_of(problem.type);
  for (int distance = 1; distance < problem.ranks; distance *= 2) {
    cost.flops += static_cast<double>(problem.elements);
    cost.communication_seconds += patterns::tree_step(network, problem.ranks, distance, cost.bytes).seconds();
  }
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  return cost;
}

}  // namespace

DenseAlgorithm reduce_minimum_spanning_tree() {
  return {.name = "minimum-spanning-tree",
          .summary = "on a binomial tree; fewest steps",
          .source = "Wang et al. 2016, table 1 (MST)",
          .cost = cost,
          .workspace_bytes = counted<Received>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
