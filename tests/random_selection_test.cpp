// Random selections: how often each element is chosen, against the probabilities that the papers give.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <dsop/selection.hpp>

#include "selection_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

const std::vector<std::string> random_selections{"expected-k", "expected-k-clipped", "expected-k-threshold", "uniform"};

/// The th with which min(1, v_i / th) sum to k, of magnitudes v; 0 where fewer than k are not zero.
long double threshold_of(std::vector<double> v, double k) {
  std::sort(v.begin(), v.end());
  long double sum = std::accumulate(v.begin(), v.end(), 0.0L);
  for (double certain = 0; certain < k && !v.empty(); ++certain) {
    const long double th = sum / (k - certain);
    if (v.back() <= th) return th;
    sum -= v.back();
    v.pop_back();
  }
  return 0;
}

/// How likely each element is chosen, as its paper has it of finite values; what is not finite is certain.
template <class T>
std::vector<double> probabilities(const std::string& selection, const std::vector<T>& values, std::size_t wanted) {
  std::vector<double> v;
  for (const T x : values)
    if (std::isfinite(x)) v.push_back(std::abs(static_cast<double>(x)));
  const auto N = static_cast<double>(v.size());
  const double others = static_cast<double>(values.size()) - N;
  const double k = std::max(static_cast<double>(wanted) - others, 0.0);
  const double norm1 = std::accumulate(v.begin(), v.end(), 0.0);
  const double norminf = v.empty() ? 0 : *std::max_element(v.begin(), v.end());
  const double eps = norminf <= norm1 / k ? 0 : (k * norminf - norm1) / (N - k);
  const long double th = threshold_of(v, k);
  std::vector<double> p;
  for (const T x : values) {
    const double v_i = std::abs(static_cast<double>(x));
    if (!std::isfinite(x))
      p.push_back(1);
    else if (selection == "uniform")
      p.push_back(k / N);
    else if (norm1 == 0 || k == 0)
      p.push_back(0);
    else if (selection == "expected-k")
      p.push_back(k == N ? 1 : k * (v_i + eps) / (norm1 + N * eps));
    else if (selection == "expected-k-clipped")
      p.push_back(std::min(1.0, k * v_i / norm1));
    else
      p.push_back(v_i == 0 ? 0 : static_cast<double>(std::min(1.0L, v_i / th)));
  }
  return p;
}

/// Normal values of which a few are so large that norminf > norm1 / k, and some are zero.
template <class T>
std::vector<T> spiky_values(std::size_t N) {
  std::vector<T> values = normal_values<T>(N);
  for (std::size_t i = 0; i < N; i += 7) values[i] = 0;
  for (std::size_t i = 3; i < N; i += 150) values[i] *= 1000;
  return values;
}

struct Draws {
  std::size_t elements = 3001;
  std::size_t wanted = 600;
  int seeds = 400;
};
constexpr Draws random_draws;

/// How far the times that an element is chosen may be off in so many draws.
double most_off(double p) {
  return 6 * std::sqrt(p * (1 - p) * random_draws.seeds) + (p > 0 && p < 1 ? 2 : 0);
}

}  // namespace

TEMPLATE_TEST_CASE("a random selection chooses each element as often as its paper says", "[selection]", float, double) {
  const auto& [N, k, seeds] = random_draws;
  auto inputs = selection_inputs<TestType>(N);
  inputs.emplace_back("spiky", spiky_values<TestType>(N));
  for (const auto& [name, values] : inputs)
    for (const std::string& algorithm : random_selections) {
      INFO(algorithm << ", " << name);
      std::vector<int> times(N);
      for (int seed = 0; seed < seeds; ++seed) {
        Selector<TestType> selector(algorithm, {.seed = static_cast<std::uint64_t>(seed)});
        for (const std::uint32_t i : select<TestType>(selector, values, k, N).indices) ++times[i];
      }
      const std::vector<double> p = probabilities(algorithm, values, k);
      double expected = 0;
      double variance = 0;
      for (std::size_t i = 0; i < N; ++i) {
        expected += p[i];
        variance += p[i] * (1 - p[i]);
        if (std::abs(times[i] - p[i] * seeds) > most_off(p[i])) FAIL_CHECK("element " << i << ", p = " << p[i]);
      }
      const double mean = std::accumulate(times.begin(), times.end(), 0.0) / seeds;
      const bool coarse = algorithm == "expected-k-threshold" && name == "subnormal";  // its threshold is, too
      CHECK(std::abs(mean - expected) <= 4 * std::sqrt(variance / seeds) + (coarse ? 0.05 * expected : 1e-9));
      const auto zeros = static_cast<std::size_t>(std::count(values.begin(), values.end(), TestType{0}));
      if (algorithm == "expected-k-clipped")
        CHECK(expected <= static_cast<double>(k) * (1 + 1e-9));
      else if (algorithm == "uniform" || (algorithm == "expected-k" && zeros < N) || N - zeros >= k)
        CHECK(expected == Approx(k).epsilon(1e-9));
    }
}

TEST_CASE("that test tells random selections apart where some elements are large", "[selection]") {
  const std::size_t N = random_draws.elements, k = random_draws.wanted;
  const auto seeds = random_draws.seeds;
  const std::vector<double> values = spiky_values<double>(N);
  for (const std::string& one : random_selections)
    for (const std::string& other : random_selections) {
      if (one == other) continue;
      INFO(one << " taken for " << other);
      const std::vector<double> p = probabilities(one, values, k);
      const std::vector<double> q = probabilities(other, values, k);
      const auto tells = [&](std::size_t i) { return std::abs(p[i] - q[i]) * seeds > most_off(p[i]) + most_off(q[i]); };
      std::size_t count = 0;
      for (std::size_t i = 0; i < N; ++i) count += tells(i) ? 1 : 0;
      CHECK(count > 0);
    }
}

