// What formulas say of the levels of a machine, against what is counted there: outer products and dense vectors.
#include <catch2/catch.hpp>

#include <cmath>

#include <dsop/errors.hpp>
#include <dsop/plan.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "collectives_cases.hpp"
#include "failures.hpp"
#include "levels_cases.hpp"
#include "memory/workspace.hpp"
#include "outer_product_cases.hpp"
#include "patterns/steps.hpp"

using namespace dsop;
using namespace dsop::tests;
using patterns::Network;
using patterns::Partners;
using patterns::Step;

TEST_CASE("a step takes as long as the busiest rank or node of the slowest level") {
  Machine machine = machine_of_cards();
  machine.inner_levels[0].gap_per_byte_seconds = 10;
  const std::vector<int> nodes{0, 0, 2, 2};
  const Network network(machine, nodes, 4);
  const auto seconds = [&](auto send) {
    Step step(network, Partners::same);
    send(step);
    return step.seconds();
  };
  CHECK(seconds([](Step&) {}) == 0);
  CHECK(seconds([](Step& step) { step.send(0, 2, 5); }) == 5);
  CHECK(seconds([](Step& step) { step.send(0, 1, 5); }) == 50);
  CHECK(seconds([](Step& step) {
          step.send(0, 2, 5);
          step.send(1, 3, 6);
        }) == 11);  // out of one node, into the other
  CHECK(seconds([](Step& step) {
          step.send(0, 2, 5);
          step.send(3, 1, 6);
        }) == 6);  // both ways at once
  CHECK(seconds([](Step& step) {
          step.send(0, 2, 51);
          step.send(0, 1, 5);
        }) == 51);

  machine.inner_levels[0].out_bytes_per_second = 2;  // of two ranks, each with a link of 1
  CHECK(seconds([](Step& step) {
          step.send(0, 2, 5);
          step.send(1, 3, 7);
        }) == 7);
  machine.inner_levels[0].out_bytes_per_second = 0.5;  // less than of one rank: then that one's numbers hold
  CHECK(seconds([](Step& step) { step.send(0, 2, 5); }) == 5);
}

TEST_CASE("racks are levels of so many nodes") {
  Machine machine = machine_of_cards();
  machine.inner_levels.push_back(machine.inner_levels[0]);
  machine.inner_levels[1].nodes = 2;
  machine.inner_levels[1].gap_per_byte_seconds = 1;
  machine.inner_levels[1].out_bytes_per_second = 0.25;
  machine.gap_per_byte_seconds = 4;
  const Network network(machine, {0, 0, 2, 3, 4}, 5);  // racks of ranks 0 1 2 and 3 4
  const auto seconds = [&](int from, int to) {
    Step step(network, Partners::same);
    step.send(from, to, 3);
    return step.seconds();
  };
  CHECK(seconds(0, 1) < 1e-20);
  CHECK(seconds(1, 2) == 3);
  CHECK(seconds(3, 4) == 3);
  CHECK(seconds(2, 3) == 12);
  CHECK(network.level(0, 1) == 0);
  CHECK(network.level(0, 2) == 1);
  CHECK(network.level(0, 3) == 2);
}

TEST_CASE("an all-to-all is priced as its messages are") {
  const std::vector<std::size_t> given{3, 0, 7, 2, 5, 11, 1, 4};
  const std::vector<std::size_t> taken{2, 9, 1, 4, 0, 3, 8, 6};
  for (const std::vector<int>& nodes : placements())
    for (Machine machine : {machine_of_cards(), machine_of_copies(), Machine{}, Machine{.inner_levels = {Level{}}}}) {
      const int P = static_cast<int>(nodes.size());
      const Network network(machine, nodes, P);
      const std::vector<std::size_t> own_given(given.begin(), given.begin() + P);
      const std::vector<std::size_t> own_taken(taken.begin(), taken.begin() + P);
      Step together(network, Partners::same);
      together.send_to_all(own_given, own_taken);
      Step one_by_one(network, Partners::same);
      for (int from = 0; from < P; ++from)
        for (int to = 0; to < P; ++to)
          if (to != from)
            one_by_one.send(from, to, given[static_cast<std::size_t>(from)] * taken[static_cast<std::size_t>(to)]);
      CHECK(together.seconds() == one_by_one.seconds());
    }
}

