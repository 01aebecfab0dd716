// What a probe finds of a machine that a test makes: its messages take what they take by the test's clock.
#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dsop/dsop.hpp>

#include "machine/hidden_share.hpp"
#include "machine/measure.hpp"
#include "machine/measure_arithmetic.hpp"
#include "machine/sampling.hpp"
#include "probed_transport.hpp"
#include "stall_cases.hpp"

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
          check_link(level.ring_step_seconds, memory, 5, "ring inside nodes", failures);
          check_link(level.exchange_step_seconds, memory, 5, "exchange inside nodes", failures);
          const bool is_beyond_hypercube = transport.rank() >= 4;  // of the three ranks of its node
          failures.check(transport.sent_inside(step_bytes[4]) == (is_beyond_hypercube ? 5U : 10U),
                         std::to_string(transport.sent_inside(step_bytes[4])) + " megabytes inside nodes");
          const double together = 3.0 * (1 << 18) / 3 / (slow.latency + (1 << 18) / 3 * slow.a_byte);
          failures.check(std::abs(level.out_bytes_per_second / together - 1) < 0.01, "what a node sends out is wrong");
          failures.check(measured.measured_on == MeasuredOn{6, 2, 1, "threads"}, "measured_on is wrong");
          failures.check(measured.write_bytes_per_second > 0, "what products write is not measured");
          failures.check(measured.large_write_bytes_per_second > 0, "what products of large G write is not measured");
          check_machine(measured);
          failures.check(!transport.has_sent_again(), "a message comes from the cache");
        }) == "");
}

TEST_CASE("nodes with unequal numbers of ranks are measured out of step too") {
  Effort effort = probe_of_nodes;
  effort.out_of_step = true;
  for (const std::vector<int>& nodes : {std::vector<int>{0, 1, 0, 1, 0, 1, 1, 7}, {0, 0, 0, 0, 0, 1, 1}, {0, 1, 2, 1}})
    CHECK(failures_on_probed(nodes, slow, memory, [&](ProbedTransport& transport, Failures& failures) {
            const Machine measured = measure_machine(transport, nodes, effort);
            failures.check(measured.inner_levels.size() == 1, "there is no level inside nodes");
            check_link(measured.ring_step_seconds, slow, 4, "ring between nodes", failures);
            check_link(measured.exchange_step_seconds, slow, 4, "exchange between nodes", failures);
            check_link(measured.inner_levels[0].ring_step_seconds, memory, 5, "ring inside nodes", failures);
            check_link(measured.inner_levels[0].exchange_step_seconds, memory, 5, "exchange inside nodes", failures);
          }) == "");
}

TEST_CASE("of three measurements of arithmetic one that is disturbed does not count, whichever it is") {
  const Machine quiet{.flops_per_second = 60e9,
                      .blas_flops_per_second = 50e9,
                      .memory_bytes_per_second = 12e9,
                      .write_bytes_per_second = 9e9,
                      .large_write_bytes_per_second = 7e9};
  Machine disturbed = quiet;
  for (double Machine::*const rate :
       {&Machine::flops_per_second, &Machine::blas_flops_per_second, &Machine::memory_bytes_per_second,
        &Machine::write_bytes_per_second, &Machine::large_write_bytes_per_second})
    disturbed.*rate /= 2;
  for (std::size_t which = 0; which < 3; ++which) {
    std::vector<Machine> measured(3, quiet);
    measured[which] = disturbed;
    Machine machine = measured.back();
    take_median_arithmetic(measured, machine);
    CHECK(machine == quiet);
    CHECK(machine.measured_on.arithmetic_spread == 2);
  }
}

TEST_CASE("what disturbs arithmetic at first does not count where it is measured three times") {
  for (const int times : {1, 3})
    CHECK(failures_on_probed({0, 1}, {}, {}, [times](ProbedTransport& transport, Failures& failures) {
            Effort effort = probe_of_one_node;
            effort.arithmetic_times = times;
            double spread = 0;
            const auto rate = [&] {
              const Machine measured = measure_machine(transport, {0, 1}, effort);
              spread = measured.measured_on.arithmetic_spread;
              return measured.memory_bytes_per_second;
            };
            const double quiet = rate();
            const int looks_before = transport.looks();
            transport.at_look([&transport, looks_before](int look) {
              if (look > looks_before + 12 && look < looks_before + 24) transport.set_clock(transport.clock() + 1);
            });
            const double disturbed = rate();
            transport.at_look({});
            failures.check((disturbed < quiet / 100) == (times == 1),
                           std::to_string(disturbed) + " B/s, and " + std::to_string(quiet) + " if not disturbed");
            failures.check(times == 1 ? spread == 0 : spread > 100, std::to_string(spread) + " between measurements");
          }) == "");
}

TEST_CASE("products are made while a rank would wait") {
  Effort effort = probe_of_nodes;
  effort.overlap_seconds = 4e-3;
  constexpr int steps = 4;
  constexpr int products = 4;
  constexpr int alone = 4 * products;
  Machine machine;
  machine.ring_step_seconds.fill(1e-3);
  std::atomic<int> made = 0;  // by rank 1
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
          int sent = 0;
          // Where both are made at once, after all products alone, rank 0 sends when rank 1 has made another one, which
          // it does only if it makes them while it waits.
          const auto ring_step_of = [&](Transport& through) {
            const bool at_once = &through != &transport;
            return [&, at_once](std::size_t) {
              return [&, at_once](int) {
                const int awaited = at_once ? alone + sent / steps * products + sent % steps + 1 : 0;
                if (at_once) ++sent;
                for (int i = 0; transport.rank() == 0 && made < awaited && i < 2000; ++i) sleep_seconds(1e-3);
                if (transport.rank() == 0) failures.check(made >= awaited, "rank 1 waits without work");
                char byte = 0;
                char other = 0;
                through.sendrecv(std::span(&byte, 1), 1 - transport.rank(), std::span(&other, 1), 1 - transport.rank());
              };
            };
          };
          Sampling sampling(transport, effort);
          const double share = hidden_share(
                                   sampling, effort, transport, true, ring_step_of, [&] { made += transport.rank(); },
                                   0.95e-3, machine, 1e9)
                                   .share;
          failures.check(share >= 0 && share <= 1, "no share");
        }) == "");
  CHECK(made == alone + 4 * products);
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
