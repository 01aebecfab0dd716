// Every selecting allreduce: what it sums, what it leaves, its bits, its state, and what is said about bad calls.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <mutex>

#include <dsop/counting.hpp>

#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("every selecting allreduce loses nothing, whatever is large, over several steps", "[topk]") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, check_topk<float>) == "");
  if (P % 3 == 2) CHECK(failures_on_threads(P, check_topk<double>) == "");
}

namespace {

// What it chooses, in the memory of the last two.
template <class T>
SparseVectorView<T> chosen_by(Selector<T>& selector, const std::vector<T>& values, std::size_t k,
                              std::vector<std::uint32_t>& indices, std::vector<T>& chosen) {
  indices.resize(room_for(k, values.size()));
  chosen.resize(indices.size());
  const std::size_t count = selector.select(values, k, indices, chosen).chosen;
  return {values.size(), std::span(indices).first(count), std::span(chosen).first(count)};
}

}  // namespace

TEST_CASE("exact sums of selections are those of what a selector selects", "[topk]") {
  const int P = GENERATE(2, 5);
  const TopKCase c{3000, 100, bench::Distribution::power_law};
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          for (const std::string name : {"topk", "gaussian-k"}) {
            std::vector<float> values = whole_gradient<float>(c, transport.rank(), 0);
            std::vector<std::uint32_t> indices;
            std::vector<float> chosen;
            Selector<float> selector(name == "topk" ? "exact" : "gaussian");
            const SparseVectorView<float> own = chosen_by(selector, values, c.k, indices, chosen);
            TopKAllreduce<float> allreduce(transport, c.elements, {.algorithm = name});
            const TopKSum<float> result = allreduce.run(values, c.k);
            const std::vector<float> expected = in_full(sparse_allreduce<float>(transport, own).sum);
            failures.check(in_full(result.sum) == expected, name + " is wrong");
            failures.check(result.chosen == own.indices.size(), name + " chose another number");
            failures.check(result.algorithm.starts_with(name + ", summed by "), result.algorithm);
          }
        }) == "");
}

TEST_CASE("ok-topk sums the k largest of the sum where it evaluates, and about k that reach the threshold in between",
          "[topk]") {
  const int P = GENERATE(2, 3, 8, 13);
  const std::string name = GENERATE("ok-topk", "ok-topk-equal-regions", "ok-topk-direct", "ok-topk-naive");
  for (const TopKCase& c :
       {TopKCase{3000, 100, bench::Distribution::uniform}, TopKCase{3000, 100, bench::Distribution::one_region},
        TopKCase{600, 200, bench::Distribution::power_law}})
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            TopKAllreduce<float> allreduce(transport, c.elements, {.algorithm = name + "(3)"});
            Selector<float> local("threshold-reuse(3)");
            Selector<float> global("exact");
            std::vector<float> values(c.elements);
            std::vector<std::uint32_t> indices, top;
            std::vector<float> chosen, top_values;
            double threshold = 0;
            for (std::size_t step = 0; step < 7; ++step) {
              const std::vector<float> gradient = whole_gradient<float>(c, transport.rank(), step);
              for (std::size_t i = 0; i < c.elements; ++i) values[i] += gradient[i];
              const std::vector<float> before = values;
              const SparseVectorView<float> own = chosen_by(local, values, c.k, indices, chosen);
              std::vector<float> sum = in_full(sparse_allreduce<float>(transport, own).sum);
              const auto reaches = [&](float x) { return x != 0 && std::abs(x) >= threshold; };
              const auto gives_about_k = [&] {
                const auto reached = static_cast<std::size_t>(std::count_if(sum.begin(), sum.end(), reaches));
                return selection::is_about(reached, c.k) || (threshold == 0 && reached < c.k);
              };
              const bool is_kept = step % 3 != 0 && gives_about_k();
              const TopKSum<float> result = allreduce.run(values, c.k);
              const SparseVectorView<float> largest = chosen_by(global, sum, c.k, top, top_values);
              const double smallest =
                  std::abs(*std::min_element(largest.values.begin(), largest.values.end(),
                                             [](float l, float r) { return std::abs(l) < std::abs(r); }));
              if (!is_kept && step % 3 != 0) threshold = allreduce.state().global_threshold;
              if (step % 3 == 0 || (!is_kept && threshold == smallest)) {
                threshold = smallest;
                sum = in_full(largest);
              } else {
                for (float& x : sum)
                  if (!reaches(x)) x = 0;
                failures.check(gives_about_k(), name + " gives too few or too many");
              }
              const std::string what = name + ", " + c.text() + ", step " + std::to_string(step);
              failures.check(in_full(result.sum) == sum, what + ": another sum");
              failures.check(allreduce.state().global_threshold == threshold, what + ": another threshold");
              for (std::size_t e = 0; e < own.indices.size(); ++e)
                if (sum[own.indices[e]] != 0) failures.check(values[own.indices[e]] == 0, what + ": sent, and kept");
              failures.check(allreduce.state().bounds.size() == static_cast<std::size_t>(P) + 1, what + ": no regions");
            }
          }) == "");
}

