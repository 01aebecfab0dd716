// What dsop-train measures beside the loss.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <dsop/threads.hpp>

#include "base/mix.hpp"
#include "learn/strategies/synchronized.hpp"

namespace dsop::learn {
namespace {

using Vector = std::vector<float>;

constexpr std::size_t rows = 10, columns = 8, pairs = 3, k = 8;

// Different whole numbers of a rank's step, as a pairs x width matrix.
Vector factor(int rank, std::size_t step, std::size_t width, std::uint64_t stream) {
  Vector values(pairs * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t seed = mix(mix(stream) + 100 * static_cast<std::uint64_t>(rank) + step);
    values[i] = static_cast<float>(static_cast<int>(mix(seed + i) % 2001) - 1000);
  }
  return values;
}

Vector product(const Vector& a, const Vector& b) {
  Vector all(rows * columns);
  for (std::size_t p = 0; p < pairs; ++p)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) all[i * columns + j] += a[p * rows + i] * b[p * columns + j];
  return all;
}

std::set<std::size_t> largest(const Vector& values) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t l, std::size_t r) { return std::abs(values[l]) > std::abs(values[r]); });
  return {places.begin(), places.begin() + k};
}

// Xi of each step, by Ok-Topk's definition: nothing but sums and sorting.
std::vector<double> plain_xi(int P, std::size_t steps) {
  std::vector<Vector> residuals(static_cast<std::size_t>(P), Vector(rows * columns));
  std::vector<double> all;
  for (std::size_t step = 1; step <= steps; ++step) {
    Vector gradient(rows * columns), accumulated(rows * columns), chosen(rows * columns);
    std::vector<std::set<std::size_t>> choices;
    for (int r = 0; r < P; ++r) {
      const Vector own = product(factor(r, step, rows, 1), factor(r, step, columns, 2));
      Vector& residual = residuals[static_cast<std::size_t>(r)];
      for (std::size_t i = 0; i < own.size(); ++i) {
        gradient[i] += own[i];
        residual[i] += own[i];
        accumulated[i] += residual[i];
      }
      choices.push_back(largest(residual));
      for (const std::size_t i : choices.back()) chosen[i] += residual[i];
    }
    const std::set<std::size_t> best = largest(accumulated), given = largest(chosen);
    double missed = 0, whole = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double difference = (best.contains(i) ? accumulated[i] : 0.0F) - (given.contains(i) ? chosen[i] : 0.0F);
      missed += difference * difference;
      whole += static_cast<double>(gradient[i]) * gradient[i];
    }
    for (std::size_t r = 0; r < residuals.size(); ++r)
      for (const std::size_t i : choices[r])
        if (given.contains(i)) residuals[r][i] = 0;
    all.push_back(std::sqrt(missed / whole));
  }
  return all;
}

}  // namespace

TEST_CASE("xi is what the largest of sums of largest miss, beside the gradient", "[learn]") {
  const int P = GENERATE(1, 2, 3, 5);
  INFO("P = " << P);
  constexpr std::size_t steps = 6;
  const std::vector<double> expected = plain_xi(P, steps);
  std::mutex mutex;
  run_on_threads(P, [&](Transport& transport) {
    Parameter<float> parameter("w", rows, columns, pairs);
    parameter.target = parameter.gradient.view();
    const auto strategy = make_synchronized(transport, {&parameter}, {.policies = {"ok-topk(1):0.1"}, .xi_every = 2});
    for (std::size_t step = 1; step <= steps; ++step) {
      const Vector a = factor(transport.rank(), step, rows, 1), b = factor(transport.rank(), step, columns, 2);
      strategy->begin(0.5);
      strategy->give(parameter, Factors<float>{{a.data(), pairs, rows}, {b.data(), pairs, columns}});
      strategy->finish();
      const std::lock_guard lock(mutex);
      const Selected& selected = strategy->report().selected;
      INFO("step " << step);
      CHECK(selected.target == k);
      CHECK(selected.xi.has_value() == (step % 2 == 0));
      if (selected.xi) CHECK(*selected.xi == Approx(expected[step - 1]).epsilon(1e-6));
    }
  });
  if (P > 1) CHECK(expected.back() > 0);
}

TEST_CASE("xi is refused where nothing is under ok-topk", "[learn]") {
  const auto make = [](Transport& transport) {
    Parameter<float> parameter("w", rows, columns, pairs);
    make_synchronized(transport, {&parameter}, {.policies = {"topk:0.1"}, .xi_every = 2});
  };
  CHECK_THROWS_WITH(run_on_threads(3, make), "ranks 0-2: --xi-every 2: no parameter is under ok-topk");
}

}  // namespace dsop::learn