TEST_CASE("with one rank a node levels change no prediction") {
  const Machine flat{.hidden_share = 0.8};
  Machine levels = flat;
  levels.inner_levels = {Level{.out_bytes_per_second = 1e8}, Level{.nodes = 64,
                                                                   .latency_seconds = flat.latency_seconds,
                                                                   .overhead_seconds = flat.overhead_seconds,
                                                                   .gap_seconds = flat.gap_seconds,
                                                                   .gap_per_byte_seconds = flat.gap_per_byte_seconds}};
  Machine shared = flat;
  shared.inner_levels = {Level{.latency_seconds = 1, .out_bytes_per_second = 1e12}};
  for (const int P : {1, 2, 3, 5, 8, 12})
    for (const bool sharded : {false, true}) {
      const Problem problem{.rows = 300,
                            .columns = 200,
                            .pairs = std::vector<std::size_t>(static_cast<std::size_t>(P), 10),
                            .sharded = sharded};
      const std::vector<Candidate> expected = make_plan(problem, flat).candidates;
      for (const Machine& machine : {levels, shared}) {
        const std::vector<Candidate> predicted = make_plan(problem, machine).candidates;
        REQUIRE(predicted.size() == expected.size());
        for (std::size_t i = 0; i < predicted.size(); ++i) {
          CHECK(predicted[i].algorithm == expected[i].algorithm);
          CHECK(predicted[i].cost.seconds() == expected[i].cost.seconds());
        }
      }
    }
}

TEST_CASE("every sum of outer products sends out of its busiest node what its formula says") {
  for (const std::vector<int>& nodes : placements()) {
    const Case c{128, 16, std::vector<std::size_t>(nodes.size(), 2), 1, false, 0};
    const Problem problem{.rows = c.n, .columns = c.m, .pairs = c.pairs, .group = {.nodes = nodes}};
    for (const OuterProductAlgorithm& algorithm : outer_product_algorithms()) {
      if (!why_unsupported(algorithm, problem).empty()) continue;
      for (const double value : algorithm.parameter.values(algorithm, problem)) {
        const std::string name = algorithm_text(algorithm, value);
        const auto counted_on = [&](const Machine& machine) {
          return count_bytes(nodes, [&](Transport& transport) {
            const CaseFactors<float> own(c, transport.rank());
            std::vector<float> G(c.n * c.m);
            dsop::dsop<float>(transport, own.dense(), {G.data(), c.n, c.m}, {.algorithm = name, .machine = machine});
          });
        };
        const auto predicted_on = [&](const Machine& machine) {
          return make_plan(problem, machine, name).cost().communication_seconds;
        };
        INFO(name << ", " << nodes.size() << " ranks, the last on " << nodes.back());
        check_cards(predicted_on(machine_of_cards()), counted_on(machine_of_cards()), nodes, is_symmetric(name));
        CHECK(predicted_on(machine_of_copies()) >= counted_on(machine_of_copies()).inside_of_busiest_rank);
      }
    }
  }
}

TEST_CASE("what leaves every rank its rows sends out of its busiest node what its formula says") {
  for (const std::vector<int>& nodes : placements())
    for (const OuterProductAlgorithm& algorithm : sharded_algorithms()) {
      const Case c{128, 16, std::vector<std::size_t>(nodes.size(), 2), 1, false, 0};
      const Problem problem{.rows = c.n, .columns = c.m, .pairs = c.pairs, .group = {.nodes = nodes}, .sharded = true};
      const auto plan_on = [&](const Machine& machine) { return make_plan(problem, machine, algorithm.name); };
      const auto counted_on = [&](const Machine& machine) {
        return count_bytes(nodes, [&, plan = plan_on(machine)](Transport& transport) {
          const CaseFactors<float> own(c, transport.rank());
          const auto rank = static_cast<std::size_t>(transport.rank());
          const std::size_t count = plan.row_bounds[rank + 1] - plan.row_bounds[rank];
          std::vector<float> rows(count * c.m);
          Workspace<std::byte> workspace;
          workspace.resize(plan.workspace_bytes);
          Arena memory(workspace.elements());
          OuterProductCall<float> call{transport, plan, own.dense(), {rows.data(), count, c.m}, 1, 0, memory};
          plan.algorithm->run(call);
        });
      };
      INFO(algorithm.name << ", " << nodes.size() << " ranks, the last on " << nodes.back());
      check_cards(plan_on(machine_of_cards()).cost().communication_seconds, counted_on(machine_of_cards()), nodes,
                  true);
      CHECK(plan_on(machine_of_copies()).cost().communication_seconds >=
            counted_on(machine_of_copies()).inside_of_busiest_rank);
    }
}

TEST_CASE("every collective sends out of its busiest node what its formula says") {
  for (const std::vector<int>& nodes : placements())
    for (const Family& family : families()) {
      const int P = static_cast<int>(nodes.size());
      const int root = family.has_root ? P - 1 : 0;
      const DenseProblem problem{.elements = 480, .ranks = P, .group = {.nodes = nodes}, .root = root};
      for (const std::string& name : usable_names(family, problem)) {
        if (name == "auto") continue;
        const Machine machine = machine_of_cards();
        const CountedBytes counted = count_bytes(nodes, [&](Transport& transport) {
          std::vector<float> data = vector_of<float>(transport.rank(), 480);
          call<float>(family, transport, data, root, {name, machine});
        });
        const double predicted =
            make_dense_plan(family.algorithms, problem, machine, name).cost().communication_seconds;
        INFO(family.name << ' ' << name << ", " << P << " ranks, the last on " << nodes.back());
        check_cards(predicted, counted, nodes, !family.has_root && is_symmetric(name));
        if (name.find("linear-pipeline") == name.npos) CHECK(predicted <= counted.out_of_all_nodes + 1e-20);
      }
    }
}

