// Every selection against what the plainest way of choosing gives, on vectors with ties, zeros, NaN and infinities.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <dsop/errors.hpp>
#include <dsop/selection.hpp>

#include "base/mix.hpp"
#include "selection_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEMPLATE_TEST_CASE("exact chooses the k largest, of equals the first", "[selection]", float, double) {
  for (const std::size_t N : selection_sizes)
    for (const auto& [name, values] : selection_inputs<TestType>(N))
      for (const std::size_t k : selection_ks(N)) {
        INFO(name << ", N = " << N << ", k = " << k);
        const Chosen<TestType> chosen = select_once<TestType>("exact", values, k, k);
        REQUIRE(chosen.indices == k_largest<TestType>(values, k));
        CHECK(chosen.selection.chosen == k);
      }
}

TEMPLATE_TEST_CASE("exact chooses the k largest of many, whatever a sample of them says", "[selection]", float,
                   double) {
  constexpr std::size_t N = 70001;
  auto inputs = selection_inputs<TestType>(N);
  std::vector<TestType> hidden = inputs[0].second;
  constexpr std::size_t sample = 4096;
  for (std::size_t s = 0; s < sample; ++s) hidden[s * (N / sample) + bench::mix(s) % (N / sample)] = 0;
  inputs.emplace_back("zero where the sample is taken", hidden);
  for (const auto& [name, values] : inputs)
    for (const std::size_t k : selection_ks(N)) {
      INFO(name << ", k = " << k);
      REQUIRE(select_once<TestType>("exact", values, k, k).indices == k_largest<TestType>(values, k));
    }
}

TEMPLATE_TEST_CASE("every selection takes elements as they are, and says what is not finite", "[selection]", float,
                   double) {
  for (const SelectionAlgorithm& algorithm : selection_algorithms())
    for (const std::size_t N : selection_sizes)
      for (const auto& [name, values] : selection_inputs<TestType>(N))
        for (const std::size_t k : selection_ks(N))
          for (const std::size_t room : {k, std::min(N, 2 * k + 100), N}) {
            INFO(algorithm.name << ", " << name << ", N = " << N << ", k = " << k << ", room " << room);
            const Chosen<TestType> chosen = select_once<TestType>(algorithm.name, values, k, room);
            REQUIRE(chosen.selection.chosen <= room);
            CHECK((k > 0 || chosen.indices.empty()));
            CHECK(std::adjacent_find(chosen.indices.begin(), chosen.indices.end(), std::greater_equal<>()) ==
                  chosen.indices.end());
            REQUIRE(chosen.is_a_part_of(values));
            const auto nans = std::count_if(values.begin(), values.end(), [](auto x) { return std::isnan(x); });
            const auto infinities = std::count_if(values.begin(), values.end(), [](auto x) { return std::isinf(x); });
            CHECK(chosen.selection.nans == static_cast<std::size_t>(nans));
            CHECK(chosen.selection.infinities == static_cast<std::size_t>(infinities));
          }
}

TEMPLATE_TEST_CASE("what is not finite is chosen", "[selection]", float, double) {
  constexpr std::size_t N = 70001;
  for (const auto& [name, values] : selection_inputs<TestType>(N)) {
    const std::vector<std::uint32_t> expected = not_finite<TestType>(values);
    for (const SelectionAlgorithm& algorithm : selection_algorithms()) {
      if (algorithm.in_buckets) continue;  // buckets have little room each
      INFO(algorithm.name << ", " << name);
      Selector<TestType> selector(algorithm.name);
      for (int step = 0; step < 2; ++step) {
        const Chosen<TestType> chosen = select<TestType>(selector, values, N / 10, N / 4);
        CHECK(std::includes(chosen.indices.begin(), chosen.indices.end(), expected.begin(), expected.end()));
      }
    }
  }
}

TEMPLATE_TEST_CASE("a selection does not depend on threads", "[selection]", float, double) {
  constexpr std::size_t N = 140003;
  for (const auto& [name, values] : selection_inputs<TestType>(N)) {
    if (name != "normal" && name != "whole" && name != "few" && name != "not finite") continue;
    for (const SelectionAlgorithm& algorithm : selection_algorithms())
      for (const auto& [k, room] :
           std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {N / 100, N / 100 + 100}, {N / 2, N / 2}}) {
        INFO(algorithm.name << ", " << name << ", k = " << k << ", room " << room);
        const auto twice = [&, &x = values, count = k, most = room](int threads) {
          std::vector<Chosen<TestType>> steps;
          with_threads(threads, [&] {
            Selector<TestType> selector(algorithm.name);
            for (int step = 0; step < 2; ++step) steps.push_back(select<TestType>(selector, x, count, most));
          });
          return steps;
        };
        const auto alone = twice(1);
        for (const int threads : {2, 3}) CHECK(twice(threads) == alone);
      }
  }
}

