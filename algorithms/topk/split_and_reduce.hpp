// Ok-Topk's first half: everybody gets what all have chosen of its region, and adds it. Li and Hoefler, "Near-Optimal
// Sparse Allreduce for Distributed Deep Learning" (PPoPP 2022), section 3.1.1.
#pragma once

#include "algorithms/sparse/split.hpp"
#include "algorithms/topk/regions.hpp"
#include "algorithms/topk/residual.hpp"

namespace dsop::topk {

using sparse::Region;
using sparse::Room;
using sparse::Stream;

/// Of the two memories in which a region's sum is made by turns, and in one of which the values of all sums find room:
/// all pairs, or all elements where these are fewer bytes. By bf16 a region travels dense from 6 bytes a pair beside 2
/// an element on: it then has three elements for each that was chosen. The sum of a region of one element has a value
/// even where nobody has chosen it.
inline std::size_t reduced_bytes(const TopKPlan& plan) {
  const std::size_t value_bytes = bytes_of(plan.problem.type);
  const std::size_t for_each_chosen =
      plan.problem.wire == Wire::bf16 ? 3 * value_bytes : value_bytes + sizeof(sparse::Index);
  return std::min(plan.total_chosen() * for_each_chosen, plan.problem.elements * value_bytes) +
         plan.chosen.size() * value_bytes;
}

inline std::size_t most_chosen(const TopKPlan& plan) {
  return *std::max_element(plan.chosen.begin(), plan.chosen.end());
}

/// A message to each rank, with all that one has chosen.
inline std::size_t split_messages_bytes(const TopKPlan& plan) {
  constexpr std::size_t header_and_padding_bytes = 48;
  return most_chosen(plan) * (bytes_of(plan.problem.type) + sizeof(sparse::Index)) +
         plan.chosen.size() * header_and_padding_bytes;
}

/// All that a rank has chosen may lie in one region.
inline std::size_t most_part_bytes(const TopKPlan& plan) {
  return sparse::packed_bytes(plan.problem.elements, most_chosen(plan), plan.problem.type, plan.problem.wire);
}

inline std::size_t split_widened(const TopKPlan& plan) {
  return sparse::most_added_at_once(plan.problem.ranks) * most_widened(plan.problem, most_chosen(plan));
}

inline std::size_t split_bytes(const TopKPlan& plan) {
  const int P = plan.problem.ranks;
  return Room::bytes<Stream<double>>(sparse::most_added_at_once(P)) +
         2 * Room::bytes<std::size_t>(plan.chosen.size() + 1) + Room::bytes<std::byte>(split_messages_bytes(plan)) +
         Room::bytes<std::byte>(sparse::slots_bytes(most_part_bytes(plan), P)) +
         Room::bytes<float>(split_widened(plan));
}

/// The sum of this rank's region, in two memories of reduced_bytes(): its own part, then that of the rank above, and so
/// on round the circle, so that its bits depend on ranks alone. Destinations are rotated, so that nobody gets
/// two messages at once; up to eight are under way, and what has come is added while the next travel: the paper's
/// buckets, whose size is what the network gives. Takes split_bytes() of `room`.
template <class T>
sparse::RunningSum<T> split_and_reduce(TopKCall<T>& call, std::span<T> memory, std::span<T> other_memory, Room room) {
  const int P = call.transport.size();
  const auto ranks = static_cast<std::size_t>(P);
  const auto region = [&](int q) { return region_of(call.state, q); };
  const std::size_t size = region(call.transport.rank()).size;
  sparse::SplitMemory<T> messages;
  messages.parts = room.take<Stream<T>>(sparse::most_added_at_once(P));
  messages.sent_bounds = room.take<std::size_t>(ranks + 1);
  messages.received_lengths = room.take<std::size_t>(ranks);
  messages.sent = room.take<std::byte>(split_messages_bytes(call.plan));
  messages.most_part_bytes = most_part_bytes(call.plan);
  messages.received = room.take<std::byte>(sparse::slots_bytes(messages.most_part_bytes, P));
  messages.widened = room.take<T>(split_widened(call.plan));
  sparse::RunningSum<T> sum(size, sparse::most_indices<T>(size), memory, other_memory);
  sparse::split(call.transport, region, call.plan.problem.wire, call.own, messages, sum);
  return sum;
}

}  // namespace dsop::topk
