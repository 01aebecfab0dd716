// Butterfly allreduce (recursive doubling): Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
// Operations in MPICH" (2005), section 4.5.
//
//   For each dimension of the hypercube: exchange the whole vector with the partner across it, and add.
//
// Every rank adds every element itself; both partners add in the order of their ranks, so their bits are the same.
// Cost: log2 P messages of N words and log2 P N additions; one message more where P is no power of two.
#include "algorithms/dense/algorithm.hpp"
#include "kernels/add.hpp"
#include "patterns/fold.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

using patterns::Hypercube;

template <class T>
void run(DenseCall<T>& call) {
  const std::span<T> x = call.data;
  const std::span<T> y = Received<T>(call.memory, call.problem()).elements;
  patterns::fold_to_power_of_two(call.transport, x, y, [&](const Hypercube& cube) {
    for (int distance = 1; distance < cube.corners; distance *= 2) {
      const int partner = cube.rank ^ distance;
      call.transport.sendrecv(x, partner, y, partner);
      if (cube.rank < partner)
        kernels::add<T>(x, x, y);
      else
        kernels::add<T>(x, y, x);
    }
  });
}

Cost cost(const DenseProblem& problem, const Machine& machine, double) {
  const Hypercube cube(0, problem.ranks);
  const std::size_t bytes = problem.elements * bytes_of(problem.type);
  const int fold = cube.has_extra() ? 1 : 0;
  const int d = cube.dimensions();

  Cost cost;
  cost.messages = static_cast<std::size_t>(d + fold);
  cost.bytes = cost.messages * bytes;
  cost.flops = (d + fold) * static_cast<double>(problem.elements);
  const patterns::Network network(machine, problem.group.nodes, problem.ranks);
  for (int distance = 1; distance < cube.corners; distance *= 2)
    cost.communication_seconds += patterns::hypercube_step(network, cube.corners, distance, bytes).seconds();
  cost.communication_seconds += 2 * fold * patterns::fold_step(network, cube.corners, bytes).seconds();
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  return cost;
}

}  // namespace

DenseAlgorithm butterfly() {
  return {.name = "butterfly",
          .summary = "recursive doubling of the whole vector; fewest messages",
          .source = "Thakur, Rabenseifner and Gropp 2005, section 4.5",
          .cost = cost,
          .workspace_bytes = counted<Received>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
