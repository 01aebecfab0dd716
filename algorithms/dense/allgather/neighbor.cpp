// Neighbour exchange: Chen, Zhang, Zhang and Yuan, "Performance Evaluation of Allgather Algorithms on Terascale Linux
// Cluster with Fast Ethernet" (2005), section 3.
//
//   1. Ranks 2p and 2p + 1, couple p, swap their blocks.
//   2. P/2 - 1 steps, with the left and the right neighbour by turns: swap the couples of blocks that came last.
//      A rank whose partner is on its left gets couple p - 1, then from the right p + 1, then p - 2, p + 2, ...
//
// Half the ring's messages, and neighbours only; P must be even. Cost: P/2 messages; all bytes but the couple that came
// last, and the own block a second time.
#include <algorithm>

#include "algorithms/dense/allgather/runs.hpp"
#include "patterns/ring.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

using patterns::Ring;

// The couple of blocks that `rank` gets in step s, and sends in step s + 1; s = 0: its own.
Run couple(int rank, int ranks, int s) {
  const bool from_left = (rank + s) % 2 == 1;
  const int distance = (s + 1) / 2;
  const int couples = ranks / 2;
  return {2 * ((rank / 2 + (from_left ? couples - distance : distance)) % couples), 2};
}

void run(AllgatherCall& call) {
  const Ring ring(call.transport);
  const int steps = ring.size / 2;
  const int r = ring.rank;
  for (int s = 0; s < steps; ++s) {
    const int partner = (r + s) % 2 == 1 ? ring.left() : ring.right();
    if (s == 0)
      exchange(call, {Run{r, 1}}, partner, {Run{partner, 1}}, partner);
    else
      exchange(call, {couple(r, ring.size, s - 1)}, partner, {couple(r, ring.size, s)}, partner);
  }
}

std::string unsupported(const AllgatherProblem& problem) {
  const bool is_even = problem.ranks() % 2 == 0;
  return is_even || problem.ranks() == 1 ? "" : "swaps blocks in couples of ranks, and the number of ranks is odd";
}

Traffic sent(const AllgatherProblem& problem, int rank) {
  const int P = problem.ranks();
  if (P == 1) return {};
  const Run came_last = couple(rank, P, P / 2 - 1);
  return {static_cast<std::size_t>(P / 2),
          problem.bytes(rank) + problem.total_bytes() - problem.bytes(came_last.first, came_last.count)};
}

// Every couple of blocks is under way in every step.
double seconds(const AllgatherProblem& problem, const Machine& machine) {
  const int P = problem.ranks();
  if (P == 1) return 0;
  std::size_t largest_couple_bytes = 0;
  for (int r = 0; r < P; r += 2) largest_couple_bytes = std::max(largest_couple_bytes, problem.bytes(r, 2));
  const patterns::Network network(machine, problem.group.nodes, P);
  const int between_couples = P / 4;  // of the steps after the first; the rest are inside couples, as that is
  return patterns::couples_step(network, 0, problem.largest_bytes()).seconds() +
         between_couples * patterns::couples_step(network, 1, largest_couple_bytes).seconds() +
         (P / 2 - 1 - between_couples) * patterns::couples_step(network, 0, largest_couple_bytes).seconds();
}

}  // namespace

AllgatherAlgorithm allgather_neighbor() {
  return {.name = "neighbor",
          .summary = "swapped with the left and right neighbour by turns, P / 2 steps, even P",
          .source = "Chen et al. 2005, section 3",
          .unsupported = unsupported,
          .sent = sent,
          .seconds = seconds,
          .run = run};
}

}  // namespace dsop::dense
