// Whether the intervals cover the median as often as they say, stopping early included.
#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "stopping_rule.hpp"

using namespace dsop::bench;

namespace {

using Generator = std::mt19937_64;

struct Distribution {
  const char* name;
  double true_median;
  std::function<double(Generator&)> draw;
};

// Times as benchmarks give them: skewed, with two modes, or with a heavy tail.
std::vector<Distribution> distributions() {
  return {
      {"lognormal", 1, [](Generator& g) { return std::lognormal_distribution<double>(0, 0.3)(g); }},
      {"two modes", 1.2,  // 0.6 of the mass is at 1 .. 1.24, evenly: the median lies at 0.5 / 0.6 of it
       [](Generator& g) {
         std::uniform_real_distribution<double> unit;
         return unit(g) < 0.6 ? 1 + 0.24 * unit(g) : 2 + unit(g);
       }},
      {"heavy tail", std::sqrt(2.0),  // Pareto with exponent 2
       [](Generator& g) { return 1 / std::sqrt(1 - std::uniform_real_distribution<double>()(g)); }},
  };
}

double coverage(const Distribution& distribution, const StoppingRule& rule) {
  constexpr int runs = 4000;
  Generator generator(1);
  int covered = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<double> samples{distribution.draw(generator)};
    while (!rule.enough(samples)) samples.push_back(distribution.draw(generator));
    const Interval interval = rule.interval(samples);
    if (interval.low <= distribution.true_median && distribution.true_median <= interval.high) ++covered;
  }
  return static_cast<double>(covered) / runs;
}

}  // namespace

TEST_CASE("intervals cover the median at least 94 times in a hundred, also when a narrow one ends the run") {
  for (const Distribution& distribution : distributions())
    for (const double precision : {0.0, 0.05, 0.1, 0.2})
      for (const std::size_t most : {8UL, 25UL, 200UL}) {
        INFO(distribution.name << ", precision " << precision << ", at most " << most);
        CHECK(coverage(distribution, StoppingRule(most, precision)) >= 0.94);
      }
}

TEST_CASE("sampling stops early when the samples agree, and only then") {
  const StoppingRule rule(1000, 0.05);
  CHECK(rule.enough(std::vector<double>(12, 1.0)));
  CHECK_FALSE(rule.enough(std::vector<double>(11, 1.0)));
  std::vector<double> apart(12, 1.0);
  for (std::size_t i = 0; i < 6; ++i) apart[i] = 2;
  CHECK_FALSE(rule.enough(apart));
  CHECK(rule.enough(std::vector<double>(1000, 1.0)));
}
