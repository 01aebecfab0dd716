// Ok-Topk's first half: everybody gets what all have chosen of its region, and adds it. Li and Hoefler, "Near-Optimal
// Sparse Allreduce for Distributed Deep Learning" (PPoPP 2022), section 3.1.1.
#pragma once

#include <array>
#include <numeric>
#include <utility>

#include "patterns/all_to_all.hpp"
#include "sparse/expected.hpp"
#include "sparse/room.hpp"
#include "sparse/unknown_length.hpp"
#include "topk/regions.hpp"

namespace dsop::topk {

using sparse::Region;
using sparse::Room;
using sparse::Stream;

/// Of the two memories in which a region's sum is made by turns.
inline std::size_t reduced_bytes(const TopKPlan& plan) {
  return plan.total_chosen() * (bytes_of(plan.problem.type) + sizeof(sparse::Index)) + bytes_of(plan.problem.type);
}

/// Messages with `chosen` elements, in one region or in many.
inline std::size_t split_messages_bytes(const TopKPlan& plan, std::size_t chosen) {
  constexpr std::size_t header_and_padding_bytes = 40;
  return chosen * (bytes_of(plan.problem.type) + sizeof(sparse::Index)) + plan.chosen.size() * header_and_padding_bytes;
}

inline std::size_t split_bytes(const TopKPlan& plan) {
  const std::size_t most_chosen = *std::max_element(plan.chosen.begin(), plan.chosen.end());
  return 2 * Room::bytes<std::size_t>(plan.chosen.size() + 1) +
         Room::bytes<std::byte>(split_messages_bytes(plan, most_chosen)) +
         Room::bytes<std::byte>(split_messages_bytes(plan, plan.total_chosen()));
}

/// The messages of one rank. In step s it sends to the rank s places up the circle and receives from the one s places
/// down, so that nobody gets two at once; step 0 is what it has of its own region.
template <class T>
class SplitMessages {
 public:
  /// Takes split_bytes() of `room`. Tells every rank the length of its message.
  SplitMessages(TopKCall<T>& call, Room room)
      : call_(call), P_(call.transport.size()), r_(call.transport.rank()), mine_(region_of(call.state, r_)) {
    const std::size_t most_chosen = *std::max_element(call.plan.chosen.begin(), call.plan.chosen.end());
    sent_bounds_ = room.take<std::size_t>(call.plan.chosen.size() + 1);
    received_bounds_ = room.take<std::size_t>(call.plan.chosen.size() + 1);
    sent_ = room.take<std::byte>(split_messages_bytes(call.plan, most_chosen));
    received_ = room.take<std::byte>(split_messages_bytes(call.plan, call.plan.total_chosen()));

    const auto length = [](std::span<std::size_t> bounds, int step) {
      return bounds.subspan(static_cast<std::size_t>(step) + 1, 1);
    };
    sent_bounds_[0] = received_bounds_[0] = 0;
    for (int s = 0; s < P_; ++s)
      length(sent_bounds_, s)[0] = sparse::packed_bytes(call.own, region_of(call.state, to(s)));
    length(received_bounds_, 0)[0] = length(sent_bounds_, 0)[0];
    patterns::staggered_all_to_all(
        call.transport, [&](int q) { return length(sent_bounds_, (q - r_ + P_) % P_); },
        [&](int q) { return length(received_bounds_, (r_ - q + P_) % P_); });
    std::partial_sum(sent_bounds_.begin(), sent_bounds_.end(), sent_bounds_.begin());
    std::partial_sum(received_bounds_.begin(), received_bounds_.end(), received_bounds_.begin());
    if (received_bounds_.back() > received_.size()) sparse::refuse_length(received_bounds_.back(), received_.size());
    sparse::pack(call.own, mine_, received(0));
  }

  Request send(int s) {
    return call_.transport.isend(sparse::pack(call_.own, region_of(call_.state, to(s)), piece(sent_, sent_bounds_, s)),
                                 to(s));
  }
  Request receive(int s) { return call_.transport.irecv(received(s), (r_ - s + P_) % P_); }
  /// What came in step s.
  Stream<T> part(int s) const { return sparse::unpack<T>(received(s), mine_); }

 private:
  int to(int s) const { return (r_ + s) % P_; }
  std::span<std::byte> received(int s) const { return piece(received_, received_bounds_, s); }
  static std::span<std::byte> piece(std::span<std::byte> all, std::span<const std::size_t> bounds, int s) {
    const std::size_t first = bounds[static_cast<std::size_t>(s)];
    return all.subspan(first, bounds[static_cast<std::size_t>(s) + 1] - first);
  }

  TopKCall<T>& call_;
  int P_;
  int r_;
  Region mine_;
  std::span<std::size_t> sent_bounds_;
  std::span<std::size_t> received_bounds_;
  std::span<std::byte> sent_;
  std::span<std::byte> received_;
};

/// The sum of this rank's region, in one of two memories of reduced_bytes(): its own part, then that of the rank below,
/// and so on round the circle, so that its bits depend on ranks alone. Messages go in buckets; one is added while the
/// next travels. Takes split_bytes() of `room`.
template <class T>
Stream<T> split_and_reduce(TopKCall<T>& call, std::span<T> memory, std::span<T> other_memory, Room room) {
  constexpr int bucket = 4;
  const int P = call.transport.size();
  SplitMessages<T> messages(call, room);
  std::array<std::array<Request, bucket>, 2> sends;
  std::array<std::array<Request, bucket>, 2> receives;
  const auto request = [](auto& requests, int s) -> Request& {
    return requests[static_cast<std::size_t>((s - 1) / bucket % 2)][static_cast<std::size_t>((s - 1) % bucket)];
  };
  const auto start = [&](int first) {
    for (int s = first; s < std::min(first + bucket, P); ++s) {
      request(receives, s) = messages.receive(s);
      call.transport.wait(request(sends, s));
      request(sends, s) = messages.send(s);
    }
  };

  start(1);
  Stream<T> reduced = messages.part(0);
  for (int first = 1; first < P; first += bucket) {
    start(first + bucket);
    std::array<Stream<T>, bucket + 1> parts{reduced};
    std::size_t count = 1;
    for (int s = first; s < std::min(first + bucket, P); ++s) {
      call.transport.wait(request(receives, s));
      parts[count++] = messages.part(s);
    }
    reduced = sparse::sum_all(std::span(parts).first(count), memory);
    std::swap(memory, other_memory);
  }
  for (auto& bucket_sends : sends)
    for (Request& send : bucket_sends) call.transport.wait(send);
  return reduced;
}

}  // namespace dsop::topk