TEST_CASE("gtopk's sum is that of a tree in which each rank keeps the k largest of two", "[topk]") {
  const int P = GENERATE(1, 2, 3, 5, 6, 8, 11);
  for (const TopKCase& c :
       {TopKCase{2000, 30, bench::Distribution::power_law}, TopKCase{300, 200, bench::Distribution::uniform}}) {
    std::vector<std::vector<float>> kept;
    Selector<float> exact("exact");
    std::vector<std::uint32_t> indices;
    std::vector<float> chosen;
    for (int r = 0; r < P; ++r) {
      const std::vector<float> values = whole_gradient<float>(c, r, 0);
      kept.push_back(in_full(chosen_by(exact, values, c.k, indices, chosen)));
    }
    for (std::size_t distance = 1; distance < kept.size(); distance *= 2)
      for (std::size_t r = 0; r + distance < kept.size(); r += 2 * distance) {
        for (std::size_t i = 0; i < c.elements; ++i) kept[r][i] += kept[r + distance][i];
        kept[r] = in_full(chosen_by(exact, std::vector<float>(kept[r]), c.k, indices, chosen));
      }
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            std::vector<float> values = whole_gradient<float>(c, transport.rank(), 0);
            TopKAllreduce<float> allreduce(transport, c.elements, {.algorithm = "gtopk"});
            failures.check(in_full(allreduce.run(values, c.k).sum) == kept[0], "another sum");
          }) == "");
  }
}

namespace {

std::vector<float> normal(std::size_t N, std::uint64_t seed) {
  std::vector<float> values(N);
  for (std::size_t i = 0; i < N; ++i) {
    const std::uint64_t bits = bench::mix(bench::mix(seed + 1) + i);
    for (int part = 0; part < 64; part += 8) values[i] += static_cast<float>(bits >> part & 255) / 128.0F - 1.0F;
  }
  return values;
}

// What the busiest rank sends in the second of two calls with the same gradient, and the most that anybody chose.
struct Counted {
  Traffic first, second;
  std::size_t chosen = 0;
  std::size_t in_sum = 0;
};

template <class GradientOf>
Counted count(int P, const std::string& algorithm, std::size_t k, GradientOf gradient_of) {
  Counted counted;
  std::mutex mutex;
  run_on_threads(P, [&](Transport& threads) {
    CountingTransport transport(threads);
    std::vector<float> values = gradient_of(threads.rank(), 0);
    TopKAllreduce<float> allreduce(transport, values.size(), {.algorithm = algorithm, .machine = Machine{}});
    static_cast<void>(allreduce.run(values, k));
    const Traffic first = transport.payload();
    const std::vector<float> gradient = gradient_of(threads.rank(), 1);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += gradient[i];
    const TopKSum<float> result = allreduce.run(values, k);
    const std::lock_guard lock(mutex);
    counted.first.raise_to(first);
    counted.second.raise_to({transport.payload().messages - first.messages, transport.payload().bytes - first.bytes});
    counted.chosen = std::max(counted.chosen, result.chosen);
    counted.in_sum = result.sum.indices.size();
  });
  return counted;
}

}  // namespace

