// Minimum spanning tree: on a binomial tree, the whole vector at each step. Wang et al., "Efficient Communications in
// Training Large Scale Neural Networks" (2016), section 3, as in van de Geijn's InterCom.
//
//   broadcast  ceil(log2 P) messages of N words (the root's), one after the other
//   reduce     one message of N words; ceil(log2 P) of them one after the other, and N additions after each. A parent
//              adds its children from the nearest to the farthest, so that the sum is in the order of the ranks
//   allreduce  reduce to rank 0, then broadcast
#include <bit>

#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/from_root.hpp"
#include "patterns/binomial_tree.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

template <class T>
void broadcast(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  patterns::tree_broadcast(transport, call.data);
}

template <class T>
void reduce(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  patterns::tree_reduce(transport, call.data, Received<T>(call.memory, call.problem()).elements);
}

template <class T>
void allreduce(DenseCall<T>& call) {
  reduce(call);
  broadcast(call);
}

// The root sends the most: any other has fewer children.
Cost broadcast_cost(const DenseProblem& problem, const Machine& machine, double) {
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

Cost reduce_cost(const DenseProblem& problem, const Machine& machine, double) {
  if (problem.ranks == 1) return {};
  Cost cost = broadcast_cost(problem, machine, 0);
  cost.flops = static_cast<double>(cost.messages * problem.elements);
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  cost.messages = 1;
  cost.bytes = problem.elements * bytes_of(problem.type);
  return cost;
}

Cost allreduce_cost(const DenseProblem& problem, const Machine& machine, double) {
  const Cost reduce = reduce_cost(problem, machine, 0);
  Cost cost = broadcast_cost(problem, machine, 0);
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
          .cost = allreduce_cost,
          .workspace_bytes = counted<Received>,
          .run = [](auto& call) { allreduce(call); }};
}

DenseAlgorithm broadcast_minimum_spanning_tree() {
  return {.name = "minimum-spanning-tree",
          .summary = "on a binomial tree; fewest steps",
          .source = "Wang et al. 2016, table 1 (MST)",
          .cost = broadcast_cost,
          .run = [](auto& call) { broadcast(call); }};
}

DenseAlgorithm reduce_minimum_spanning_tree() {
  return {.name = "minimum-spanning-tree",
          .summary = "on a binomial tree; fewest steps",
          .source = "Wang et al. 2016, table 1 (MST)",
          .cost = reduce_cost,
          .workspace_bytes = counted<Received>,
          .run = [](auto& call) { reduce(call); }};
}

}  // namespace dsop::dense
