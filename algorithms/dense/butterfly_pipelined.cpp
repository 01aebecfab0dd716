// Butterfly allreduce in segments: the recursive doubling of Thakur, Rabenseifner and Gropp, "Optimization of
// Collective Communication Operations in MPICH" (2005), section 4.5, with the vector cut into S segments.
//
//   For each dimension of the hypercube, for each segment: add what came from the partner across it, and send the sum
//   to the partner across the next dimension, while later segments still travel in this one.
//
// Elements are made just before they are first sent or added to. Every rank adds every element itself; both partners
// add in the order of their ranks, so their bits are the same.
// Cost: S log2 P messages, log2 P N words and log2 P N additions, hidden but for a segment; S messages and N words more
// where P is no power of two.
#include <algorithm>

#include "algorithms/dense/algorithm.hpp"
#include "base/needed_lead.hpp"
#include "base/segments.hpp"
#include "kernels/add.hpp"
#include "patterns/blocks.hpp"
#include "patterns/hypercube.hpp"
#include "patterns/segment_messages.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {

DenseAlgorithm butterfly();

namespace {

using patterns::Blocks;
using patterns::Hypercube;
using patterns::SegmentMessages;

template <class T>
void run(DenseCall<T>& call) {
  const Hypercube cube(call.transport.rank(), call.transport.size());
  const auto S = static_cast<int>(call.parameter);
  const Blocks segments(call.data.size(), S);
  const auto x = [&](int i) { return segments.of(call.data, i); };
  const Received<T> received(call.memory, call.problem());
  const auto y = [&](int i) { return segments.of(received.elements, i); };
  SegmentMessages messages(call.transport);

  if (cube.is_extra()) {
    for (int i = 0; i < S; ++i) {
      call.make(x(i));
      messages.send(i, x(i), cube.proxy());
    }
    for (int i = 0; i < S; ++i) {
      messages.wait_sent(i);
      messages.receive(i, x(i), cube.proxy());
    }
    for (int i = 0; i < S; ++i) messages.wait_received(i);
    return;
  }
  const auto swap_across = [&](int distance, int i) {
    if (distance < cube.corners) {
      messages.receive(i, y(i), cube.rank ^ distance);
      messages.send(i, x(i), cube.rank ^ distance);
    } else if (cube.has_extra()) {
      messages.send(i, x(i), cube.extra());
    }
  };
  for (int i = 0; i < S && cube.has_extra(); ++i) messages.receive(i, y(i), cube.extra());
  for (int i = 0; i < S; ++i) {
    call.make(x(i));
    messages.wait_received(i);
    if (cube.has_extra()) kernels::add<T>(x(i), x(i), y(i));
    swap_across(1, i);
  }
  for (int distance = 1; distance < cube.corners; distance *= 2)
    for (int i = 0; i < S; ++i) {
      messages.wait_received(i);
      messages.wait_sent(i);  // the sum takes the place of what is sent
      if (cube.rank < (cube.rank ^ distance))
        kernels::add<T>(x(i), x(i), y(i));
      else
        kernels::add<T>(x(i), y(i), x(i));
      swap_across(2 * distance, i);
    }
  for (int i = 0; i < S; ++i) messages.wait_sent(i);
}

// As for the ring in segments, a dimension lasts as long as the link carries the vector, or a segment and its way.
Cost cost(const DenseProblem& problem, const Machine& machine, double segments) {
  if (problem.ranks == 1) return {};
  const Hypercube cube(0, problem.ranks);
  const std::size_t bytes = problem.elements * bytes_of(problem.type);
  const auto S = static_cast<std::size_t>(segments);
  const patterns::Network network(machine, problem.group.nodes, problem.ranks);
  const auto across = [&](int distance, std::size_t step_bytes, std::size_t messages) {
    return patterns::hypercube_step(network, cube.corners, distance, step_bytes, messages);
  };
  const auto to_corners = [&](std::size_t step_bytes, std::size_t messages) {
    return patterns::fold_step(network, cube.corners, step_bytes, messages, patterns::Partners::others);
  };

  Cost cost = butterfly().cost(problem, machine, 0);
  cost.messages *= S;
  cost.communication_seconds = patterns::ring_step(network, 0).seconds();
  for (int distance = 1; distance < cube.corners; distance *= 2)
    cost.communication_seconds +=
        std::max(across(distance, bytes, S).seconds_but_latency(), across(distance, bytes / S, 1).seconds());
  cost.communication_seconds += (cube.has_extra() ? 2 : 0) * std::max(to_corners(bytes, S).seconds_but_latency(),
                                                                      to_corners(bytes / S, 1).seconds());
  cost.hide(1 - 1 / segments, cost.arithmetic_seconds, machine);
  return cost;
}

std::vector<double> values(const DenseProblem& problem) {
  return segment_counts(problem.elements * bytes_of(problem.type));
}

}  // namespace

DenseAlgorithm butterfly_pipelined() {
  return {.name = "butterfly-pipelined",
          .summary = "the butterfly in segments: one is added while others travel",
          .source = "after Thakur, Rabenseifner and Gropp 2005, section 4.5",
          .asks_for_elements = true,
          .needed_lead = lead_of_pieces,
          .parameter = {.name = "number of segments of the vector",
                        .values = values,
                        .expected = expected_segments<most_segments>},
          .cost = cost,
          .workspace_bytes = counted<Received>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::dense
