// What a round of an allgather moves: runs of consecutive blocks, each one message.
#pragma once

#include <algorithm>
#include <array>

#include "algorithms/dense/allgather.hpp"

namespace dsop::dense {

/// Blocks first .. first + count - 1.
struct Run {
  int first = 0;
  int count = 0;
};

/// A run of no blocks is no message.
using Runs = std::array<Run, 2>;

/// Blocks first .. first + count - 1 of a circle of `ranks`: two runs where they go past the last.
inline Runs runs_of_circle(int first, int count, int ranks) {
  const int to_the_end = std::min(count, ranks - first);
  return {Run{first, to_the_end}, Run{0, count - to_the_end}};
}

inline Traffic traffic(const AllgatherProblem& problem, const Runs& runs) {
  Traffic traffic;
  for (const Run& run : runs)
    if (run.count > 0) traffic = traffic + Traffic{1, problem.bytes(run.first, run.count)};
  return traffic;
}

/// One round: sends `out` while receiving `in`.
inline void exchange(AllgatherCall& call, const Runs& out, int to, const Runs& in, int from) {
  std::array<Request, 2> receives;
  std::array<Request, 2> sends;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].count > 0) receives[i] = call.transport.irecv(call.blocks(in[i].first, in[i].count), from);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].count > 0) sends[i] = call.transport.isend(call.blocks(out[i].first, out[i].count), to);
  for (Request& receive : receives) call.transport.wait(receive);
  for (Request& send : sends) call.transport.wait(send);
}

}  // namespace dsop::dense