TEMPLATE_TEST_CASE("what is chosen at random, divided by its probability, stands for all on average", "[selection]",
                   float, double) {
  const auto& [N, k, seeds] = random_draws;
  const std::vector<TestType> values = spiky_values<TestType>(N);
  for (const std::string& algorithm : random_selections) {
    INFO(algorithm);
    const std::vector<double> p = probabilities(algorithm, values, k);
    double sum = 0;
    double variance = 0;
    for (std::size_t i = 0; i < N; ++i) {
      const double x = values[i];
      sum += x;
      if (x != 0) variance += x * x * (1 - p[i]) / p[i];
    }
    double estimates = 0;
    for (int seed = 0; seed < seeds; ++seed) {
      const auto chosen = select_once<TestType>(algorithm, values, k, N, {.seed = static_cast<std::uint64_t>(seed)});
      for (std::size_t e = 0; e < chosen.indices.size(); ++e)
        estimates += static_cast<double>(chosen.values[e]) / p[chosen.indices[e]];
    }
    CHECK(std::abs(estimates / seeds - sum) < 4 * std::sqrt(variance / seeds));
  }
}

TEMPLATE_TEST_CASE("expected-k takes what there is where chance has nothing to say", "[selection]", float, double) {
  const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  const TestType infinity = std::numeric_limits<TestType>::infinity();
  const std::vector<TestType> all = spiky_values<TestType>(100);
  for (const std::string algorithm : {"expected-k", "expected-k-clipped"}) {
    INFO(algorithm);
    const auto chosen = [&](const std::vector<TestType>& values, std::size_t wanted) {
      return select_once<TestType>(algorithm, values, wanted, values.size()).indices;
    };
    CHECK(chosen(all, 0).empty());
    CHECK(chosen({0, 0, -TestType{0}}, 2).empty());
    CHECK(chosen({0, 0, 0}, 3).empty());
    CHECK(chosen({0, -5, 0}, 1) == std::vector<std::uint32_t>{1});
    for (const std::size_t wanted : {1UL, 2UL, 3UL})
      CHECK(chosen({0, nan, 0, -infinity}, wanted) == std::vector<std::uint32_t>{1, 3});
    CHECK(chosen({1, nan, 2, -infinity}, 2) == std::vector<std::uint32_t>{1, 3});
    CHECK(chosen({1, nan, 2, -infinity}, 1) == std::vector<std::uint32_t>{1, 3});
    CHECK(chosen({nan, nan}, 2) == std::vector<std::uint32_t>{0, 1});
  }
  CHECK(select_once<TestType>("expected-k", all, 100, 100).indices.size() == 100);
  CHECK(select_once<TestType>("expected-k", {TestType(0.1), 0, nan, TestType(0.1)}, 4, 4).indices.size() == 4);
  CHECK(select_once<TestType>("expected-k", std::vector<TestType>(1000, TestType(0.1)), 1000, 1000).indices.size() ==
        1000);
  CHECK(select_once<TestType>("expected-k", {1, 1, 1, 1}, 2, 4).selection.threshold == 2);
  CHECK(select_once<TestType>("expected-k", {5, 1, 1, 1}, 2, 4).selection.threshold == 0);
  CHECK(select_once<TestType>("expected-k-clipped", {5, 1, 1, 1}, 2, 4).selection.threshold == 4);
}

TEST_CASE("of values whose sum divided by k is no double a threshold takes all that are not zero", "[selection]") {
  std::vector<double> values(10, 0);
  values[3] = values[7] = std::numeric_limits<double>::denorm_min();
  CHECK(select_once<double>("expected-k-threshold", values, 8, 10).indices == std::vector<std::uint32_t>{3, 7});
}

TEST_CASE("random selections choose k on average of values whose sum is beyond all doubles", "[selection]") {
  std::vector<double> values(2000, 1);
  std::fill_n(values.begin(), 100, 1e308);
  for (const std::string algorithm : {"expected-k", "expected-k-clipped", "expected-k-threshold"})
    for (const std::size_t wanted : {20UL, 200UL}) {  // of the huge ones, or those and others
      INFO(algorithm << ", k = " << wanted);
      const bool clips = algorithm == "expected-k-clipped" && wanted == 200;
      std::size_t chosen = 0;
      for (int seed = 0; seed < 100; ++seed) {
        const auto one =
            select_once<double>(algorithm, values, wanted, 2000, {.seed = static_cast<std::uint64_t>(seed)});
        chosen += one.indices.size();
        if (wanted == 200) CHECK(one.indices[99] == 99);
        if (wanted == 200 && algorithm == "expected-k-threshold") CHECK(one.selection.threshold == Approx(19));
      }
      CHECK(std::abs(static_cast<double>(chosen) / 100 / (clips ? 100.0 : static_cast<double>(wanted)) - 1) < 0.1);
    }
}

TEMPLATE_TEST_CASE("a random choice is that of its seed and step", "[selection]", float, double) {
  const std::vector<TestType> values = selection_inputs<TestType>(5000)[0].second;
  for (const std::string& algorithm : random_selections) {
    INFO(algorithm);
    Selector<TestType> one(algorithm, {.seed = 5});
    Selector<TestType> other(algorithm, {.seed = 6});
    const auto first = select<TestType>(one, values, 500, 5000);
    CHECK(first == select_once<TestType>(algorithm, values, 500, 5000, {.seed = 5}));
    CHECK_FALSE(first == select<TestType>(other, values, 500, 5000));
    Selector<TestType> resumed(algorithm, one.state());
    const auto second = select<TestType>(one, values, 500, 5000);
    CHECK_FALSE(first == second);
    CHECK(second == select<TestType>(resumed, values, 500, 5000));
  }
}
