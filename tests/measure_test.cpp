// What a probe finds of a machine that a test makes: its messages take what they take by the test's clock.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dsop/dsop.hpp>

#include "calls/hidden_share.hpp"
#include "calls/measure.hpp"
#include "calls/measure_arithmetic.hpp"
#include "calls/sampling.hpp"
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
          check_link(level.ring_step_seconds, memory, 3, "ring inside nodes", failures);
          const double together = 3.0 * (1 << 18) / 3 / (slow.latency + (1 << 18) / 3 * slow.a_byte);
          failures.check(std::abs(level.out_bytes_per_second / together - 1) < 0.01, "what a node sends out is wrong");
          failures.check(measured.measured_on == MeasuredOn{6, 2, 1, "threads"}, "measured_on is wrong");
          failures.check(measured.write_bytes_per_second > 0, "what products write is not measured");
          failures.check(measured.large_write_bytes_per_second > 0, "what products of large G write is not measured");
          check_machine(measured);
          failures.check(!transport.has_sent_again(), "a message comes from the cache");
        }) == "");
}

TEST_CASE("of two samples of short messages one that is disturbed does not count") {
  for (const Effort& effort : {probe_of_nodes, probe_of_one_node})
    CHECK(failures_on_probed({0, 1}, {}, {}, [&](ProbedTransport& transport, Failures& failures) {
            const auto spend = [&](double seconds) { transport.set_clock(transport.clock() + seconds); };
            constexpr double step_seconds = 1.0 / (1 << 12);
            int made = 0;
            const auto step_of = [&](std::size_t) { return [&](int) { spend(made++ == 2 ? 1 : step_seconds); }; };
            Sampling sampling(transport, effort);
            const double seconds = sampling.steps_seconds(true, step_seconds, 1e3, effort.steps, step_of)[0];
            failures.check(std::abs(seconds / step_seconds - 1) < 0.05, std::to_string(seconds) + " s, not 0.000244");
          }) == "");
}

TEST_CASE("where ranks are out of step no more steps follow an agreement than a call makes, and none is dropped") {
  CHECK(failures_on_probed({0, 1}, {}, {}, [](ProbedTransport& transport, Failures& failures) {
          constexpr int of_a_call = 3;
          constexpr int timed = 12;
          constexpr int samples = 5;
          constexpr double first_seconds = 1.0 / (1 << 10);
          constexpr double others_seconds = 1.0 / (1 << 12);
          for (const bool out_of_step : {true, false}) {
            Effort effort = effort_of_calibration;
            effort.out_of_step = out_of_step;
            Sampling sampling(transport, effort);
            std::vector<int> steps(timed + 1);
            const auto step = [&](int s) {
              ++steps[static_cast<std::size_t>(s)];
              transport.set_clock(transport.clock() + (s <= 1 ? first_seconds : others_seconds));
            };
            const double seconds = sampling.step_seconds(true, timed, step, samples, of_a_call);
            std::vector<int> expected(timed + 1, out_of_step ? 0 : samples);
            if (out_of_step) std::fill_n(expected.begin() + 1, of_a_call, samples * timed / of_a_call);
            failures.check(steps == expected, "other steps than a call's are made");
            const double of_the_first = 1.0 / (out_of_step ? of_a_call : timed);
            const double mean = of_the_first * first_seconds + (1 - of_the_first) * others_seconds;
            failures.check(std::abs(seconds / mean - 1) < 0.05, std::to_string(seconds) + " s a step");
          }
        }) == "");
}

TEST_CASE("a kernel's time holds nothing of the agreements around it, however long they take") {
  const Link far{1.0 / (1 << 7), 0};
  CHECK(failures_on_probed({0, 1}, far, {}, [](ProbedTransport& transport, Failures& failures) {
          Sampling sampling(transport, probe_of_nodes);
          const double seconds =
              sampling.kernel_seconds(3, 8, [&] { transport.set_clock(transport.clock() + 1.0 / (1 << 10)); });
          failures.check(std::abs(seconds * (1 << 10) - 1) < 0.05, std::to_string(seconds) + " s, expected 0.000977");
        }) == "");
}

