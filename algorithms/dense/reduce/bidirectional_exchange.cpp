// Bidirectional exchange reduce: reduce-scatter, then gather. Wang et al., "Efficient Communications in Training Large
// Scale Neural Networks" (2016), section 3 (BE), as MPI libraries do for long vectors.
//
//   1. Extras' vectors are added to those of their corners of the hypercube; recursive halving leaves corner r the sum
//      of block r.
//   2. Gather on a binomial tree.
//
// Cost at a power of two: log2 P + 1 messages, up to (3/2 - 1/P) N words (the root's partner in the last step of the
// gather sends half of the vector). Time as for 2 (P-1)/P N words, (P-1)/P N additions; otherwise N words and N
// additions more.
#include <algorithm>

#include <dsop/counting.hpp>

#include "dense/algorithm.hpp"
#include "dense/from_root.hpp"
#include "patterns/binomial_tree.hpp"
#include "patterns/hypercube.hpp"

namespace dsop::dense {
namespace {

using patterns::BinomialTree;
using patterns::Blocks;
using patterns::Hypercube;

template <class T>
void run(DenseCall<T>& call) {
  auto transport = from_root(call.transport, call.root);
  const std::span<T> x = call.data;
  const Hypercube cube(transport.rank(), transport.size());
  const Blocks blocks(x.size(), cube.corners);
  if (cube.is_extra()) return transport.send(x, cube.proxy());

  if (cube.has_extra()) {
    transport.recv(call.workspace, cube.extra());
    kernels::add<T>(x, x, call.workspace);
  }
  patterns::recursive_halving(transport, cube.corners, blocks, x, call.workspace);
  patterns::tree_gather(transport, cube.corners, blocks, x);
}

Traffic sent(const DenseProblem& problem, int corner) {
  const int corners = Hypercube(0, problem.ranks).corners;
  const Blocks blocks(problem.elements, corners);
  const BinomialTree tree(corner, corners);
  Traffic sent;
  for (int distance = 1; distance < corners; distance *= 2) {
    const int partner = corner ^ distance;
    sent = sent + Traffic{1, blocks.size(partner & ~(distance - 1), distance) * bytes_of(problem.type)};
  }
  if (tree.is_root()) return sent;
  return sent + Traffic{1, blocks.size(corner, tree.reach) * bytes_of(problem.type)};
}

Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  const Hypercube root(0, problem.ranks);
  const Blocks blocks(problem.elements, root.corners);
  const std::size_t bytes = problem.elements * bytes_of(problem.type);
  const int folds = root.has_extra() ? 1 : 0;
  Cost cost;
  for (int corner = 0; corner < root.corners; ++corner) cost.raise_to(sent(problem, corner));
  if (root.has_extra()) cost.raise_to({1, bytes});
  for (int distance = 1; distance < root.corners; distance *= 2) {
    const std::size_t largest_bytes = blocks.size(0, distance) * bytes_of(problem.type);
    cost.communication_seconds += machine.exchange_seconds(largest_bytes) + machine.message_seconds(largest_bytes);
  }
  cost.communication_seconds += folds * machine.message_seconds(bytes);
  cost.flops = static_cast<double>(problem.elements) * ((root.corners - 1.0) / root.corners + folds);
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  return cost;
}

}  // namespace

DenseAlgorithm reduce_bidirectional_exchange() {
  return {.name = "bidirectional-exchange",
          .summary = "reduce-scatter by recursive halving, then gather on a binomial tree",
          .source = "Wang et al. 2016, table 1 (BE)",
          .cost = cost,
          .workspace_elements = [](const DenseProblem& problem, double) { return problem.elements; },
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::dense
