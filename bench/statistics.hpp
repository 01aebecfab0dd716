// Order statistics of timing samples.
#pragma once

#include <span>

namespace dsop::bench {

struct Interval {
  double low;
  double high;
};

/// The value below which the fraction `q` of the samples lies, interpolated linearly between neighbours (Hyndman and
/// Fan's type 7, numpy's default). Throws std::invalid_argument without samples or for q outside [0, 1].
double quantile(std::span<const double> samples, double q);

/// quantile(samples, 0.5).
double median(std::span<const double> samples);

/// The narrowest symmetric pair of order statistics that covers the true median with at least `confidence`, by the
/// binomial distribution, whatever the distribution of the samples (Le Boudec, Performance Evaluation, chapter 2). The
/// whole range of the samples if they are too few for that (below 6 for 0.95). Throws std::invalid_argument without
/// samples or for a confidence outside (0, 1).
Interval median_interval(std::span<const double> samples, double confidence = 0.95);

}  // namespace dsop::bench
