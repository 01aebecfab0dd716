// Bidirectional exchange broadcast: scatter, then allgather. Wang et al., "Efficient Communications in Training Large
// Scale Neural Networks" (2016), section 3 (BE), as MPI libraries do for long vectors.
//
//   1. Scatter on a binomial tree: corner r of the hypercube gets block r.
//   2. Allgather by recursive doubling; then corners pass the vector on to their extras.
//
// Cost at a power of two: 2 log2 P messages, 2 (P-1)/P N words. Otherwise one message of N words more.
#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/from_root.hpp"
#include "patterns/binomial_tree.hpp"
#include "patterns/hypercube.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

using patterns::Blocks;
using patterns::Hypercube;

template <class T>
void run(DenseCall<T>& call) {
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
Cost cost(const DenseProblem& problem, const Machine& machine, double) {
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

}  // namespace

DenseAlgorithm broadcast_bidirectional_exchange() {
  return {.name = "bidirectional-exchange",
          .summary = "scatter on a binomial tree, then allgather by recursive doubling",
          .source = "Wang et al. 2016, table 1 (BE)",
          .cost = cost,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
