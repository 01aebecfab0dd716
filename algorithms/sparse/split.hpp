// The step with which several algorithms begin: the vector's regions are shared out among ranks, and everybody gets
// what the others hold of its own.
#pragma once

#include <numeric>

#include "patterns/all_to_all.hpp"
#include "sparse/running_sum.hpp"
#include "sparse/split_cost.hpp"

namespace dsop::sparse {

inline Region region_of(const Blocks& blocks, int rank) {
  return {blocks.offset(rank), blocks.size(rank)};
}

/// What a split works in: room for a part, and one bound more, of each rank, and for all that is sent and received.
template <class T>
struct SplitMemory {
  std::span<Stream<T>> parts;
  std::span<std::size_t> sent_bounds;
  std::span<std::size_t> received_bounds;
  std::span<std::byte> sent;
  std::span<std::byte> received;
  std::span<T> widened = {};  ///< for values that travel as bf16
};

/// Adds what all ranks of `transport` hold of this rank's region, region(rank), to `sum`: in the order of ranks from
/// this one on and round, in which it comes, the first while later ones travel.
template <class T, class RegionOfRank>
void split(Transport& transport, const RegionOfRank& region, Wire wire, const Stream<T>& own, SplitMemory<T> memory,
           RunningSum<T>& sum) {
  const int P = transport.size();
  const int r = transport.rank();
  const std::span<std::size_t> sent_bounds = memory.sent_bounds;
  const std::span<std::size_t> received_bounds = memory.received_bounds;

  sent_bounds[0] = received_bounds[0] = 0;
  const auto length = [](std::span<std::size_t> bounds, int q) {
    return bounds.subspan(static_cast<std::size_t>(q) + 1, 1);
  };
  for (int q = 0; q < P; ++q) length(sent_bounds, q)[0] = packed_bytes(own, region(q), wire);
  length(received_bounds, r)[0] = length(sent_bounds, r)[0];
  patterns::staggered_all_to_all(
      transport, [&](int q) { return length(sent_bounds, q); }, [&](int q) { return length(received_bounds, q); });
  std::partial_sum(sent_bounds.begin(), sent_bounds.end(), sent_bounds.begin());
  std::partial_sum(received_bounds.begin(), received_bounds.end(), received_bounds.begin());
  if (received_bounds.back() > memory.received.size()) refuse_length(received_bounds.back(), memory.received.size());

  const auto message = [](std::span<std::byte> all, std::span<const std::size_t> bounds, int q) {
    const std::size_t first = bounds[static_cast<std::size_t>(q)];
    return all.subspan(first, bounds[static_cast<std::size_t>(q) + 1] - first);
  };
  const auto add = [&](int first, int last) {  // of ranks first .. last - 1 places up the line
    for (int s = first; s < last; ++s)
      memory.parts[static_cast<std::size_t>(s)] =
          unpack<T>(message(memory.received, received_bounds, (r + s) % P), region(r), wire, memory.widened);
    sum.add(memory.parts.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
  };
  pack(own, region(r), message(memory.received, received_bounds, r), wire);
  patterns::staggered_all_to_all(
      transport, [&](int q) { return pack(own, region(q), message(memory.sent, sent_bounds, q), wire); },
      [&](int q) { return message(memory.received, received_bounds, q); },
      [&](int first, int last) { add(first == 1 ? 0 : first, last); });
}

/// The same with regions of N/P elements; `transport` has some or all of the problem's ranks, and none holds more than
/// `most_held` elements. Takes split_bytes() of `room`.
template <class T>
void split(Transport& transport, const SparseProblem& problem, std::size_t most_held, const Stream<T>& own, Room room,
           RunningSum<T>& sum) {
  const int P = transport.size();
  const Blocks blocks(problem.elements, P);
  const auto ranks = static_cast<std::size_t>(P);
  SplitMemory<T> memory;
  memory.parts = room.take<Stream<T>>(ranks);
  memory.sent_bounds = room.take<std::size_t>(ranks + 1);
  memory.received_bounds = room.take<std::size_t>(ranks + 1);
  memory.sent = room.take<std::byte>(most_sent_bytes(problem, P, most_held));
  memory.received = room.take<std::byte>(most_received_bytes(problem, P, most_held));
  memory.widened = room.take<T>(most_widened(problem, P, most_held));
  split(
      transport, [&](int q) { return region_of(blocks, q); }, problem.wire, own, memory, sum);
}

}  // namespace dsop::sparse
