// What the selecting allreduces send, counted.
#include <catch2/catch.hpp>

#include <cmath>
#include <mutex>

#include <dsop/counting.hpp>

#include "sparse_inputs.hpp"
#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

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
struct TwoCalls {
  Traffic first, second;
  std::size_t chosen = 0;
  std::size_t in_sum = 0;
  bool moved = false;  // the global threshold, in the second
};

template <class GradientOf>
TwoCalls count(int P, const std::string& algorithm, std::size_t k, GradientOf gradient_of, Wire wire = Wire::full) {
  TwoCalls counted;
  std::mutex mutex;
  run_on_threads(P, [&](Transport& threads) {
    CountingTransport transport(threads);
    std::vector<float> values = gradient_of(threads.rank(), 0);
    TopKAllreduce<float> allreduce(transport, values.size(),
                                   {.algorithm = algorithm, .machine = Machine{}, .wire = wire});
    static_cast<void>(allreduce.run(values, k));
    const Traffic first = transport.payload();
    const double threshold = allreduce.state().global_threshold;
    const std::vector<float> gradient = gradient_of(threads.rank(), 1);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += gradient[i];
    const TopKSum<float> result = allreduce.run(values, k);
    const std::lock_guard lock(mutex);
    counted.first.raise_to(first);
    counted.second.raise_to({transport.payload().messages - first.messages, transport.payload().bytes - first.bytes});
    counted.chosen = std::max(counted.chosen, result.chosen);
    counted.in_sum = result.sum.indices.size();
    counted.moved = allreduce.state().global_threshold != threshold;
  });
  return counted;
}

}  // namespace

