#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace dsop::bench {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("samples: there are none, expected at least one");
  std::vector<double> result(samples.begin(), samples.end());
  std::sort(result.begin(), result.end());
  return result;
}

/// The probability that exactly `heads` of `throws` throws of a fair coin are heads.
double fair_coin(std::size_t heads, std::size_t throws) {
  const auto h = static_cast<double>(heads), t = static_cast<double>(throws);
  return std::exp(std::lgamma(t + 1) - std::lgamma(h + 1) - std::lgamma(t - h + 1) - t * std::log(2.0));
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
  if (!(q >= 0 && q <= 1)) throw std::invalid_argument("q: " + std::to_string(q) + ", expected a number from 0 to 1");
  const std::vector<double> ordered = sorted(samples);
  const double position = q * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ordered.size() - 1);
  return std::lerp(ordered[below], ordered[above], position - static_cast<double>(below));
}

double median(std::span<const double> samples) {
  return quantile(samples, 0.5);
}

Interval median_interval(std::span<const double> samples, double confidence) {
  if (!(confidence > 0 && confidence < 1))
    throw std::invalid_argument("confidence: " + std::to_string(confidence) +
                                ", expected a number between 0 and 1, without them");
  const std::vector<double> ordered = sorted(samples);
  const std::size_t last = ordered.size() - 1;
  // The pair (depth, last - depth) misses the median when at most `depth` samples fall on one side of it.
  std::size_t depth = 0;
  double one_side = fair_coin(0, ordered.size());
  while (2 * (depth + 1) <= last) {
    one_side += fair_coin(depth + 1, ordered.size());
    if (1 - 2 * one_side < confidence) break;
    ++depth;
  }
  return {ordered[depth], ordered[last - depth]};
}

}  // namespace dsop::bench
