// Ok-Topk's thresholds over many steps: how near to k they choose, and when they change.
#include <catch2/catch.hpp>

#include <cmath>
#include <mutex>

#include <dsop/counting.hpp>

#include "sparse_inputs.hpp"
#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace thresholds {  // k is a name in other files that are compiled with this one
namespace {

constexpr std::size_t elements = 16000;
constexpr std::size_t k = 400;

struct Step {
  std::size_t chosen = 0;  // by rank 0
  std::size_t in_sum = 0;
  std::size_t words = 0;  // that the busiest rank sends
  double local = 0;       // threshold of rank 0
  double global = 0;
};

// What `steps` calls do, each with other values, of size scale(step), and no residual; what ranks do not have in common
// goes to `failures`.
template <class Scale>
std::vector<Step> run_steps(int P, std::size_t steps, Scale scale, std::string& failures) {
  std::vector<Step> all(steps);
  std::mutex mutex;
  failures = failures_on_threads(P, [&](Transport& threads, Failures& different) {
    CountingTransport transport(threads);
    TopKAllreduce<float> allreduce(transport, elements, {.machine = Machine{}});
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<float> values = bench::gradient_like<float>(threads.rank() + P * static_cast<int>(step), elements,
                                                              0.05, bench::Distribution::uniform);
      for (float& x : values) x *= static_cast<float>(scale(step));
      const std::size_t bytes_before = transport.payload().bytes;
      const TopKSum<float> result = allreduce.run(values, k);
      const TopKState& state = allreduce.state();
      different.check(same_on_all_ranks(threads, hash_of(result.sum)), "another sum");
      different.check(same_on_all_ranks(threads, std::bit_cast<std::uint64_t>(state.global_threshold)),
                      "another threshold");
      const std::lock_guard lock(mutex);
      Step& seen = all[step];
      seen.in_sum = result.sum.values.size();
      seen.words = std::max(seen.words, (transport.payload().bytes - bytes_before) / sizeof(float));
      different.check(selection::is_about(result.chosen, k), "a choice that is not about k");
      if (threads.rank() == 0) seen.chosen = result.chosen;
      if (threads.rank() == 0) seen.local = state.selection.threshold;
      if (threads.rank() == 0) seen.global = state.global_threshold;
    }
  });
  return all;
}

}  // namespace

TEST_CASE("ok-topk's thresholds follow values that shrink or grow, and send no more for it", "[topk]") {
  const int P = GENERATE(2, 3, 5, 8);
  const double factor = GENERATE(0.93, 0.5, 1.07);
  INFO("P = " << P << ", times " << factor);
  std::string failures;
  const std::vector<Step> steps = run_steps(
      P, 32, [&](std::size_t step) { return std::pow(factor, static_cast<double>(step)); }, failures);
  CHECK(failures == "");
  double chosen = 0, in_sum = 0;
  std::size_t evaluations = 0;
  for (const Step& step : steps) {
    chosen += static_cast<double>(step.chosen) / 32;
    in_sum += static_cast<double>(step.in_sum) / 32;
    CHECK(selection::is_about(step.in_sum, k));
    const std::size_t most = std::max(step.chosen, step.in_sum);
    const auto ranks = static_cast<std::size_t>(P);
    evaluations += step.words > 6 * most * (ranks - 1) / ranks + 14 * ranks + 4 * 2 * 128 ? 1 : 0;
  }
  INFO("chosen " << chosen << ", in the sum " << in_sum << ", evaluations " << evaluations);
  CHECK(std::abs(chosen / k - 1) < 0.11);
  CHECK(std::abs(in_sum / k - 1) < 0.11);
  CHECK(evaluations <= 2);
}

TEST_CASE("ok-topk keeps its thresholds for tau' steps where values stay about as large", "[topk]") {
  const int P = GENERATE(2, 3, 5, 8);
  INFO("P = " << P);
  std::string failures;
  const std::vector<Step> steps = run_steps(
      P, 33, [&](std::size_t step) { return step % 2 == 0 ? 1.0 : 1.01; }, failures);
  CHECK(failures == "");
  for (std::size_t step = 1; step < 32; ++step) {
    CHECK(steps[step].local == steps[0].local);
    CHECK(steps[step].global == steps[0].global);
    CHECK(steps[step].words < steps[0].words);
  }
  CHECK(steps[32].local != steps[0].local);
  CHECK(steps[32].global != steps[0].global);
}

TEST_CASE("thresholds are found of sums that are not zero, where others cancel", "[topk]") {
  const int P = GENERATE(2, 3, 8);
  const std::size_t kept = GENERATE(as<std::size_t>{}, 0, 5, 40);  // of 80 that all ranks choose
  INFO("P = " << P << ", " << kept << " do not cancel");
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          for (const std::string& name : topk_names()) {
            if (!name.starts_with("ok-topk")) continue;
            TopKAllreduce<float> allreduce(transport, 160, {.algorithm = name});
            for (std::size_t step = 0; step < 3; ++step) {
              std::vector<float> values(160);
              for (std::size_t i = 0; i < 80; ++i)
                if (transport.rank() < 2) values[i] = transport.rank() == 0 ? 3 : i % 2 == 0 && i < 2 * kept ? 4 : -3;
              const TopKSum<float> result = allreduce.run(values, 80);
              std::vector<float> expected(160);
              for (std::size_t i = 0; i < 2 * kept; i += 2) expected[i] = 7;
              failures.check(in_full(result.sum) == expected, name + ": another sum");
              failures.check(allreduce.state().global_threshold == 0, name + ": a threshold, of fewer than k sums");
            }
          }
        }) == "");
}

}  // namespace thresholds