TEST_CASE("every selecting allreduce sends the messages and bytes that its formula states", "[topk]") {
  const int P = GENERATE(2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  const Wire wire = GENERATE(Wire::full, Wire::bf16);
  const std::size_t k = 4 * static_cast<std::size_t>(P);
  const auto same_places = [&](int, int) {
    std::vector<float> gradient(64 * k);
    for (std::size_t j = 0; j < k; ++j) gradient[64 * j + 31] = 5;
    return gradient;
  };
  for (const TopKAlgorithm& algorithm : topk_algorithms()) {
    if (algorithm.exact_sum == "auto" && wire == Wire::full) continue;  // as the sparse algorithm that it takes
    INFO(algorithm.name << ", P = " << P << ", wire " << name(wire));
    const TwoCalls counted = count(P, algorithm.name, k, same_places, wire);
    const Cost stated = topk_cost({.elements = 64 * k, .k = k, .ranks = P, .wire = wire}, Machine{}, algorithm.name);
    CHECK(counted.chosen == k);
    CHECK(counted.second.messages == stated.messages);
    CHECK(counted.second.bytes == stated.bytes);
  }
}

TEST_CASE("predicted times hold what is rounded and widened", "[topk]") {
  const int P = GENERATE(2, 3, 8, 11);
  const auto ranks = static_cast<std::size_t>(P);
  const std::size_t k = 1000 * ranks;
  const Machine machine;
  const auto levels = static_cast<std::size_t>(std::ceil(std::log2(P)));
  // ok-topk: k rounded and widened in its first half, k/P and k in its second; gtopk: k of each on each way.
  for (const auto& [algorithm, converted] :
       {std::pair("ok-topk", 3 * k + k / ranks), std::pair("gtopk", 2 * (levels + 1) * k)}) {
    const auto seconds = [&, name = algorithm](Wire wire) {
      return topk_cost({.elements = 64 * k, .k = k, .ranks = P, .wire = wire}, machine, name).arithmetic_seconds;
    };
    INFO(algorithm << ", P = " << P);
    const double expected = machine.memory_seconds(6 * static_cast<double>(converted));
    CHECK(seconds(Wire::bf16) - seconds(Wire::full) == Approx(expected));
  }
}

TEST_CASE("ok-topk shares out what is gathered where one rank's region holds it all", "[topk]") {
  constexpr int P = 16;
  constexpr std::size_t k = 1024;
  const auto first_places = [](int, int) {
    std::vector<float> gradient(64 * k);
    std::fill_n(gradient.begin(), k, 5.0F);
    return gradient;
  };
  const auto bytes = [&](const char* algorithm) { return count(P, algorithm, k, first_places).second.bytes; };
  CHECK(10 * bytes("ok-topk-equal-regions") < 8 * bytes("ok-topk-naive"));
}

TEST_CASE("ok-topk shares out what balanced regions do not balance: large sums where each rank holds few", "[topk]") {
  const int P = GENERATE(8, 16);
  constexpr std::size_t k = 1024;
  const auto hot_region = [](int rank, int) {
    return bench::gradient_like<float>(rank, 100 * k, 0.01, bench::Distribution::hot_region);
  };
  const auto bytes = [&](const char* algorithm) { return count(P, algorithm, k, hot_region).second.bytes; };
  INFO("P = " << P);
  CHECK(10 * bytes("ok-topk") < 8 * bytes("ok-topk-direct"));
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
  const TwoCalls ok = count(P, "ok-topk", k, mixture);
  const std::size_t most = std::max(ok.chosen, ok.in_sum);
  INFO("chosen " << ok.chosen << " of " << k << ", in the sum " << ok.in_sum << ", words " << ok.second.bytes / 4);
  CHECK(ok.second.bytes / 4 <= 6 * most * (ranks - 1) / ranks + 14 * ranks);
  CHECK(ok.first.bytes / 4 <= 6 * k * (ranks - 1) / ranks + k * ranks + 30 * ranks);
  const auto levels = static_cast<std::size_t>(std::ceil(std::log2(P)));
  CHECK(count(P, "gtopk", k, mixture).second.bytes / 4 == levels * (2 * k + 8));
}

TEST_CASE("ok-topk's calls that evaluate thresholds send k (P-1) words more where ranks are alike, else 2 k (P-1)",
          "[topk]") {
  const int P = GENERATE(2, 4, 8, 12, 16, 32);
  const auto ranks = static_cast<std::size_t>(P);
  const std::size_t k = 20 * ranks;
  INFO("P = " << P << ", k = " << k);
  const std::size_t alike = 6 * k * (ranks - 1) / ranks + k * (ranks - 1) + 40 * ranks;
  const std::size_t unlike = 8 * k + 2 * k * (ranks - 1) + 40 * ranks;
  for (const auto distribution :
       {bench::Distribution::uniform, bench::Distribution::one_region, bench::Distribution::clustered}) {
    const auto gradient = [&](int rank, int) { return bench::gradient_like<float>(rank, 50 * k, 0.02, distribution); };
    const bool is_alike = distribution != bench::Distribution::clustered;
    INFO(bench::name(distribution));
    CHECK(count(P, "ok-topk", k, gradient).first.bytes / 4 <= (is_alike ? alike : unlike));
    CHECK(count(P, "ok-topk-equal-regions", k, gradient).first.bytes / 4 <= unlike);
  }
  // Two thirds of the first of P equal regions, which so is dense, no element of two ranks.
  const auto one_region_apart = [&](int rank, int) {
    std::vector<float> gradient(3 * k * ranks * ranks / 2);
    for (std::size_t j = 0; j < k; ++j) gradient[3 * (static_cast<std::size_t>(rank) + ranks * j) / 2] = 5;
    return gradient;
  };
  CHECK(count(P, "ok-topk", k, one_region_apart).first.bytes / 4 <= alike);
  CHECK(count(P, "ok-topk-equal-regions", k, one_region_apart).first.bytes / 4 <= unlike);
}

TEST_CASE("ok-topk's calls that move the global threshold send 256 log2 P words more", "[topk]") {
  const int P = GENERATE(2, 4, 8, 12, 16, 32);
  const auto ranks = static_cast<std::size_t>(P);
  const std::size_t k = 60 * ranks;
  // Sums that are a third larger, without what the first call has taken.
  const auto growing = [&](int rank, int step) {
    std::vector<float> gradient = bench::gradient_like<float>(rank, 50 * k, 0.06, bench::Distribution::uniform);
    for (float& x : gradient) x *= step == 0 ? 1.0F : 0.33F;
    return gradient;
  };
  INFO("P = " << P << ", k = " << k);
  const TwoCalls counted = count(P, "ok-topk", k, growing);
  const std::size_t most = std::max({counted.chosen, counted.in_sum, k});
  const auto levels = static_cast<std::size_t>(std::ceil(std::log2(P)));
  CHECK(counted.moved);
  CHECK(counted.second.bytes / 4 <= 6 * most * (ranks - 1) / ranks + 256 * levels + 15 * ranks);
}