TEST_CASE("every selecting allreduce sends the messages and bytes that its formula states", "[topk]") {
  const int P = GENERATE(2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  const std::size_t k = 4 * static_cast<std::size_t>(P);
  const auto same_places = [&](int, int) {
    std::vector<float> gradient(64 * k);
    for (std::size_t j = 0; j < k; ++j) gradient[64 * j + 31] = 5;
    return gradient;
  };
  for (const TopKAlgorithm& algorithm : topk_algorithms()) {
    if (algorithm.exact_sum == "auto") continue;  // as the sparse algorithm that it takes
    INFO(algorithm.name << ", P = " << P);
    const Counted counted = count(P, algorithm.name, k, same_places);
    const Cost stated = topk_cost({.elements = 64 * k, .k = k, .ranks = P}, Machine{}, algorithm.name);
    CHECK(counted.chosen == k);
    CHECK(counted.second.messages == stated.messages);
    CHECK(counted.second.bytes == stated.bytes);
  }
}

TEST_CASE("ok-topk sends at most 6 k (P-1)/P words and O(P) where ranks are alike, gtopk 2 k log2 P", "[topk]") {
  const int P = GENERATE(2, 3, 4, 6, 8, 11, 16);
  const auto ranks = static_cast<std::size_t>(P);
  const std::size_t k = 500 * ranks;
  const std::size_t N = 40 * k;
  const auto mixture = [&](int rank, int step) {
    std::vector<float> gradient = normal(N, static_cast<std::uint64_t>(2 * rank + step));
    for (std::size_t i = 0; i < N; ++i) gradient[i] *= bench::mix(i) % 20 == 0 ? 50.0F : 1.0F;
    return gradient;
  };
  INFO("P = " << P);
  const Counted ok = count(P, "ok-topk", k, mixture);
  const std::size_t most = std::max(ok.chosen, ok.in_sum);
  INFO("chosen " << ok.chosen << " of " << k << ", in the sum " << ok.in_sum << ", words " << ok.second.bytes / 4);
  CHECK(ok.second.bytes / 4 <= 6 * most * (ranks - 1) / ranks + 14 * ranks);
  CHECK(ok.first.bytes / 4 <= 6 * k * (ranks - 1) / ranks + k * ranks + 30 * ranks);
  const auto levels = static_cast<std::size_t>(std::ceil(std::log2(P)));
  CHECK(count(P, "gtopk", k, mixture).second.bytes / 4 == levels * (2 * k + 8));
}

TEST_CASE("ranks draw different elements from equal seeds", "[topk]") {
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
          std::vector<float> ones(1000, 1);
          TopKAllreduce<float> allreduce(transport, ones.size(), {.algorithm = "expected-k"});
          const TopKSum<float> result = allreduce.run(ones, 100);
          failures.check(std::count(result.sum.values.begin(), result.sum.values.end(), 1.0F) > 100, "the same");
        }) == "");
}

TEST_CASE("what is not finite is sent, or stays", "[topk]") {
  const int P = GENERATE(1, 2, 3, 8);
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          for (const std::string& algorithm : topk_names())
            for (const std::size_t k : {2UL, 20UL}) {
              TopKAllreduce<float> allreduce(transport, 100, {.algorithm = algorithm});
              std::vector<float> values(100, 1);
              for (const std::size_t i : {3UL, 50UL, 99UL}) values[i] = nan;
              if (transport.rank() == 0) values[60] = infinity;
              const TopKSum<float> result = allreduce.run(values, k);
              const std::vector<float> sum = in_full(result.sum);
              failures.check(result.nans == 3, algorithm + " miscounts NaN");
              failures.check(result.infinities == (transport.rank() == 0 ? 1 : 0), algorithm + " miscounts infinity");
              for (const std::size_t i : {3UL, 50UL, 99UL})
                failures.check(std::isnan(sum[i]) || std::isnan(values[i]), algorithm + " loses NaN");
              if (transport.rank() == 0)
                failures.check(sum[60] == infinity || values[60] == infinity, algorithm + " loses infinity");
              if (k == 20) failures.check(std::isnan(sum[3]) && sum[60] == infinity, algorithm + " keeps them back");
            }
        }) == "");
}

TEST_CASE("a state that was saved goes on as if nothing had happened", "[topk]") {
  const TopKCase c{1000, 60, bench::Distribution::power_law};
  CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
          for (const std::string& algorithm : topk_names()) {
            TopKAllreduce<float> one(transport, c.elements, {.algorithm = algorithm});
            std::vector<float> values(c.elements);
            for (std::size_t step = 0; step < 9; ++step) {
              const std::vector<float> gradient = whole_gradient<float>(c, transport.rank(), step);
              for (std::size_t i = 0; i < c.elements; ++i) values[i] += gradient[i];
              std::vector<float> copy = values;
              const std::string text = one.state().text();
              failures.check(TopKState::from_text(text) == one.state(), "another state than\n" + text);
              TopKAllreduce<float> other(transport, c.elements, {.algorithm = algorithm}, TopKState::from_text(text));
              const TopKSum<float> result = one.run(values, c.k);
              failures.check(hash_of(other.run(copy, c.k).sum) == hash_of(result.sum), algorithm + ": another sum");
              failures.check(copy == values, algorithm + ": another residual");
              failures.check(other.state() == one.state(), algorithm + ": another state");
            }
          }
        }) == "");
}