TEMPLATE_TEST_CASE("exact chooses the largest of each bucket", "[selection]", float, double) {
  for (const std::size_t N : selection_sizes)
    for (const auto& [name, values] : selection_inputs<TestType>(N))
      for (const std::size_t b : {1UL, 3UL, 512UL, 5000UL, 1UL << 40})
        for (const std::size_t k : selection_ks(N)) {
          INFO(name << ", N = " << N << ", k = " << k << ", b = " << b);
          std::vector<std::uint32_t> expected;
          for (std::size_t first = 0; first < N; first += b) {
            const std::size_t last = N - first < b ? N : first + b;
            const std::vector<TestType> bucket(values.data() + first, values.data() + last);
            for (const std::uint32_t i : k_largest<TestType>(bucket, k * last / N - k * first / N))
              expected.push_back(static_cast<std::uint32_t>(first) + i);
          }
          const std::string algorithm = "exact-per-bucket(" + std::to_string(b) + ")";
          REQUIRE(expected.size() == k);
          REQUIRE(select_once<TestType>(algorithm, values, k, k).indices == expected);
        }
}

TEMPLATE_TEST_CASE("a selection per bucket makes that selection of each bucket's share of k", "[selection]", float,
                   double) {
  for (const SelectionAlgorithm& algorithm : selection_algorithms()) {
    if (!algorithm.in_buckets) continue;
    const std::string inside = algorithm.name.substr(0, algorithm.name.find("-per-bucket"));
    for (const std::size_t N : {1UL, 511UL, 512UL, 1300UL, 9001UL})
      for (const auto& [name, values] : selection_inputs<TestType>(N))
        for (const std::size_t b : {1UL, 512UL, 1000UL, 1UL << 40})
          for (const std::size_t k : selection_ks(N)) {
            INFO(algorithm.name << ", " << name << ", N = " << N << ", k = " << k << ", b = " << b);
            const SelectionState state{.step = 2, .seed = 7};
            const auto found =
                select_once<TestType>(algorithm.name + '(' + std::to_string(b) + ')', values, k, k, state);
            std::vector<std::uint32_t> expected;
            for (std::size_t first = 0, j = 0; first < N; first += b, ++j) {
              const std::size_t last = N - first < b ? N : first + b;
              const std::vector<TestType> bucket(values.data() + first, values.data() + last);
              const std::size_t due = k * last / N - k * first / N;
              const SelectionState own{.step = 2, .seed = mix(7) + j};
              for (const std::uint32_t i : select_once<TestType>(inside, bucket, due, due, own).indices)
                expected.push_back(static_cast<std::uint32_t>(first) + i);
            }
            REQUIRE(found.indices == expected);
          }
  }
}

TEMPLATE_TEST_CASE("a threshold is kept for tau' steps, and after a checkpoint", "[selection]", float, double) {
  constexpr std::size_t N = 20000;
  constexpr std::size_t k = 300;
  auto selector = std::make_unique<Selector<TestType>>("threshold-reuse(3)");
  double threshold = 0;
  for (std::uint64_t step = 0; step < 8; ++step) {
    INFO("step " << step);
    std::vector<TestType> values = selection_inputs<TestType>(N)[0].second;
    for (TestType& x : values) x *= static_cast<TestType>(1 + 0.01 * static_cast<double>(step));
    const Chosen<TestType> chosen = select<TestType>(*selector, values, k, N);
    if (step % 3 == 0) {
      CHECK(chosen.indices == k_largest<TestType>(values, k));
      threshold = chosen.selection.threshold;
    } else {
      CHECK(chosen.selection.threshold == threshold);
      CHECK(chosen.indices == at_least<TestType>(values, threshold));
      CHECK(chosen.selection.chosen > k);
    }
    CHECK(selector->state().step == step + 1);
    CHECK(selector->state().threshold == threshold);
    selector = std::make_unique<Selector<TestType>>("threshold-reuse(3)", selector->state());
  }
}

TEMPLATE_TEST_CASE("a threshold under which there is no room is found anew", "[selection]", float, double) {
  std::vector<TestType> values = selection_inputs<TestType>(20000)[0].second;
  Selector<TestType> selector("threshold-reuse");
  const double threshold = select<TestType>(selector, values, 300, 400).selection.threshold;
  for (TestType& x : values) x *= 2;
  const Chosen<TestType> chosen = select<TestType>(selector, values, 300, 400);
  CHECK(chosen.indices == k_largest<TestType>(values, 300));
  CHECK(chosen.selection.threshold == 2 * threshold);
  CHECK(selector.state().threshold == 2 * threshold);
}

TEMPLATE_TEST_CASE("gaussian chooses about k of normal values, and at least three quarters of any", "[selection]",
                   float, double) {
  constexpr std::size_t N = 100000;
  const std::vector<TestType> normal = normal_values<TestType>(N);
  for (const std::size_t k : {1000UL, 20000UL}) {
    const Chosen<TestType> chosen = select_once<TestType>("gaussian", normal, k, N);
    const double expected = static_cast<double>(k);
    CHECK(std::abs(static_cast<double>(chosen.indices.size()) - expected) < 5 * std::sqrt(expected));
    CHECK(chosen.indices == at_least<TestType>(normal, chosen.selection.threshold));
  }
  std::vector<TestType> sharp = normal;
  for (TestType& x : sharp) x = x * x * x * x * x;
  CHECK(select_once<TestType>("gaussian", sharp, 20000, N).indices == k_largest<TestType>(sharp, 15000));
  CHECK(select_once<TestType>("gaussian", sharp, 1, N).indices.size() >= 1);
  std::vector<TestType> flat = normal;
  for (TestType& x : flat) x = std::copysign(TestType(1), x);
  CHECK(select_once<TestType>("gaussian", flat, 60000, 70000).indices == k_largest<TestType>(flat, 60000));
}

