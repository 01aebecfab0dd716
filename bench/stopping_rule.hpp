// When enough samples have been taken.
#pragma once

#include <cstddef>
#include <span>

#include "statistics.hpp"

namespace dsop::bench {

/// Looks at the samples a few times only, each time twice as many as before, and stops when the interval of the median
/// is within +- `precision` of it. A 95 % interval that is looked at until it happens to be narrow covers the median
/// less often than it says (80 to 86 %); so each look uses 1 - 0.05 / looks, and all of them together miss the median
/// in 5 % of runs at most (Bonferroni), whichever look ends the run.
class StoppingRule {
 public:
  /// `precision` 0 never stops early and keeps the plain 95 %.
  StoppingRule(std::size_t most_samples, double precision);

  /// Whether enough() can be true with so many samples.
  bool looks_at(std::size_t samples) const;
  bool enough(std::span<const double> samples) const;
  Interval interval(std::span<const double> samples) const { return median_interval(samples, confidence_); }
  /// Of the interval at one look.
  double confidence() const { return confidence_; }

 private:
  static constexpr std::size_t first_look = 12;

  std::size_t most_samples_;
  double precision_;
  double confidence_ = 0.95;
};

}  // namespace dsop::bench