TEST_CASE("a state that is malformed is refused, with the line", "[topk]") {
  const TopKState state{{12, 34, 0.1}, std::numeric_limits<double>::quiet_NaN(), {0, 4, 4, 9}};
  const std::string good = state.text();
  CHECK(good == "dsop top-k state 1\nstep 12\nseed 34\nlocal threshold 0.1\nglobal threshold nan\nbounds 4 0 4 4 9\n");
  CHECK(TopKState::from_text(good).text() == good);
  const auto error_with = [&](const std::string& part, const std::string& instead) {
    std::string text = good;
    return argument_error_of(
        [&] { static_cast<void>(TopKState::from_text(text.replace(text.find(part), part.size(), instead))); });
  };
  CHECK(error_with("state 1", "state 2") ==
        "line 1 of a top-k state is \"dsop top-k state 2\", expected \"dsop top-k state 1\", all that, and its end");
  CHECK(error_with("step 12", "step -1") ==
        "line 2 of a top-k state is \"step -1\", expected a whole number below 2^64");
  CHECK(error_with("34", "34 5") == "line 3 of a top-k state is \"seed 34 5\", expected nothing after the number");
  CHECK(error_with("0.1", "-0.1") ==
        "line 4 of a top-k state is \"local threshold -0.1\", expected a number of at least 0");
  CHECK(error_with("nan", "much") == "line 5 of a top-k state is \"global threshold much\", expected a number");
  CHECK(error_with("bounds 4", "bounds 5") ==
        "line 6 of a top-k state is \"bounds 5 0 4 4 9\", expected as many bounds as it says");
  CHECK(error_with("4 4 9", "4 3 9") == "line 6 of a top-k state is \"bounds 4 0 4 3 9\", expected bounds that rise");
  CHECK(error_with("9\n", "9\nmore\n") == "a top-k state goes on after its 6 lines, expected its end");
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_THROWS_AS(TopKState::from_text(good.substr(0, size)), ArgumentError);
}

TEST_CASE("a bad argument of a selecting allreduce throws on all ranks, and names what is wrong", "[topk]") {
  struct Call {
    std::size_t elements = 10;
    std::size_t values = 10;
    std::size_t k = 2;
    TopKOptions options = {};
    TopKState state = {};
  };
  const auto error_when_rank_1_makes = [](const Call& bad) {
    std::string error;
    const std::string failures = failures_on_threads(3, [&](Transport& transport, Failures& failed) {
      const Call call = transport.rank() == 1 ? bad : Call{};
      std::vector<float> values(call.values, 5);
      TopKAllreduce<float> allreduce(transport, call.elements, call.options, call.state);
      const std::string text = argument_error_of([&] { static_cast<void>(allreduce.run(values, call.k)); });
      if (transport.rank() == 1) error = text;
      failed.check(!text.empty(), "no error");
      failed.check(values == std::vector<float>(call.values, 5), "the values have changed");
      failed.check(allreduce.state() == call.state, "the state has changed");
      TopKAllreduce<float> next(transport, 10);
      values.assign(10, 5);
      failed.check(in_full(next.run(values, 10).sum) == std::vector<float>(10, 15), "the next call is wrong");
    });
    return failures + error;
  };
  CHECK(error_when_rank_1_makes({.values = 9}) == "rank 1: values.size() is 9, expected the elements, 10");
  CHECK(error_when_rank_1_makes({.k = 11}) == "rank 1: k is 11, expected at most values.size() = 10");
  CHECK(error_when_rank_1_makes({.k = 3}) == "the ranks disagree: k is 2 on ranks 0, 2, 3 on rank 1");
  CHECK(error_when_rank_1_makes({.elements = 9, .values = 9}) ==
        "the ranks disagree: elements is 10 on ranks 0, 2, 9 on rank 1");
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "ok-topc"}}) ==
        "rank 1: algorithm is ok-topc, expected one of " + topk_algorithms().names());
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "topk(3)"}}) ==
        "rank 1: algorithm is topk(3), expected topk without a number");
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "ok-topk(0.5)"}}) ==
        "rank 1: the number of ok-topk(0.5), its steps between two evaluations of thresholds, is 0.5, expected a whole "
        "number, 1 or more");
  CHECK(error_when_rank_1_makes({.options = {.algorithm = "gtopk"}}) ==
        "the ranks disagree: algorithm is gtopk on rank 1, ok-topk on ranks 0, 2");
  CHECK(error_when_rank_1_makes({.options = {.machine = Machine{.gap_seconds = 0}}}) ==
        "rank 1: machine.gap_seconds is 0, expected a finite number above 0");
  CHECK(error_when_rank_1_makes({.state = {.selection = {.step = 4}}}) ==
        "the ranks disagree: the state's step is 0 on ranks 0, 2, 4 on rank 1");
  CHECK_THAT(error_when_rank_1_makes({.state = {.global_threshold = 1}}),
             Catch::StartsWith("the ranks disagree: the hash of the state's global threshold and bounds is "));
  CHECK(error_when_rank_1_makes({.state = {.bounds = {0, 5, 4, 10}}}) ==
        "rank 1: state.bounds[2] is 4, expected at least 5");
  CHECK(error_when_rank_1_makes({.state = {.bounds = {0, 5, 7, 9}}}) ==
        "rank 1: the last of state.bounds is 9, expected the elements, 10");
}
