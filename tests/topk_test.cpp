// Every selecting allreduce: what it sums, what it leaves, and its bits.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "algorithms/topk/global_threshold.hpp"
#include "kernels/add.hpp"
#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("every selecting allreduce loses nothing, whatever is large, over several steps", "[topk]") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, check_topk<float>) == "");
  if (P % 3 == 2) CHECK(failures_on_threads(P, check_topk<double>) == "");
}

TEST_CASE("selecting allreduces of so many ranks that slots for messages are used again lose nothing", "[topk]") {
  CHECK(failures_on_threads(36, [](Transport& transport, Failures& failures) {
          for (const std::string& name : topk_names())
            check_topk_steps<float>(transport, {2000, 40, bench::Distribution::one_region}, name, 3, failures);
        }) == "");
}

TEST_CASE("ok-topk has room for regions that become dense on their way", "[topk]") {
  constexpr std::size_t N = 600, k = 100;
  const bool both_choose = GENERATE(true, false);
  for (const Wire wire : {Wire::full, Wire::bf16})
    for (const std::string algorithm : {"ok-topk", "ok-topk-equal-regions", "ok-topk-direct", "ok-topk-naive"}) {
      CAPTURE(name(wire), algorithm);
      run_on_threads(2, [&](Transport& transport) {
        std::vector<float> values(N);  // a third of a half's elements, each rank in its own half
        const auto half = static_cast<std::size_t>(transport.rank()) * N / 2;
        if (half == 0 || both_choose)
          for (std::size_t i = 0; i < N / 2; i += 3) values[half + i] = 5;
        const std::vector<float> given = values;
        TopKAllreduce<float> allreduce(transport, N, {.algorithm = algorithm, .wire = wire});
        const TopKSum<float> result = allreduce.run(values, k);
        const SparseSum<float> left = sparse_allreduce<float>(transport, {N, {}, values});
        const SparseSum<float> all = sparse_allreduce<float>(transport, {N, {}, given});
        std::vector<float> found = in_full(result.sum);
        kernels::add<float>(found, found, in_full(left.sum));
        if (found != in_full(all.sum)) throw Error("something was lost");
      });
    }
}

TEST_CASE("ok-topk's memory does not grow with ranks once all pairs are more than the vector", "[topk]") {
  const auto workspace_bytes = [](std::size_t ranks) {
    const TopKProblem problem{.elements = 1000000, .k = 20000, .ranks = static_cast<int>(ranks)};
    const std::vector<std::size_t> chosen(ranks, problem.k);
    return make_topk_plan(problem, Machine{}, parse_topk("ok-topk"), chosen).workspace_bytes;
  };
  CHECK(workspace_bytes(1000) < workspace_bytes(50) + 1000 * 100);
  CHECK(workspace_bytes(1000) < 3 * 4 * 1000000);  // two such vectors and what is under way
}

namespace {

// What it chooses, in the memory of the last two.
template <class T>
SparseVectorView<T> chosen_by(Selector<T>& selector, const std::vector<T>& values, std::size_t k,
                              std::vector<std::uint32_t>& indices, std::vector<T>& chosen) {
  indices.resize(capacity(k, values.size()));
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

namespace {

// Ok-Topk's rule for its global threshold, by all sums at one place.
class GlobalThreshold {
 public:
  // What of the sums reaches the threshold, which is kept where it gives about k, else moved, else found anew.
  std::vector<float> apply(const std::vector<float>& sum, std::size_t k, bool evaluates) {
    if (!evaluates && !gives_about(k, sum)) move(sum, k);
    if (evaluates || !gives_about(k, sum)) return find(sum, k);
    std::vector<float> reached = sum;
    for (float& x : reached)
      if (kernels::key_of(x) < least_key()) x = 0;
    return reached;
  }
  double value() const { return kernels::magnitude_of<float>(key_); }

 private:
  kernels::Key<float> least_key() const { return std::max(key_, 1); }  // zeros are never sent

  static std::size_t count(const std::vector<float>& sum, kernels::Key<float> key) {
    return static_cast<std::size_t>(
        std::count_if(sum.begin(), sum.end(), [key](float x) { return kernels::key_of(x) >= key; }));
  }
  bool gives_about(std::size_t k, const std::vector<float>& sum) const {
    const std::size_t given = count(sum, least_key());
    return selection::is_about(given, k) || (key_ == 0 && given < k);
  }
  void move(const std::vector<float>& sum, std::size_t k) {
    const topk::Ladder<float> ladder(key_);
    const auto misses_by = [&](std::size_t rung) {
      return std::abs(static_cast<double>(count(sum, ladder.key(rung))) - static_cast<double>(k));
    };
    std::size_t best = 0;
    for (std::size_t rung = 1; rung < ladder.rungs; ++rung)
      if (misses_by(rung) < misses_by(best)) best = rung;
    key_ = ladder.key(best);
  }
  std::vector<float> find(std::vector<float> sum, std::size_t k) {
    std::vector<std::uint32_t> indices;
    std::vector<float> chosen;
    const std::vector<float> largest = in_full(chosen_by(exact_, sum, k, indices, chosen));
    key_ = std::numeric_limits<kernels::Key<float>>::max();
    for (const float x : largest)
      if (x != 0) key_ = std::min(key_, kernels::key_of(x));
    if (count(sum, 1) < k) key_ = 0;
    return largest;
  }

  kernels::Key<float> key_ = 0;
  Selector<float> exact_{"exact"};
};

}  // namespace

TEST_CASE("ok-topk sums the k largest of the sum where it evaluates, and about k that reach the threshold in between",
          "[topk]") {
  const int P = GENERATE(2, 3, 8, 13);
  const std::string name = GENERATE("ok-topk", "ok-topk-equal-regions", "ok-topk-direct", "ok-topk-naive",
                                    "ok-topk-unrotated", "ok-topk-unbucketed");
  for (const TopKCase& c :
       {TopKCase{3000, 100, bench::Distribution::uniform}, TopKCase{3000, 100, bench::Distribution::one_region},
        TopKCase{600, 200, bench::Distribution::power_law}})
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            TopKAllreduce<float> allreduce(transport, c.elements, {.algorithm = name + "(3)"});
            Selector<float> local("threshold-reuse(3)");
            GlobalThreshold global;
            std::vector<float> values(c.elements);
            std::vector<std::uint32_t> indices;
            std::vector<float> chosen;
            for (std::size_t step = 0; step < 7; ++step) {
              const std::vector<float> gradient = whole_gradient<float>(c, transport.rank(), step);
              for (std::size_t i = 0; i < c.elements; ++i) values[i] += gradient[i];
              std::vector<float> before = values;
              const SparseVectorView<float> own = chosen_by(local, before, c.k, indices, chosen);
              const std::vector<float> sum =
                  global.apply(in_full(sparse_allreduce<float>(transport, own).sum), c.k, step % 3 == 0);
              const TopKSum<float> result = allreduce.run(values, c.k);
              const std::string what = name + ", " + c.text() + ", step " + std::to_string(step);
              failures.check(in_full(result.sum) == sum, what + ": another sum");
              failures.check(allreduce.state().global_threshold == global.value(), what + ": another threshold");
              for (std::size_t e = 0; e < own.indices.size(); ++e)
                if (sum[own.indices[e]] != 0) failures.check(values[own.indices[e]] == 0, what + ": sent, and kept");
              failures.check(allreduce.state().bounds.size() == static_cast<std::size_t>(P) + 1, what + ": no regions");
            }
          }) == "");
}

