// Bidirectional exchange, as MPI libraries do for long vectors: Wang et al., "Efficient Communications in Training
// Large Scale Neural Networks" (2016), section 3 (BE). That of an allreduce is Rabenseifner's (rabenseifner.cpp).
//
//   broadcast  1. Scatter on a binomial tree: corner r of the hypercube gets block r.
//              2. Allgather by recursive doubling; then corners pass the vector on to their extras.
//   reduce     1. Extras' vectors are added to those of their corners; recursive halving leaves corner r the sum of
//                 block r.
//              2. Gather on a binomial tree.
//
// Cost at a power of two, of a broadcast: 2 log2 P messages, 2 (P-1)/P N words; otherwise one message of N words more.
// Of a reduce: log2 P + 1 messages, up to (3/2 - 1/P) N words (the root's partner in the last step of the gather sends
// half of the vector). Time as for 2 (P-1)/P N words, (P-1)/P N additions; otherwise N words and N additions more.
#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/from_root.hpp"
#include "algorithms/dense/halving_cost.hpp"
#include "patterns/binomial_tree.hpp"
#include "patterns/hypercube.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

using patterns::BinomialTree;
using patterns::Blocks;
using patterns::Hypercube;

template <class T>
void broadcast(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  const Hypercube cube(transport.rank(), transport.size());
  const Blocks blocks(call.data.size(), cube.corners);
  if (cube.is_extra()) {
    transport.recv(call.data, cube.proxy());
    return;
  }

  patterns::tree_scatter(transport, cube.corners, blocks, call.data);
  patterns::recursive_doubling(transport, cube.corners, blocks, call.data);
  if (cube.has_extra()) transport.send(call.data, cube.extra());
}

// The root sends the most: half of the vector, a quarter, ... and in the doubling the same again.
Cost broadcast_cost(const DenseProblem& problem, const Machine& machine, double) {
  const Hypercube root(0, problem.ranks);
  const Blocks blocks(problem.elements, root.corners);
  const auto bytes_of_blocks = [&](int first, int count) { return blocks.size(first, count) * bytes_of(problem.type); };
  const patterns::Network network = network_from_root(problem, machine);
  Cost cost;
  for (int distance = 1; distance < root.corners; distance *= 2) {
    cost.messages += 2;
    cost.bytes += bytes_of_blocks(distance, distance) + bytes_of_blocks(0, distance);
    cost.communication_seconds +=
        patterns::tree_step(network, root.corners, distance, bytes_of_blocks(distance, distance)).seconds() +
        patterns::hypercube_step(network, root.corners, distance, bytes_of_blocks(0, distance)).seconds();
  }
  if (!root.has_extra()) return cost;
  const std::size_t bytes = problem.elements * bytes_of(problem.type);
  cost.messages += 1;
  cost.bytes += bytes;
  cost.communication_seconds += patterns::fold_step(network, root.corners, bytes).seconds();
  return cost;
}

template <class T>
void reduce(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  const std::span<T> x = call.data;
  const std::span<T> y = Received<T>(call.memory, call.problem()).elements;
  const Hypercube cube(transport.rank(), transport.size());
  const Blocks blocks(x.size(), cube.corners);
  if (cube.is_extra()) return transport.send(x, cube.proxy());

  if (cube.has_extra()) {
    transport.recv(y, cube.extra());
    kernels::add<T>(x, x, y);
  }
  patterns::recursive_halving(transport, cube.corners, blocks, x, y);
  patterns::tree_gather(transport, cube.corners, blocks, x);
}

// By a corner, in both steps. The root's partner in the first of the halving sends no less than an extra, all of x.
Traffic sent(const HalvingCost& halving, int corner) {
  const BinomialTree tree(corner, halving.corners);
  if (tree.is_root()) return halving.sent(corner);
  return halving.sent(corner) + Traffic{1, halving.blocks.size(corner, tree.reach) * halving.element_bytes};
}

Cost reduce_cost(const DenseProblem& problem, const Machine& machine, double) {
  const Hypercube root(0, problem.ranks);
  const Blocks blocks(problem.elements, root.corners);
  const HalvingCost halving{blocks, root.corners, bytes_of(problem.type)};
  const std::size_t bytes = problem.elements * bytes_of(problem.type);
  const int folds = root.has_extra() ? 1 : 0;
  const patterns::Network network = network_from_root(problem, machine);
  Cost cost;
  for (int corner = 0; corner < root.corners; ++corner) cost.raise_to(sent(halving, corner));
  cost.communication_seconds =
      halving.communication_seconds(network) + folds * patterns::fold_step(network, root.corners, bytes).seconds();
  for (int distance = 1; distance < root.corners; distance *= 2)
    cost.communication_seconds +=
        patterns::tree_step(network, root.corners, distance, blocks.size(0, distance) * bytes_of(problem.type))
            .seconds();
  cost.flops = static_cast<double>(problem.elements) * ((root.corners - 1.0) / root.corners + folds);
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  return cost;
}

}  // namespace

DenseAlgorithm broadcast_bidirectional_exchange() {
  return {.name = "bidirectional-exchange",
          .summary = "scatter on a binomial tree, then allgather by recursive doubling",
          .source = "Wang et al. 2016, table 1 (BE)",
          .cost = broadcast_cost,
          .run = [](auto& call) { broadcast(call); }};
}

DenseAlgorithm reduce_bidirectional_exchange() {
  return {.name = "bidirectional-exchange",
          .summary = "reduce-scatter by recursive halving, then gather on a binomial tree",
          .source = "Wang et al. 2016, table 1 (BE)",
          .cost = reduce_cost,
          .workspace_bytes = counted<Received>,
          .run = [](auto& call) { reduce(call); }};
}

}  // namespace dsop::dense
