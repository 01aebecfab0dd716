// The steps of each pattern: who sends to whom at the same time, and so what a step costs.
#pragma once

#include <algorithm>
#include <cstddef>

#include "patterns/hypercube.hpp"
#include "patterns/network.hpp"

namespace dsop::patterns {

/// Where it does not matter who sends to whom, the most that any of the first `ranks` sends stands for all: plans are
/// made for a thousand ranks.
template <class TrafficOf>
Step largest_step(const Network& network, int ranks, Partners partners, const TrafficOf& traffic_of) {
  Step step(network, partners);
  Traffic largest;
  for (int r = 0; r < ranks; ++r) {
    const Traffic traffic = traffic_of(r);
    largest = {std::max(largest.messages, traffic.messages), std::max(largest.bytes, traffic.bytes)};
  }
  step.send(0, 1 % network.ranks(), largest.bytes, largest.messages);
  return step;
}

/// Every rank sends traffic_of(rank) `distance` places down the line of ranks, which is a circle.
template <class TrafficOf>
Step shift_step(const Network& network, int distance, Partners partners, const TrafficOf& traffic_of) {
  const int P = network.ranks();
  if (network.is_flat()) return largest_step(network, P, partners, traffic_of);
  Step step(network, partners);
  for (int r = 0; r < P; ++r) {
    const Traffic traffic = traffic_of(r);
    step.send(r, ((r - distance) % P + P) % P, traffic.bytes, traffic.messages);
  }
  return step;
}

/// How many ranks stand for all `ranks` that do the same: where it matters who sends to whom, all.
inline int alike(const Network& network, int ranks, int most = 1) {
  return network.is_flat() ? std::min(ranks, most) : ranks;
}

/// Every rank sends so much to the right.
inline Step ring_step(const Network& network, std::size_t bytes, std::size_t messages = 1) {
  if (network.is_flat()) return largest_step(network, 1, Partners::same, [&](int) { return Traffic{messages, bytes}; });
  return shift_step(network, -1, Partners::same, [&](int) { return Traffic{messages, bytes}; });
}

/// Seconds of P - 1 steps, in the s-th of which every rank sends so much s places up the circle.
inline double all_shifts_seconds(const Network& network, std::size_t bytes) {
  const auto seconds = [&](int distance) {
    return shift_step(network, -distance, Partners::same, [&](int) { return Traffic{1, bytes}; }).seconds();
  };
  if (network.is_flat()) return (network.ranks() - 1) * seconds(1);
  double sum = 0;
  for (int distance = 1; distance < network.ranks(); ++distance) sum += seconds(distance);
  return sum;
}

/// Seconds of Bruck's allgather of so many bytes of each rank.
inline double bruck_seconds(const Network& network, std::size_t bytes) {
  double seconds = 0;
  for (int have = 1; have < network.ranks(); have *= 2) {
    const auto moved = static_cast<std::size_t>(std::min(have, network.ranks() - have)) * bytes;
    seconds += shift_step(network, have, Partners::others, [&](int) { return Traffic{1, moved}; }).seconds();
  }
  return seconds;
}

/// Of the first `corners` ranks, a power of two, each sends traffic_of(corner) to the one across, at `distance`.
template <class TrafficOf>
Step hypercube_step(const Network& network, int corners, int distance, const TrafficOf& traffic_of) {
  if (network.is_flat()) return largest_step(network, corners, Partners::others, traffic_of);
  Step step(network, Partners::others);
  for (int corner = 0; corner < corners; ++corner) {
    const Traffic traffic = traffic_of(corner);
    step.send(corner, corner ^ distance, traffic.bytes, traffic.messages);
  }
  return step;
}
inline Step hypercube_step(const Network& network, int corners, int distance, std::size_t bytes,
                           std::size_t messages = 1) {
  return hypercube_step(network, alike(network, corners), distance, [&](int) { return Traffic{messages, bytes}; });
}

/// Every extra, of the ranks beyond so many corners, sends so much to its corner, or is sent it.
inline Step fold_step(const Network& network, int corners, std::size_t bytes, std::size_t messages = 1,
                      Partners partners = Partners::same) {
  Step step(network, partners);
  for (int r = corners; r < corners + alike(network, network.ranks() - corners); ++r)
    step.send(r, r - corners, bytes, messages);
  return step;
}

/// Every rank sends each other one so much.
inline Step all_to_all_step(const Network& network, std::size_t bytes) {
  const auto P = static_cast<std::size_t>(network.ranks());
  Step step(network, Partners::same);
  if (network.is_flat())
    step.send(0, 1 % network.ranks(), (P - 1) * bytes, P - 1);
  else
    step.send_to_all(std::vector<std::size_t>(P, 1), std::vector<std::size_t>(P, bytes));
  return step;
}

/// On a binomial tree of the first `ranks`, everybody who has a child at `distance` sends it so much, or is sent it.
inline Step tree_step(const Network& network, int ranks, int distance, std::size_t bytes) {
  Step step(network, Partners::same);
  for (int parent = 0; parent + distance < alike(network, ranks, distance + 1); parent += 2 * distance)
    step.send(parent, parent + distance, bytes);
  return step;
}

/// Everybody sends so much to the one before in the line of ranks and, both ways, to the one behind.
inline Step chain_step(const Network& network, bool both_ways, std::size_t bytes, std::size_t messages = 1) {
  Step step(network, Partners::same);
  for (int r = 1; r < alike(network, network.ranks(), 3); ++r) {  // rank 1 has both neighbors
    step.send(r, r - 1, bytes, messages);
    if (both_ways) step.send(r - 1, r, bytes, messages);
  }
  return step;
}

}  // namespace dsop::patterns
