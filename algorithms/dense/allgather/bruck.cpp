// Bruck's allgather: Bruck et al., "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing
// Systems" (1997), section 4.
//
//   After round j rank r has blocks r .. r + 2^(j+1) - 1, round the circle of P: it sends what it has to r - 2^j and
//   gets as much from r + 2^j; the last round moves what is left.
//
// Blocks stay where they belong, so nothing is moved at the end, and what is sent is two messages where it goes past
// the last block. Cost: ceil(log2 P) rounds of one or two messages.
#include <algorithm>
#include <bit>

#include "algorithms/dense/allgather/runs.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {
namespace {

int rounds(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

int blocks_in_round(int j, int ranks) {
  return std::min(1 << j, ranks - (1 << j));
}

void run(AllgatherCall& call) {
  const int P = call.transport.size();
  const int r = call.transport.rank();
  for (int j = 0; j < rounds(P); ++j) {
    const int count = blocks_in_round(j, P);
    const int to = (r - (1 << j) + P) % P;
    const int from = (r + (1 << j)) % P;
    exchange(call, runs_of_circle(r, count, P), to, runs_of_circle(from, count, P), from);
  }
}

Traffic sent(const AllgatherProblem& problem, int rank) {
  const int P = problem.ranks();
  Traffic sent;
  for (int j = 0; j < rounds(P); ++j) sent = sent + traffic(problem, runs_of_circle(rank, blocks_in_round(j, P), P));
  return sent;
}

double seconds(const AllgatherProblem& problem, const Machine& machine) {
  const int P = problem.ranks();
  const patterns::Network network(machine, problem.group.nodes, P);
  double seconds = 0;
  for (int j = 0; j < rounds(P); ++j) {
    const auto sent_by = [&](int r) { return traffic(problem, runs_of_circle(r, blocks_in_round(j, P), P)); };
    seconds += patterns::shift_step(network, 1 << j, patterns::Partners::others, sent_by).seconds();
  }
  return seconds;
}

}  // namespace

AllgatherAlgorithm allgather_bruck() {
  return {.name = "bruck",
          .summary = "in ceil(log2 P) rounds that double what each has, any P",
          .source = "Bruck et al. 1997, section 4",
          .sent = sent,
          .seconds = seconds,
          .run = run};
}

}  // namespace dsop::dense
