// Where groups are alike, some ranks' messages are counted for those of all: as if each had been.
#include <catch2/catch.hpp>

#include "levels_cases.hpp"
#include "patterns/steps.hpp"

using namespace dsop;
using namespace dsop::tests;
using patterns::Network;
using patterns::Partners;
using patterns::Step;

namespace {

// Each level's messages, and what leaves its groups, take seconds of their own.
Machine machine_of_levels(int nodes_of_rack) {
  const Level node{.latency_seconds = 1,
                   .overhead_seconds = 2,
                   .gap_seconds = 3,
                   .gap_per_byte_seconds = 5,
                   .out_bytes_per_second = 0.125};
  Level rack = node;
  rack.nodes = nodes_of_rack;
  rack.gap_per_byte_seconds = 4;
  rack.out_bytes_per_second = 0.0625;
  return {.latency_seconds = 8,
          .overhead_seconds = 2,
          .gap_seconds = 3,
          .gap_per_byte_seconds = 3,
          .inner_levels = {node, rack}};
}

std::vector<int> nodes_of(int ranks, int ranks_of_node) {
  std::vector<int> nodes;
  for (int r = 0; r < ranks; ++r) nodes.push_back(r / ranks_of_node * ranks_of_node);
  return nodes;
}

template <class Sending>
double seconds_of_each(const Network& network, Partners partners, const Sending& sending) {
  Step step(network, partners);
  sending(step);
  return step.seconds();
}

constexpr std::size_t bytes = 1000;

void check_circle(const Network& network) {
  const int P = network.ranks();
  for (int distance = 1; distance < P; ++distance)
    CHECK(patterns::shift_step(network, distance, Partners::others, bytes).seconds() ==
          seconds_of_each(network, Partners::others, [&](Step& step) {
            for (int r = 0; r < P; ++r) step.send(r, (r - distance + P) % P, bytes);
          }));
  const auto own_bytes = [](int r) { return static_cast<std::size_t>(r * r % 7) * bytes; };
  for (int distance = 1; distance < P && network.representatives() > 1; ++distance) {
    const auto traffic_of = [&](int r) { return Traffic{1, own_bytes(r)}; };
    CHECK(patterns::shift_step(network, distance, Partners::same, traffic_of).seconds() ==
          seconds_of_each(network, Partners::same, [&](Step& step) {
            for (int r = 0; r < P; ++r) step.send(r, (r - distance + P) % P, own_bytes(r));
          }));
  }
  for (const int first : {0, 1})
    if (P % 2 == 0)
      CHECK(patterns::couples_step(network, first, bytes).seconds() ==
            seconds_of_each(network, Partners::others, [&](Step& step) {
              for (int r = first; r < first + P; r += 2) {
                step.send(r % P, (r + 1) % P, bytes);
                step.send((r + 1) % P, r % P, bytes);
              }
            }));
  for (const bool both_ways : {false, true})
    CHECK(patterns::chain_step(network, both_ways, bytes).seconds() ==
          seconds_of_each(network, Partners::same, [&](Step& step) {
            for (int r = 1; r < P; ++r) {
              step.send(r, r - 1, bytes);
              if (both_ways) step.send(r - 1, r, bytes);
            }
          }));
}

void check_corners(const Network& network) {
  const int P = network.ranks();
  const int corners = static_cast<int>(std::bit_floor(static_cast<unsigned>(P)));
  for (int distance = 1; distance < corners; distance *= 2)
    CHECK(patterns::hypercube_step(network, corners, distance, bytes).seconds() ==
          seconds_of_each(network, Partners::others, [&](Step& step) {
            for (int corner = 0; corner < corners; ++corner) step.send(corner, corner ^ distance, bytes);
          }));
  for (int distance = 1; distance < P; distance *= 2)
    CHECK(patterns::tree_step(network, P, distance, bytes).seconds() ==
          seconds_of_each(network, Partners::same, [&](Step& step) {
            for (int parent = 0; parent + distance < P; parent += 2 * distance)
              step.send(parent, parent + distance, bytes);
          }));
  CHECK(patterns::fold_step(network, corners, bytes).seconds() ==
        seconds_of_each(network, Partners::same, [&](Step& step) {
          for (int r = corners; r < P; ++r) step.send(r, r - corners, bytes);
        }));
}

}  // namespace

TEST_CASE("what alike groups send is counted once, and is priced as all that is sent") {
  for (const int ranks_of_node : {1, 2, 3, 4})
    for (const int nodes_of_rack : {1, 2, 3, 4})
      for (int P = 1; P <= 33; ++P) {
        const Machine machine = machine_of_levels(nodes_of_rack);
        const Network network(machine, nodes_of(P, ranks_of_node), P);
        INFO(P << " ranks, " << ranks_of_node << " a node, " << nodes_of_rack << " nodes a rack");
        CHECK(network.representatives() <= std::max(ranks_of_node * nodes_of_rack, 1));
        check_circle(network);
        check_corners(network);
      }
}

TEST_CASE("where ranks are dealt to nodes by turns, those of one stand for all in a circle") {
  Machine machine = machine_of_levels(1);
  machine.inner_levels.pop_back();
  for (int nodes = 2; nodes <= 6; ++nodes)
    for (int P = 2 * nodes; P <= 33; ++P) {
      std::vector<int> nodes_by_turns;
      for (int r = 0; r < P; ++r) nodes_by_turns.push_back(r % nodes);
      const Network network(machine, nodes_by_turns, P);
      INFO(P << " ranks on " << nodes << " nodes");
      CHECK(network.round_robin_nodes() == (P % nodes == 0 ? nodes : 1));
      CHECK(network.representatives_in_circle() == P / network.round_robin_nodes());
      CHECK(network.representatives() == P);
      check_circle(network);
      check_corners(network);
    }
}

TEST_CASE("ranks on nodes of racks by turns, and nodes that differ, have none that stand for others") {
  const Machine machine = machine_of_levels(2);
  for (const std::vector<int>& nodes : {std::vector{0, 1, 2, 0, 1, 2}, {0, 0, 2, 3, 3, 5}, {0, 1, 1, 3, 3, 3}}) {
    const Network network(machine, nodes, 6);
    CHECK(network.representatives_in_circle() == 6);
    check_circle(network);
    check_corners(network);
  }
}

TEST_CASE("ranks whose turns differ, and two teams by turns, have none that stand for others") {
  Machine machine = machine_of_levels(1);
  machine.inner_levels.pop_back();
  for (const std::vector<int>& nodes : {std::vector{0, 0, 2, 2, 0, 0, 2, 2}, {0, 1, 2, 0, 2, 1}, {0, 1, 0, 1, 0}}) {
    const int P = static_cast<int>(nodes.size());
    CHECK(Network(machine, nodes, P).representatives_in_circle() == P);
  }
  CHECK(Network(machine, {0, 1, 0, 1, 0, 1, 0, 1}, 4).representatives_in_circle() == 4);
}

TEST_CASE("teams that share no group, and those all in one, count as one") {
  Machine machine = machine_of_levels(2);
  const auto of_teams = [&](int ranks_of_node, int ranks) {
    return Network(machine, nodes_of(24, ranks_of_node), ranks);
  };
  CHECK(of_teams(2, 4).teams() == 1);  // racks of 4
  CHECK(of_teams(6, 6).teams() == 1);  // two teams a rack
  CHECK(of_teams(3, 4).teams() == 6);  // a node's ranks in two teams
  CHECK(of_teams(2, 3).teams() == 8);
  machine.inner_levels.pop_back();
  CHECK(of_teams(2, 8).teams() == 1);
}