TEMPLATE_TEST_CASE("gaussian tells how many its threshold alone would choose", "[selection]", float, double) {
  constexpr std::size_t N = 200000;  // shared out among threads
  const std::vector<TestType> normal = normal_values<TestType>(N);
  const auto predicted = [](const std::vector<TestType>& values, std::size_t k, std::size_t room) {
    return select_once<TestType>("gaussian", values, k, room).selection.predicted;
  };
  const std::size_t reached = select_once<TestType>("gaussian", normal, 2000, N).indices.size();
  CHECK(predicted(normal, 2000, N) == reached);
  CHECK(std::abs(static_cast<double>(predicted(normal, 2000, 2000)) / static_cast<double>(reached) - 1) < 0.1);
  std::vector<TestType> sharp = normal;
  for (TestType& x : sharp) x = x * x * x * x * x;
  CHECK(predicted(sharp, 40000, N) < 30000);  // it chooses 30000, since it must
  std::vector<TestType> flat = normal;
  for (TestType& x : flat) x = std::copysign(TestType(1), x);
  CHECK(predicted(flat, 120000, 140000) == N);
  const Chosen<TestType> in_buckets = select_once<TestType>("gaussian-per-bucket(500)", flat, 120000, 140000);
  CHECK(in_buckets.selection.predicted == N);
  CHECK(in_buckets.indices.size() == 120000);
  CHECK(select_once<TestType>("exact", normal, 2000, N).selection.predicted == 2000);
}

TEST_CASE("a selection that makes no sense is refused", "[selection]") {
  const std::vector<float> values(10, 1.0F);
  std::vector<std::uint32_t> indices(10);
  std::vector<float> chosen(10);
  Selector<float> selector;
  const auto error = [&](std::span<const float> of, std::size_t k, std::span<std::uint32_t> to_indices,
                         std::span<float> to) {
    return argument_error([&] { selector.select(of, k, to_indices, to); });
  };
  CHECK(error({}, 0, indices, chosen) == "values.size() is 0, expected 1 to 2^32");
  CHECK(error({values.data(), (std::size_t{1} << 32) + 1}, 1, indices, chosen) ==
        "values.size() is 4294967297, expected 1 to 2^32");
  CHECK(error(values, 11, indices, chosen) == "k is 11, expected at most values.size() = 10");
  CHECK(error(values, 3, indices, std::span(chosen).first(2)) ==
        "chosen.size() is 2, expected room for at least k = 3");
  CHECK(error(values, 3, std::span(indices).first(9), chosen) == "indices.size() is 9, expected chosen.size() = 10");
  CHECK(error(chosen, 3, indices, chosen) == "chosen or indices overlaps values, expected memory of its own");
  const auto beyond = [](auto all) {
    using Element = typename decltype(all)::element_type;
    return std::span<Element>(reinterpret_cast<Element*>(reinterpret_cast<std::uintptr_t>(all.data()) + 1), 9);
  };
  const std::string said = " is at an address 1 bytes beyond an element's, expected a multiple of 4";
  CHECK(error(beyond(std::span(values)), 3, indices, chosen) == "values" + said);
  CHECK(error(values, 3, beyond(std::span(indices)), chosen) == "indices" + said);
  CHECK(error(values, 3, indices, beyond(std::span(chosen))) == "chosen" + said);
  CHECK(selector.state().step == 0);
  CHECK(error(values, 3, indices, chosen) == "");
  CHECK(selector.state().step == 1);

  const auto naming = [](const std::string& name) { return argument_error([&] { Selector<double> named(name); }); };
  CHECK(naming("exakt") == "algorithm is exakt, expected one of " + selection_algorithms().names());
  CHECK(naming("exact(2)") == "algorithm is exact(2), expected exact without a number");
  CHECK(naming("exact-per-bucket(x)") ==
        "algorithm is exact-per-bucket(x), expected exact-per-bucket(NUMBER), the number being its elements a bucket");
  for (const SelectionAlgorithm& algorithm : selection_algorithms()) {
    if (!algorithm.in_buckets) continue;
    for (const std::string number : {"0", "1.5", "-512"})
      CHECK(naming(algorithm.name + '(' + number + ')') == "the number of " + algorithm.name + '(' + number +
                                                               "), its elements a bucket, is " + number +
                                                               ", expected a whole number, 1 or more");
  }
  CHECK(naming("threshold-reuse(1.5)") ==
        "the number of threshold-reuse(1.5), its steps between two evaluations, is 1.5, expected a whole number, 1 or "
        "more");
  CHECK(naming("threshold-reuse(64)") == "");
}
