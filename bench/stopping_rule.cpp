#include "stopping_rule.hpp"

#include <algorithm>

namespace dsop::bench {

StoppingRule::StoppingRule(std::size_t most_samples, double precision)
    : most_samples_(most_samples), precision_(precision) {
  if (precision_ == 0) return;
  std::size_t looks = 1;
  for (std::size_t samples = first_look; samples < most_samples_; samples *= 2) ++looks;
  confidence_ = 1 - 0.05 / static_cast<double>(looks);
}

bool StoppingRule::is_look(std::size_t samples) const {
  for (std::size_t look = first_look; look <= samples; look *= 2)
    if (look == samples) return true;
  return false;
}

bool StoppingRule::enough(std::span<const double> samples) const {
  if (samples.size() >= most_samples_) return true;
  if (precision_ == 0 || !is_look(samples.size())) return false;
  const Interval bounds = interval(samples);
  const double middle = median(samples);
  return bounds.high - middle <= precision_ * middle && middle - bounds.low <= precision_ * middle;
}

}  // namespace dsop::bench