namespace {

// First every rank has one element, which so becomes its region, or nothing; then hardly anything is left.
template <class T>
void check_vanishing(Transport& transport, T first, Failures& failures) {
  const auto P = static_cast<std::size_t>(transport.size());
  for (const std::string& name : topk_names()) {
    TopKAllreduce<T> allreduce(transport, P, {.algorithm = name});
    std::vector<T> values(P);
    values[static_cast<std::size_t>(transport.rank())] = first;
    failures.check(in_full(allreduce.run(values, P).sum) == std::vector<T>(P, first), name + ": another first sum");
    std::size_t steps = 1;
    for (const T left : {T{0.5}, T{0.25}, T{0}, T{0}, T{0.5}, T{0.25}}) {
      std::vector<T> expected(P);
      expected[P / 2] = left;
      values.assign(P, 0);
      if (transport.rank() == 0) values = expected;
      const std::vector<T> sum = in_full(allreduce.run(values, P).sum);
      const bool may_wait = parse_topk(name).algorithm->keeps_thresholds && sum == std::vector<T>(P);
      failures.check(sum == expected || may_wait, name + ": another sum where little is left");
      failures.check(allreduce.state().selection.step == ++steps, name + ": miscounted");
      failures.check(same_on_all_ranks(transport, std::bit_cast<std::uint64_t>(allreduce.state().global_threshold)),
                     name + ": another threshold");
    }
  }
}

}  // namespace

TEST_CASE("selecting allreduces sum the little that is left in regions of one element", "[topk]") {
  const int P = GENERATE(2, 5, 8);
  const int first = GENERATE(0, 1);
  CHECK(failures_on_threads(P, [first](Transport& transport, Failures& failures) {
          check_vanishing<float>(transport, static_cast<float>(first), failures);
          check_vanishing<double>(transport, first, failures);
        }) == "");
}

TEST_CASE("where fewer than k elements are not zero, no others are sent", "[topk]") {
  const int P = GENERATE(1, 3);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          for (const std::string& name : topk_names()) {
            TopKAllreduce<float> allreduce(transport, 1000, {.algorithm = name});
            for (std::size_t step = 0; step < 3; ++step) {
              std::vector<float> values(1000), expected(1000);
              for (std::size_t i = step; i < 1000; i += 100) {
                values[i] = 2;
                expected[i] = 2 * static_cast<float>(transport.size());
              }
              const TopKSum<float> result = allreduce.run(values, 50);
              failures.check(in_full(result.sum) == expected, name + ": another sum");
              failures.check(result.chosen == (name == "gtopk" ? 50 : 10), name + " sends zeros, or too little");
            }
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
  const Wire wire = GENERATE(Wire::full, Wire::bf16);
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          for (const std::string& algorithm : topk_names(wire))
            for (const std::size_t k : {2UL, 20UL}) {
              TopKAllreduce<float> allreduce(transport, 100, {.algorithm = algorithm, .wire = wire});
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
