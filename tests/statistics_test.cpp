#include <catch2/catch.hpp>

#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "statistics.hpp"

using namespace dsop::bench;

namespace {

/// 1, 2, .. count, the largest first.
std::vector<double> counting(std::size_t count) {
  std::vector<double> samples(count);
  std::iota(samples.rbegin(), samples.rend(), 1.0);
  return samples;
}

}  // namespace

TEST_CASE("quantiles interpolate between neighbours", "[statistics]") {
  CHECK(median(counting(1)) == 1);
  CHECK(median(counting(5)) == 3);
  CHECK(median(counting(4)) == 2.5);
  CHECK(quantile(counting(5), 0) == 1);
  CHECK(quantile(counting(5), 1) == 5);
  CHECK(quantile(counting(5), 0.25) == 2);
  CHECK(quantile(counting(4), 0.9) == Approx(3.7));
}

TEST_CASE("the median's interval covers it with the smallest sufficient ranks", "[statistics]") {
  // Ranks from 1 for 95 %, from sums of binomial coefficients in whole numbers; below 6 samples none suffice.
  struct Row {
    std::size_t count;
    double low, high;
  };
  for (const auto& [count, low, high] : {Row{6, 1, 6}, Row{8, 1, 8}, Row{9, 2, 8}, Row{10, 2, 9}, Row{15, 4, 12},
                                         Row{20, 6, 15}, Row{30, 10, 21}, Row{50, 18, 33}}) {
    const Interval interval = median_interval(counting(count));
    INFO(count << " samples");
    CHECK(interval.low == low);
    CHECK(interval.high == high);
  }
}

TEST_CASE("too few samples give their whole range", "[statistics]") {
  CHECK(median_interval(counting(1)).low == 1);
  CHECK(median_interval(counting(5)).low == 1);
  CHECK(median_interval(counting(5)).high == 5);
  CHECK(median_interval(counting(10), 0.999).high == 10);
}

TEST_CASE("many samples do not underflow", "[statistics]") {
  const Interval interval = median_interval(counting(10000));
  CHECK(interval.low == 4902);
  CHECK(interval.high == 5099);
}

TEST_CASE("statistics of nothing, or at no probability, are errors", "[statistics]") {
  CHECK_THROWS_AS(median({}), std::invalid_argument);
  CHECK_THROWS_AS(median_interval({}), std::invalid_argument);
  CHECK_THROWS_AS(quantile(counting(3), 1.5), std::invalid_argument);
  CHECK_THROWS_AS(quantile(counting(3), std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
  CHECK_THROWS_AS(median_interval(counting(3), 1), std::invalid_argument);
}
