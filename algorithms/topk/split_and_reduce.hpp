// Ok-Topk's first half: everybody gets what all have chosen of its region, and adds it. Li and Hoefler, "Near-Optimal
// Sparse Allreduce for Distributed Deep Learning" (PPoPP 2022), section 3.1.1.
#pragma once

#include "sparse/split.hpp"
#include "topk/regions.hpp"

namespace dsop::topk {

using sparse::Region;
using sparse::Room;
using sparse::Stream;

/// Of the two memories in which a region's sum is made by turns, and of the values of all sums: all pairs, or all
/// elements where these are fewer bytes. The sum of a region of one element has a value even where nobody has chosen
/// it.
inline std::size_t reduced_bytes(const TopKPlan& plan) {
  const std::size_t value_bytes = bytes_of(plan.problem.type);
  return std::min(plan.total_chosen() * (value_bytes + sizeof(sparse::Index)), plan.problem.elements * value_bytes) +
         plan.chosen.size() * value_bytes;
}

/// Messages with `chosen` elements, in one region or in many.
inline std::size_t split_messages_bytes(const TopKPlan& plan, std::size_t chosen) {
  constexpr std::size_t header_and_padding_bytes = 40;
  return chosen * (bytes_of(plan.problem.type) + sizeof(sparse::Index)) + plan.chosen.size() * header_and_padding_bytes;
}

inline std::size_t most_chosen(const TopKPlan& plan) {
  return *std::max_element(plan.chosen.begin(), plan.chosen.end());
}

inline std::size_t split_bytes(const TopKPlan& plan) {
  return Room::bytes<Stream<double>>(plan.chosen.size()) + 2 * Room::bytes<std::size_t>(plan.chosen.size() + 1) +
         Room::bytes<std::byte>(split_messages_bytes(plan, most_chosen(plan))) +
         Room::bytes<std::byte>(split_messages_bytes(plan, plan.total_chosen()));
}

/// The sum of this rank's region, in one of two memories of reduced_bytes(): its own part, then that of the rank above,
/// and so on round the circle, so that its bits depend on ranks alone. Destinations are rotated, so that nobody gets
/// two messages at once; up to eight are under way, and what has come is added while the next travel: the paper's
/// buckets, whose size is what the network gives. Takes split_bytes() of `room`.
template <class T>
Stream<T> split_and_reduce(TopKCall<T>& call, std::span<T> memory, std::span<T> other_memory, Room room) {
  const std::size_t ranks = call.plan.chosen.size();
  const auto region = [&](int q) { return region_of(call.state, q); };
  const std::size_t size = region(call.transport.rank()).size;
  sparse::SplitMemory<T> messages;
  messages.parts = room.take<Stream<T>>(ranks);
  messages.sent_bounds = room.take<std::size_t>(ranks + 1);
  messages.received_bounds = room.take<std::size_t>(ranks + 1);
  messages.sent = room.take<std::byte>(split_messages_bytes(call.plan, most_chosen(call.plan)));
  messages.received = room.take<std::byte>(split_messages_bytes(call.plan, call.plan.total_chosen()));
  sparse::RunningSum<T> sum(size, sparse::most_indices<T>(size), memory, other_memory);
  sparse::split(call.transport, region, Wire::full, call.own, messages, sum);
  return sum.sum();
}

}  // namespace dsop::topk