TEST_CASE("an all-to-all inside teams is priced as its messages are") {
  const Machine machine = machine_of_cards();
  const Network network(machine, {0, 0, 1, 1, 1, 0, 2, 1}, 4);  // teams of ranks 0-3 and 4-7
  Step one_by_one(network, Partners::same);
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (to != from) one_by_one.send(from, to, 5);
  CHECK(patterns::all_to_all_step(network, 5).seconds() == one_by_one.seconds());
  CHECK(one_by_one.seconds() == 40);  // out of node 1: 2 x 2 messages of the one team, 2 x 2 of the other
}

namespace {

// Ranks 0, 1, ... on nodes of their own, or with a neighbor.
struct Racked {
  std::vector<int> nodes;
  int nodes_of_a_rack;
  std::vector<int> racks;
};

const std::vector<Racked>& racked() {
  static const std::vector<Racked> all{
      {{0, 1, 2, 3, 4, 5, 6, 7}, 4, {0, 0, 0, 0, 1, 1, 1, 1}}, {{0, 1, 2, 3, 4, 5, 6, 7}, 3, {0, 0, 0, 1, 1, 1, 2, 2}},
      {{0, 1, 2, 3, 4, 5, 6, 7}, 5, {0, 0, 0, 0, 0, 1, 1, 1}}, {{0, 1, 2, 3, 4, 5, 6, 7}, 9, {0, 0, 0, 0, 0, 0, 0, 0}},
      {{0, 0, 2, 2, 4, 4, 6, 6}, 3, {0, 0, 0, 0, 0, 0, 1, 1}}, {{0, 1, 0, 3, 1}, 2, {0, 0, 0, 1, 0}}};
  return all;
}

}  // namespace

TEST_CASE("the last rack may have fewer nodes than the others") {
  const Machine machine = machine_of_racks(3);
  const Network network(machine, {}, 8);  // racks of ranks 0 1 2, 3 4 5 and 6 7
  CHECK(patterns::all_to_all_step(network, 7).seconds() == 3 * 5 * 7);
  CHECK(patterns::ring_step(network, 7).seconds() == 7);
  CHECK(patterns::shift_step(network, 2, Partners::same, [](int) { return Traffic{1, 7}; }).seconds() == 2 * 7);
  Step out_of_the_last(network, Partners::same);
  for (const int from : {6, 7})
    for (const int to : {0, 1, 2, 3}) out_of_the_last.send(from, to, 7);
  CHECK(out_of_the_last.seconds() == 2 * 4 * 7);
}

TEST_CASE("messages between racks pass their nodes' network cards too") {
  Machine machine = machine_of_racks(2);
  machine.inner_levels[0].out_bytes_per_second = 0.5;
  machine.inner_levels[1].out_bytes_per_second = 1 / nothing;
  const Network network(machine, {0, 0, 0, 3, 4, 4, 4}, 7);
  Step step(network, Partners::same);
  for (int r = 0; r < 3; ++r) step.send(r, 4 + r, 2);  // a rank's alone would take 2, but the card sends half a byte
  CHECK(step.seconds() == 6);
}

TEST_CASE("every sum of outer products sends out of its busiest rack what its formula says") {
  for (const Racked& place : racked()) {
    const Case c{128, 16, std::vector<std::size_t>(place.nodes.size(), 2), 1, false, 0};
    const Problem problem{.rows = c.n, .columns = c.m, .pairs = c.pairs, .group = {.nodes = shared_nodes(place.nodes)}};
    const Machine machine = machine_of_racks(place.nodes_of_a_rack);
    for (const Candidate& candidate : make_plan(problem, machine).candidates) {
      if (!candidate.unsupported.empty()) continue;
      const CountedBytes counted = count_bytes(place.nodes, place.racks, [&](Transport& transport) {
        const CaseFactors<float> own(c, transport.rank());
        std::vector<float> G(c.n * c.m);
        dsop::dsop<float>(transport, own.dense(), {G.data(), c.n, c.m},
                          {.algorithm = candidate.algorithm, .machine = machine});
      });
      INFO(candidate.algorithm << ", " << place.nodes.size() << " ranks, racks of " << place.nodes_of_a_rack);
      const double predicted = std::floor(candidate.cost.communication_seconds);
      CHECK(predicted >= counted.out_of_busiest_node);
      if (candidate.algorithm == "allgather-ring") CHECK(predicted == counted.out_of_busiest_node);
    }
  }
}
