// How seconds are sampled, by a clock that the test sets.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <dsop/dsop.hpp>

#include "machine/measure.hpp"
#include "machine/sampling.hpp"
#include "probed_transport.hpp"

using namespace dsop;
using namespace dsop::tests;

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
                if (look <= first_look + 12) transport.set_clock(transport.clock() + 1.0 / (1 << 6));
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
