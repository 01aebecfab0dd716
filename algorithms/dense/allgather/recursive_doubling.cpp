// Recursive doubling: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH"
// (2005), section 4.1.
//
//   1. An extra sends its block to its corner of the hypercube.
//   2. For each dimension: swap all blocks held, extras' included, with the partner across it.
//   3. An extra gets everything from its corner.
//
// Cost at a power of two: log2 P messages; all bytes but the own block's. Otherwise extras' blocks are second messages,
// and a corner with an extra sends everything once more.
#include <algorithm>

#include "algorithms/dense/allgather/runs.hpp"
#include "patterns/hypercube.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

using patterns::Hypercube;

// What a corner holds once only partners at `distance` and beyond are left.
Runs held(const Hypercube& cube, int corner, int distance) {
  const int first = corner & ~(distance - 1);
  return {Run{first, distance}, Run{cube.corners + first, std::clamp(cube.ranks - cube.corners - first, 0, distance)}};
}

void run(AllgatherCall& call) {
  const Hypercube cube(call.transport.rank(), call.transport.size());
  if (cube.is_extra()) {
    call.transport.send(call.blocks(cube.rank), cube.proxy());
    call.transport.recv(call.data, cube.proxy());
    return;
  }
  if (cube.has_extra()) call.transport.recv(call.blocks(cube.extra()), cube.extra());
  for (int distance = 1; distance < cube.corners; distance *= 2) {
    const int partner = cube.rank ^ distance;
    exchange(call, held(cube, cube.rank, distance), partner, held(cube, partner, distance), partner);
  }
  if (cube.has_extra()) call.transport.send(call.data, cube.extra());
}

Traffic sent(const AllgatherProblem& problem, int rank) {
  const Hypercube cube(rank, problem.ranks());
  if (cube.is_extra()) return {1, problem.bytes(rank)};
  Traffic sent;
  for (int distance = 1; distance < cube.corners; distance *= 2)
    sent = sent + traffic(problem, held(cube, rank, distance));
  if (cube.has_extra()) sent = sent + Traffic{1, problem.total_bytes()};
  return sent;
}

double seconds(const AllgatherProblem& problem, const Machine& machine) {
  const Hypercube cube(0, problem.ranks());
  const patterns::Network network(machine, problem.group.nodes, problem.ranks());
  double seconds = 0;
  for (int distance = 1; distance < cube.corners; distance *= 2) {
    const auto sent_by = [&](int corner) { return traffic(problem, held(cube, corner, distance)); };
    seconds += patterns::hypercube_step(network, cube.corners, distance, sent_by).seconds();
  }
  if (!cube.has_extra()) return seconds;
  return seconds + patterns::fold_step(network, cube.corners, problem.largest_bytes()).seconds() +
         patterns::fold_step(network, cube.corners, problem.total_bytes()).seconds();
}

}  // namespace

AllgatherAlgorithm allgather_recursive_doubling() {
  return {.name = "recursive-doubling",
          .summary = "swapped across each dimension of a hypercube; fewest messages at powers of two",
          .source = "Thakur, Rabenseifner and Gropp 2005, section 4.1",
          .sent = sent,
          .seconds = seconds,
          .run = run};
}

}  // namespace dsop::dense
