// Ring allreduce in segments: the ring of Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations" (2009), section 3, with each block cut into S segments that go round one behind the other.
//
//   2 (P-1) steps, of S messages each: pass segments of a block to the right. In the first P - 1, add what comes from
//   the left to the own segment and pass the sum on; then pass on the finished sums.
//
// S messages are under way in each direction while one segment is added, and elements are made just before they are
// first sent or added to, while others travel: the link is never idle.
// Step s sends block r - s and receives block r - s - 1, also where the sums begin their second round.
// Cost: 2 (P-1) S messages; 2 (P-1)/P N words, any P; (P-1)/P N additions, hidden but for a segment.
#include <algorithm>

#include "algorithms/dense/algorithm.hpp"
#include "base/needed_lead.hpp"
#include "base/segments.hpp"
#include "kernels/add.hpp"
#include "patterns/blocks.hpp"
#include "patterns/ring.hpp"
#include "patterns/segment_messages.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {

DenseAlgorithm ring();

namespace {

using patterns::Blocks;
using patterns::Ring;
using patterns::SegmentMessages;

// Of the segments of a block that are received and not yet added.
template <class T>
struct Memory {
  Memory(Arena& arena, const DenseProblem& problem, double segments)
      : S(static_cast<int>(segments)),
        largest(Blocks(Blocks(problem.elements, problem.ranks).largest(), S).largest()),
        elements(arena.take<T>(largest * static_cast<std::size_t>(S))) {}
  std::span<T> segment(int i, std::size_t size) const {
    return elements.subspan(static_cast<std::size_t>(i) * largest, size);
  }

  int S;
  std::size_t largest;
  std::span<T> elements;
};

template <class T>
void run(DenseCall<T>& call) {
  const Ring ring(call.transport);
  const int r = ring.rank;
  const int P = ring.size;
  const auto S = static_cast<int>(call.parameter);
  const Blocks blocks(call.data.size(), P);
  const Memory<T> memory(call.memory, call.problem(), call.parameter);
  const auto segment = [&](int b, int i) {
    const std::span<T> block = blocks.of(call.data, ring.wrap(b));
    return Blocks(block.size(), S).of(block, i);
  };
  const auto received = [&](int b, int i) { return memory.segment(i, segment(b, i).size()); };
  SegmentMessages messages(call.transport);
  const auto send = [&](int s, int i) { messages.send(i, segment(r - s, i), ring.right()); };
  const auto receive = [&](int s, int i) {
    const int b = r - s - 1;
    messages.receive(i, s < P - 1 ? received(b, i) : segment(b, i), ring.left());
  };

  const int steps = 2 * (P - 1);
  for (int i = 0; i < S && steps > 0; ++i) receive(0, i);
  for (int i = 0; i < S; ++i) {
    call.make(segment(r, i));
    if (steps > 0) send(0, i);
  }
  for (int s = 0; s < steps; ++s)
    for (int i = 0; i < S; ++i) {
      const std::span<T> x = segment(r - s - 1, i);
      if (s < P - 1) call.make(x);
      messages.wait_received(i);
      if (s < P - 1) kernels::add<T>(x, received(r - s - 1, i), x);
      messages.wait_sent(i);
      if (s + 1 == steps) continue;
      receive(s + 1, i);
      send(s + 1, i);
    }
}

// A step lasts until the link has carried a block, or until a segment that was received is sent on and has arrived.
// What hides behind the segments before is a message's latency, not the processor's overhead.
Cost cost(const DenseProblem& problem, const Machine& machine, double segments) {
  if (problem.ranks == 1) return {};
  const std::size_t block_bytes = Blocks(problem.elements, problem.ranks).largest() * bytes_of(problem.type);
  const auto S = static_cast<std::size_t>(segments);
  const patterns::Network network(machine, problem.group.nodes, problem.ranks);
  const double link_seconds = patterns::ring_step(network, block_bytes, S).seconds_but_latency();
  const double hop_seconds = patterns::ring_step(network, block_bytes / S).seconds();

  Cost cost = ring().cost(problem, machine, 0);
  cost.messages *= S;
  cost.communication_seconds =
      patterns::ring_step(network, 0).seconds() + 2 * (problem.ranks - 1) * std::max(link_seconds, hop_seconds);
  cost.hide(1 - 1 / segments, cost.arithmetic_seconds, machine);
  return cost;
}

std::vector<double> values(const DenseProblem& problem) {
  return segment_counts(Blocks(problem.elements, problem.ranks).largest() * bytes_of(problem.type));
}

}  // namespace

DenseAlgorithm ring_pipelined() {
  return {.name = "ring-pipelined",
          .summary = "the ring in segments: one is added while others travel",
          .source = "after Patarasuk and Yuan 2009, section 3",
          .asks_for_elements = true,
          .needed_lead = lead_of_pieces,
          .parameter = {.name = "number of segments of a block",
                        .values = values,
                        .expected = expected_segments<most_segments>},
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