TEST_CASE("a kernel is run as often as there are samples, and the first of many short runs does not count") {
  CHECK(failures_on_probed({0, 1}, {}, {}, [](ProbedTransport& transport, Failures& failures) {
          const auto spend = [&](double seconds) { transport.set_clock(transport.clock() + seconds); };
          Sampling sampling(transport, probe_of_nodes);
          for (const int samples : {1, 2, 3}) {
            int runs = 0;
            sampling.kernel_seconds(samples, 8, [&] {
              ++runs;
              spend(2 * probe_of_nodes.arithmetic_seconds);
            });
            failures.check(runs == samples, std::to_string(runs) + " runs of " + std::to_string(samples) + " samples");
          }
          constexpr double warm_seconds = 1.0 / (1 << 13);
          int runs = 0;
          const double seconds =
              sampling.kernel_seconds(1, 8, [&] { spend(runs++ == 0 ? 8 * warm_seconds : warm_seconds); });
          failures.check(std::abs(seconds / warm_seconds - 1) < 0.1, std::to_string(seconds) + " s, expected 0.000122");
        }) == "");
}

TEST_CASE("what ranks take to agree is measured once, and no kernel takes less than the fastest rank's own time") {
  CHECK(failures_on_probed({0, 1}, {}, {}, [](ProbedTransport& transport, Failures& failures) {
          constexpr double own_seconds = 1.0 / (1 << 8);
          Sampling sampling(transport, probe_of_nodes);
          const int first_look = transport.looks();
          transport.at_look(
              [&](int look) {  // the agreements alone seem to take far longer than those around the kernel
                if (look <= first_look + 20) transport.set_clock(transport.clock() + 1.0 / (1 << 6));
              });
          const auto kernel_seconds = [&] {
            return sampling.kernel_seconds(1, 1, [&] { transport.set_clock(transport.clock() + own_seconds); });
          };
          const double seconds = kernel_seconds();
          failures.check(std::abs(seconds / own_seconds - 1) < 0.05, std::to_string(seconds) + " s, expected 0.003906");
          const int looks = transport.looks() - first_look;
          kernel_seconds();
          failures.check(transport.looks() - first_look < 2 * looks - 10, "agreements are measured again");
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
  }
}

TEST_CASE("what disturbs arithmetic at first does not count where it is measured three times") {
  for (const int times : {1, 3})
    CHECK(failures_on_probed({0, 1}, {}, {}, [times](ProbedTransport& transport, Failures& failures) {
            Effort effort = probe_of_one_node;
            effort.arithmetic_times = times;
            const auto rate = [&] { return measure_machine(transport, {0, 1}, effort).memory_bytes_per_second; };
            const double quiet = rate();
            const int looks_before = transport.looks();
            transport.at_look([&transport, looks_before](int look) {
              if (look > looks_before + 30 && look < looks_before + 60) transport.set_clock(transport.clock() + 1);
            });
            const double disturbed = rate();
            transport.at_look({});
            failures.check((disturbed < quiet / 100) == (times == 1),
                           std::to_string(disturbed) + " B/s, and " + std::to_string(quiet) + " if not disturbed");
          }) == "");
}

TEST_CASE("products are made while a rank would wait") {
  Effort effort = probe_of_nodes;
  effort.overlap_seconds = 4e-3;
  constexpr int steps = 4;
  constexpr int products = 4;
  Machine machine;
  machine.ring_step_seconds.fill(1e-3);
  std::atomic<int> made = 0;  // by rank 1
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
          int sent = 0;
          // Rank 0 sends when rank 1 has made another product, which it does only if it makes them while it waits.
          const auto ring_step_of = [&](Transport& through) {
            return [&](std::size_t) {
              return [&](int) {
                const int awaited = sent / steps * products + sent % steps + 1;
                ++sent;
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
              sampling, effort, transport, true, ring_step_of, [&] { made += transport.rank(); }, 0.95e-3, machine,
              1e9);
          failures.check(share >= 0 && share <= 1, "no share");
        }) == "");
  CHECK(made == 4 * products);
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
