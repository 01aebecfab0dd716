// Ring allgather. Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009),
// section 3.
//
//   P - 1 steps: pass to the right what came from the left in the step before, the own block first.
//
// Cost: P - 1 messages; all bytes but the right neighbour's.
#include "patterns/ring.hpp"
#include "algorithms/dense/allgather.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

void run(AllgatherCall& call) {
  patterns::ring_allgather(call.transport, call.transport.rank(), [&](int b) { return call.blocks(b); });
}

Traffic sent(const AllgatherProblem& problem, int rank) {
  const int P = problem.ranks();
  if (P == 1) return {};
  return {static_cast<std::size_t>(P - 1), problem.total_bytes() - problem.bytes((rank + 1) % P)};
}

// A step lasts as long as its largest block, which goes round from step to step.
double seconds(const AllgatherProblem& problem, const Machine& machine) {
  const patterns::Network network(machine, problem.group.nodes, problem.ranks());
  return (problem.ranks() - 1) * patterns::ring_step(network, problem.largest_bytes()).seconds();
}

}  // namespace

AllgatherAlgorithm allgather_ring() {
  return {.name = "ring",
          .summary = "round a ring, P - 1 steps",
          .source = "Patarasuk and Yuan 2009, section 3",
          .sent = sent,
          .seconds = seconds,
          .run = run};
}

}  // namespace dsop::dense
