// The steps of each pattern: who sends to whom at the same time, and so what a step costs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "patterns/hypercube.hpp"
#include "patterns/network.hpp"

namespace dsop::patterns {

/// Whose messages a step is told of where `alike` of `ranks` stand for all.
inline Senders senders(int alike, int ranks) {
  return alike < ranks ? Senders::some : Senders::all;
}

/// Every rank sends so much `distance` places down the line of ranks, which is a circle.
inline Step shift_step(const Network& network, int distance, Partners partners, std::size_t bytes,
                       std::size_t messages = 1) {
  const int P = network.ranks();
  const int alike = network.representatives_in_circle();
  Step step(network, partners, senders(alike, P));
  for (int i = 0; i < alike; ++i) {
    const int r = i * network.round_robin_nodes();
    step.send_alone(r, ((r - distance) % P + P) % P, bytes, messages);
  }
  return step;
}

/// The same of traffic_of(rank). Of messages the most that any sends counts for all, and of bytes, where it does not
/// matter who sends to whom.
template <class TrafficOf>
Step shift_step(const Network& network, int distance, Partners partners, const TrafficOf& traffic_of) {
  const int P = network.ranks();
  Traffic most;
  std::size_t least_bytes = traffic_of(0).bytes;
  for (int r = 0; r < P; ++r) {
    const Traffic traffic = traffic_of(r);
    most.raise_to(traffic);
    least_bytes = std::min(least_bytes, traffic.bytes);
  }
  if (least_bytes == most.bytes || network.representatives() == 1)
    return shift_step(network, distance, partners, most.bytes, most.messages);
  Step step(network, partners);
  for (int r = 0; r < P; ++r) step.send_alone(r, ((r - distance) % P + P) % P, traffic_of(r).bytes, most.messages);
  return step;
}

/// Every rank sends so much to the right.
inline Step ring_step(const Network& network, std::size_t bytes, std::size_t messages = 1) {
  return shift_step(network, -1, Partners::same, bytes, messages);
}

/// Seconds of P - 1 steps, in the s-th of which every rank sends so much s places up the circle.
inline double all_shifts_seconds(const Network& network, std::size_t bytes) {
  const auto seconds = [&](int distance) { return shift_step(network, -distance, Partners::same, bytes).seconds(); };
  if (network.representatives() == 1) return (network.ranks() - 1) * seconds(1);
  double sum = 0;
  for (int distance = 1; distance < network.ranks(); ++distance) sum += seconds(distance);
  return sum;
}

/// Seconds of Bruck's allgather of so many bytes of each rank.
inline double bruck_seconds(const Network& network, std::size_t bytes) {
  double seconds = 0;
  for (int have = 1; have < network.ranks(); have *= 2) {
    const auto moved = static_cast<std::size_t>(std::min(have, network.ranks() - have)) * bytes;
    seconds += shift_step(network, have, Partners::others, moved).seconds();
  }
  return seconds;
}

/// How many ranks, from the first, stand for so many of a hypercube or a tree: they do where groups are powers of two
/// too.
inline int representatives_in_line(const Network& network, int ranks) {
  return std::has_single_bit(static_cast<unsigned>(network.representatives()))
             ? std::min(network.representatives(), ranks)
             : ranks;
}

/// Of a hypercube's corners, or its extras, those that stand for all: corners 0, apart, 2 apart ..., so many of them.
/// Each stands for itself and those that follow it at the distance `next`.
struct AlikeCorners {
  int count;
  int apart;
  int next;
};

/// They also do where ranks are dealt by turns to a power of two of nodes.
inline AlikeCorners alike_corners(const Network& network, int corners) {
  const int turns = network.round_robin_nodes();
  if (turns > 1 && std::has_single_bit(static_cast<unsigned>(turns)) && corners % turns == 0)
    return {corners / turns, turns, 1};
  const int count = representatives_in_line(network, corners);
  return {count, 1, count};
}

/// Of the first `corners` ranks, a power of two, each sends traffic_of(corner) to the one across, at `distance`. What
/// one that stands for others sends is the most that any of them does: where they differ, an upper bound.
template <class TrafficOf>
Step hypercube_step(const Network& network, int corners, int distance, const TrafficOf& traffic_of) {
  const AlikeCorners alike = alike_corners(network, corners);
  Step step(network, Partners::others, senders(alike.count, corners));
  for (int i = 0; i < alike.count; ++i) {
    const int corner = i * alike.apart;
    Traffic most;
    for (int j = 0; j < corners / alike.count; ++j) most.raise_to(traffic_of(corner + j * alike.next));
    step.send_alone(corner, corner ^ distance, most.bytes, most.messages);
  }
  return step;
}
inline Step hypercube_step(const Network& network, int corners, int distance, std::size_t bytes,
                           std::size_t messages = 1) {
  const AlikeCorners alike = alike_corners(network, corners);
  Step step(network, Partners::others, senders(alike.count, corners));
  for (int i = 0; i < alike.count; ++i) {
    const int corner = i * alike.apart;
    step.send_alone(corner, corner ^ distance, bytes, messages);
  }
  return step;
}

/// Every extra, of the ranks beyond so many corners, sends so much to its corner, or is sent it.
inline Step fold_step(const Network& network, int corners, std::size_t bytes, std::size_t messages = 1,
                      Partners partners = Partners::same) {
  const int extras = network.ranks() - corners;
  const AlikeCorners alike = alike_corners(network, extras);
  Step step(network, partners, senders(alike.count, extras));
  for (int i = 0; i < alike.count; ++i) step.send_alone(corners + i * alike.apart, i * alike.apart, bytes, messages);
  return step;
}

/// Every rank sends each other one so much.
inline Step all_to_all_step(const Network& network, std::size_t bytes) {
  const auto P = static_cast<std::size_t>(network.ranks());
  Step step(network, Partners::same);
  if (network.representatives() == 1)
    step.send_alone(0, 1 % network.ranks(), (P - 1) * bytes, P - 1);
  else
    step.send_to_all(std::vector<std::size_t>(P, 1), std::vector<std::size_t>(P, bytes));
  return step;
}

/// On a binomial tree of the first `ranks`, everybody who has a child at `distance` sends it so much, or is sent it.
inline Step tree_step(const Network& network, int ranks, int distance, std::size_t bytes) {
  const int alike = std::max(representatives_in_line(network, ranks), std::min(distance + 1, ranks));
  Step step(network, Partners::same, senders(alike, ranks));
  for (int parent = 0; parent + distance < alike; parent += 2 * distance)
    step.send_alone(parent, parent + distance, bytes);
  return step;
}

/// Ranks `first` and first + 1 swap so much, first + 2 and first + 3, and so on round the circle of ranks.
inline Step couples_step(const Network& network, int first, std::size_t bytes) {
  const int P = network.ranks();
  const bool by_turns = network.round_robin_nodes() % 2 == 0;
  const int apart = by_turns ? network.round_robin_nodes() : 2;
  // Else those of two groups: the second has a neighbor on each side.
  const int alike = by_turns ? P / apart : std::min(representatives_in_line(network, P), P / 2);
  Step step(network, Partners::others, senders(alike, P / 2));
  for (int i = 0; i < alike; ++i) {
    const int r = (first + i * apart) % P;
    step.send_alone(r, (r + 1) % P, bytes);
    step.send_alone((r + 1) % P, r, bytes);
  }
  return step;
}

/// Everybody sends so much to the one before in the line of ranks and, both ways, to the one behind.
inline Step chain_step(const Network& network, bool both_ways, std::size_t bytes, std::size_t messages = 1) {
  const int alike =
      std::min(2 * network.representatives() + 1, network.ranks());  // the second group has a neighbor on each side
  Step step(network, Partners::same, senders(alike, network.ranks()));
  for (int r = 1; r < alike; ++r) {
    step.send(r, r - 1, bytes, messages);
    if (both_ways) step.send(r - 1, r, bytes, messages);
  }
  return step;
}

/// Seconds of a message that goes all along the line of ranks, hop after hop, but for the slowest: what a pipe takes to
/// fill beyond a chain_step.
inline double chain_fill_seconds(const Network& network, std::size_t bytes) {
  double all_hops = 0;
  double slowest = 0;
  for (int r = 1; r < network.ranks(); ++r) {
    const double hop =
        network.on_level(network.level(r - 1, r), [&](const auto& level) { return level.message_seconds(bytes); });
    all_hops += hop;
    slowest = std::max(slowest, hop);
  }
  return all_hops - slowest;
}

}  // namespace dsop::patterns
