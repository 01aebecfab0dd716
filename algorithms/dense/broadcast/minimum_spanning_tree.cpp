// Minimum spanning tree broadcast: on a binomial tree, the whole vector at each step. Wang et al., "Efficient
// Communications in Training Large Scale Neural Networks" (2016), section 3, as in van de Geijn's InterCom.
//
// Cost: ceil(log2 P) messages of N words.
#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/from_root.hpp"
#include "patterns/binomial_tree.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

template <class T>
void run(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  patterns::tree_broadcast(transport, call.data);
}

Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  const std::size_t bytes = problem.elements * bytes_of(problem.type);
  const patterns::Network network = network_from_root(problem, machine);
  Cost cost;
  for (int distance = 1; distance < problem.ranks; distance *= 2) {
    cost.messages += 1;
    cost.bytes += bytes;
    cost.communication_seconds += patterns::tree_step(network, problem.ranks, distance, bytes).seconds();
  }
  return cost;
}

}  // namespace

DenseAlgorithm broadcast_minimum_spanning_tree() {
  return {.name = "minimum-spanning-tree",
          .summary = "on a binomial tree; fewest steps",
          .source = "Wang et al. 2016, table 1 (MST)",
          .cost = cost,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
