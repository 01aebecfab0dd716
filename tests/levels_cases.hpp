// On a machine where a byte out of the busiest node takes a second, and nothing else does, seconds are bytes: what
// formulas say against what is counted.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <dsop/counting.hpp>
#include <dsop/machine.hpp>
#include <dsop/threads.hpp>

namespace dsop::tests {

inline constexpr double nothing = 1e-30;

// A second a byte that leaves or enters the busiest node, and nothing else takes time.
inline Machine machine_of_cards() {
  const Level node{.latency_seconds = nothing,
                   .overhead_seconds = nothing,
                   .gap_seconds = nothing,
                   .gap_per_byte_seconds = nothing,
                   .out_bytes_per_second = 1};
  return {.latency_seconds = nothing,
          .overhead_seconds = nothing,
          .gap_seconds = nothing,
          .gap_per_byte_seconds = 1,
          .inner_levels = {node}};
}

// The same inside nodes: a second a byte of the busiest rank's messages there.
inline Machine machine_of_copies() {
  Machine machine = machine_of_cards();
  machine.gap_per_byte_seconds = nothing;
  machine.inner_levels[0].gap_per_byte_seconds = 1;
  machine.inner_levels[0].out_bytes_per_second = 0;
  return machine;
}

// A second a byte that leaves or enters the busiest rack of so many nodes.
inline Machine machine_of_racks(int nodes) {
  Machine machine = machine_of_cards();
  machine.inner_levels.push_back(machine.inner_levels[0]);
  machine.inner_levels[0].out_bytes_per_second = 1 / nothing;
  machine.inner_levels[1].nodes = nodes;
  return machine;
}

// Nodes of 5 GB/s, whose links carry 200 MB/s: what leaves a node often costs, as an agreement's messages do.
inline Machine machine_of_hosts() {
  const Level node{
      .latency_seconds = 1e-6, .gap_per_byte_seconds = 0.2e-9, .out_bytes_per_second = 200e6, .piece_bytes = 0};
  return {.latency_seconds = 50e-6, .overhead_seconds = 1e-6, .gap_per_byte_seconds = 5e-9, .inner_levels = {node}};
}

struct CountedBytes {
  double out_of_busiest_node = 0;
  double out_of_all_nodes = 0;
  double inside_of_busiest_rank = 0;
};

using Run = std::function<void(Transport&)>;

// The bytes that ranks on these nodes send, inside and out of these groups, or nodes.
inline CountedBytes count_bytes(const std::vector<int>& nodes, const std::vector<int>& groups, const Run& run) {
  std::vector<double> out(nodes.size());  // of each node
  CountedBytes counted;
  std::mutex mutex;
  const auto body = [&](Transport& threads) {
    CountingTransport transport(threads);
    run(transport);
    const std::lock_guard lock(mutex);
    const auto leaving = static_cast<double>(transport.payload_bytes_leaving(groups));
    out[static_cast<std::size_t>(groups[static_cast<std::size_t>(transport.rank())])] += leaving;
    counted.out_of_all_nodes += leaving;
    counted.inside_of_busiest_rank =
        std::max(counted.inside_of_busiest_rank, static_cast<double>(transport.payload().bytes) - leaving);
  };
  run_on_threads(static_cast<int>(nodes.size()), body, 1, nodes);
  counted.out_of_busiest_node = *std::max_element(out.begin(), out.end());
  return counted;
}

inline CountedBytes count_bytes(const std::vector<int>& nodes, const Run& run) {
  return count_bytes(nodes, nodes, run);
}

inline const std::vector<std::vector<int>>& placements() {
  static const std::vector<std::vector<int>> all{{0, 0, 0, 0, 4, 4, 4, 4},  // in order
                                                 {0, 1, 0, 1, 0, 1, 0, 1},  // by turns
                                                 {0, 0, 2, 2, 4, 4, 6, 6},
                                                 {0, 1, 1, 0, 1, 0, 0, 1},  // in no order
                                                 {0, 0, 0, 0, 0, 0, 6, 6},  // unequal
                                                 {0, 1, 0, 0, 4, 0},
                                                 {0, 0, 2},
                                                 {0, 0, 0, 0}};
  return all;
}

// Eight ranks on nodes that have as many each.
inline bool is_even(const std::vector<int>& nodes) {
  return nodes.size() == 8 && std::count(nodes.begin(), nodes.end(), 0) <= 4;
}

// In each step all nodes send as much as they receive.
inline bool is_symmetric(const std::string& algorithm) {
  return algorithm.find("linear-pipeline") == algorithm.npos && algorithm.find("spanning-tree") == algorithm.npos;
}

inline void check_cards(double predicted, const CountedBytes& counted, const std::vector<int>& nodes, bool symmetric) {
  CHECK(predicted >= counted.out_of_busiest_node);
  if (symmetric && is_even(nodes)) CHECK(predicted == counted.out_of_busiest_node);
}

}  // namespace dsop::tests
