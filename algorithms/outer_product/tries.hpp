// A layer's tries: the candidates near the best take its first runs by turns, and the fastest stays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "call/record.hpp"

namespace dsop::outer_product {

/// Decides by what all ranks' records say, so all ranks decide alike.
class Tries {
 public:
  /// Candidates are tried that are predicted to take at most so many times as long as the best.
  static constexpr double near = 2;

  Tries() = default;
  Tries(std::vector<std::string> algorithms, int each)
      : algorithms_(std::move(algorithms)),
        least_seconds_(algorithms_.size(), std::numeric_limits<double>::infinity()),
        turns_(algorithms_.size() * static_cast<std::size_t>(each)) {}

  bool active() const { return !algorithms_.empty(); }
  std::size_t left() const { return turns_ - turn_; }
  /// What the slowest rank took for the turn that is over, if there was one.
  void take_times(std::span<const Record> records) {
    if (turn_ == 0) return;
    double slowest = 0;
    for (const Record& record : records) slowest = std::max(slowest, record.last_call_seconds());
    double& least = least_seconds_[(turn_ - 1) % algorithms_.size()];
    least = std::min(least, slowest);
  }
  const std::string& next() { return algorithms_[turn_++ % algorithms_.size()]; }
  const std::string& fastest() const {
    const auto least = std::min_element(least_seconds_.begin(), least_seconds_.end());
    return algorithms_[static_cast<std::size_t>(least - least_seconds_.begin())];
  }

 private:
  std::vector<std::string> algorithms_ = {};  // with their parameters, as `auto` prefers them
  std::vector<double> least_seconds_ = {};    // of each, of its turns so far
  std::size_t turns_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace dsop::outer_product
