// Rabenseifner's allreduce: Rabenseifner, "Optimization of Collective Reduction Operations" (2004), section 4.
//
//   1. Reduce-scatter by recursive halving: partners at distance P/2, P/4, ..., 1 swap the halves of what they still
//      hold and add; corner r of the hypercube ends with block r.
//   2. Allgather by recursive doubling: the same way back.
//
// Cost at a power of two: 2 log2 P messages; 2 (P-1)/P N words; (P-1)/P N additions. Otherwise one message of N words,
// N additions and a wait for the result more.
#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/halving_cost.hpp"
#include "patterns/blocks.hpp"
#include "patterns/fold.hpp"
#include "patterns/recursive_halving.hpp"

namespace dsop::dense {
namespace {

using patterns::Blocks;
using patterns::Hypercube;

template <class T>
void run(DenseCall<T>& call) {
  const std::span<T> x = call.data;
  const std::span<T> y = Received<T>(call.memory, call.problem()).elements;
  patterns::fold_to_power_of_two(call.transport, x, y, [&](const Hypercube& cube) {
    const Blocks blocks(x.size(), cube.corners);
    patterns::recursive_halving(call.transport, cube.corners, blocks, x, y);
    patterns::recursive_doubling(call.transport, cube.corners, blocks, x);
  });
}

Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  const std::size_t N = problem.elements;
  const int corners = Hypercube(0, problem.ranks).corners;
  const Blocks blocks(N, corners);

  const HalvingCost halving{blocks, corners, bytes_of(problem.type)};
  const patterns::Network network(machine, problem.group.nodes, problem.ranks);

  Cost cost;
  for (int rank = 0; rank < corners; ++rank) {
    Traffic sent = halving.sent(rank);
    if (Hypercube(rank, problem.ranks).has_extra()) sent = sent + Traffic{1, N * bytes_of(problem.type)};
    for (int distance = 1; distance < corners; distance *= 2)  // then doubling
      sent = sent + Traffic{1, blocks.size(rank & ~(distance - 1), distance) * bytes_of(problem.type)};
    cost.raise_to(sent);
  }
  const bool folds = corners < problem.ranks;
  cost.flops = static_cast<double>(N) * ((corners - 1.0) / corners + (folds ? 1 : 0));
  cost.communication_seconds = 2 * halving.communication_seconds(network);
  if (folds)
    cost.communication_seconds += 2 * patterns::fold_step(network, corners, N * bytes_of(problem.type)).seconds();
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  return cost;
}

}  // namespace

DenseAlgorithm rabenseifner() {
  return {.name = "rabenseifner",
          .summary = "recursive halving, then recursive doubling; least volume at powers of two",
          .source = "Rabenseifner 2004, section 4",
          .other_name = "bidirectional-exchange",  // Wang et al. 2016, table 1 (BE)
          .cost = cost,
          .workspace_bytes = counted<Received>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
