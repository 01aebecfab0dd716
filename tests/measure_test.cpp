// What a probe finds of a machine that a test makes: its messages take what they take by the test's clock.
#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <dsop/dsop.hpp>

#include "probed_transport.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

void check_link(const StepSeconds& steps, const Link& link, std::size_t sent, const std::string& what,
                Failures& failures) {
  for (std::size_t i = 0; i < sent; ++i) {
    const double expected = link.latency + static_cast<double>(step_bytes[i]) * link.a_byte;
    failures.check(std::abs(steps[i] - expected) <= ProbedTransport::tick,
                   what + "[" + std::to_string(i) + "] is " + std::to_string(steps[i]));
  }
}

}  // namespace

TEST_CASE("a probe finds what messages take, inside and between nodes") {
  CHECK(failures_on_probed({0, 1, 0, 1, 0, 1}, slow, memory, [](ProbedTransport& transport, Failures& failures) {
          const Machine measured = machine(transport);
          check_link(measured.ring_step_seconds, slow, 4, "ring between nodes", failures);
          check_link(measured.exchange_step_seconds, slow, 4, "exchange between nodes", failures);
          failures.check(measured.inner_levels.size() == 1, "there is no level inside nodes");
          const Level& level = measured.inner_levels[0];
          check_link(level.ring_step_seconds, memory, 3, "ring inside nodes", failures);
          const double together = 3.0 * (1 << 18) / 3 / (slow.latency + (1 << 18) / 3 * slow.a_byte);
          failures.check(std::abs(level.out_bytes_per_second / together - 1) < 0.01, "what a node sends out is wrong");
          failures.check(measured.measured_on == MeasuredOn{6, 2, 1, "threads"}, "measured_on is wrong");
          check_machine(measured);
        }) == "");
}

TEST_CASE("messages hide what products do not add to their time") {
  constexpr int looks_of_overlap = 12;  // the last: at the start and end of four runs, and when the ranks agree
  const auto found = [](const std::vector<int>& nodes, double added_seconds) {
    double share = -1;
    int looks = 0;
    for (const bool adds : {false, true})
      CHECK(failures_on_probed(nodes, slow, memory, [&](ProbedTransport& transport, Failures&) {
              if (adds && transport.rank() == 1)
                transport.at_look([&](int look) {
                  if (look > looks - looks_of_overlap) transport.set_clock(transport.clock() + added_seconds);
                });
              const Machine measured = machine(transport);
              transport.at_look({});
              check_machine(measured);
              if (transport.rank() == 1) looks = transport.looks();
              if (transport.rank() == 0) share = measured.hidden_share;
            }) == "");
    return share;
  };
  CHECK(found(nodes_of_one(3), 0) > 0.99);
  const double some = found(nodes_of_one(3), 1e-3);
  CHECK((some > 0.1 && some < 0.9));
  CHECK(found(nodes_of_one(3), 1) == 0);
  CHECK(found({0, 0, 0}, 0) == 0);
}

TEST_CASE("messages travel whole on a level where pieces cost") {
  constexpr Link fast{1.0 / (1 << 13), 1.0 / (1 << 27)};
  const auto found = [&](const Link& link, const Cut& between, const Cut& inside) {
    std::pair<double, double> piece_bytes;
    CHECK(failures_on_probed({0, 0, 1, 1}, link, memory, [&](ProbedTransport& transport, Failures& failures) {
            transport.cut(between, inside);
            const Machine measured = machine(transport);
            failures.check(measured.inner_levels.size() == 1, "there is no level inside nodes");
            if (transport.rank() == 0) piece_bytes = {measured.piece_bytes, measured.inner_levels[0].piece_bytes};
          }) == "");
    return piece_bytes;
  };
  const std::pair cut(Machine().piece_bytes, Level().piece_bytes);
  constexpr Cut pieces_cost{.a_piece = 2e-4};
  constexpr Cut handshakes_cost{.handshake = 1e-3};
  CHECK(found(fast, {}, {}) == cut);
  CHECK(found(fast, handshakes_cost, handshakes_cost) == cut);
  CHECK(found(fast, pieces_cost, handshakes_cost) == std::pair(0.0, cut.second));
  CHECK(found(fast, handshakes_cost, pieces_cost) == std::pair(cut.first, 0.0));
  CHECK(found(fast, {.a_piece = 3e-5}, {}) == cut);                    // a tenth, which may be noise
  CHECK(found({1.0 / 512, 1.0 / (1 << 20)}, pieces_cost, {}) == cut);  // would take too long to find out
}

TEST_CASE("messages travel whole inside a node too where all ranks are on it and pieces cost") {
  for (const bool costs : {false, true})
    CHECK(failures_on_probed({0, 0, 0}, {}, memory, [&](ProbedTransport& transport, Failures& failures) {
            transport.cut({}, costs ? Cut{.a_piece = 1e-5} : Cut{.handshake = 1e-5});
            failures.check(machine(transport).piece_bytes == (costs ? 0 : Machine().piece_bytes), "wrong pieces");
          }) == "");
}

TEST_CASE("where a network is slow, what long messages take is on the line through shorter ones") {
  constexpr Link slowest{1.0 / 512, 1.0 / (1 << 20)};
  CHECK(failures_on_probed({0, 1, 2}, slowest, {}, [&](ProbedTransport& transport, Failures& failures) {
          transport.cut({.handshake = 1e-4}, {});
          const double before = transport.clock();
          const Machine measured = machine(transport);
          failures.check(transport.clock() - before < 1, "a probe takes " + std::to_string(transport.clock() - before));
          check_link(measured.ring_step_seconds, slowest, 6, "ring", failures);
        }) == "");
}
