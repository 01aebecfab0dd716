// The driver's part of benchmarks on one rank: of kernels, selections and sums of two vectors.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "benchmark.hpp"

namespace dsop::bench {

struct LoopOptions {
  std::string dtype = "both";  ///< f32, f64 or both
  std::size_t iterations = 15;
  std::string out = {};  ///< JSON lines are appended to it; empty: none
};

/// A contender without messages. A turn lasts a millisecond at least and follows an untimed call, so that memory is
/// where that contender leaves it.
struct LoopRow : Row {
  LoopRow(std::string name, std::function<void()> body) : Row(std::move(name)), call(std::move(body)) {
    untimed_calls = 1;
  }
  void run() override { call(); }
  std::optional<std::size_t> count_wrong() override { return check ? check() : std::nullopt; }
  const Row& other(std::size_t i) const { return *(*among)[i]; }

  std::function<void()> call;
  std::function<std::optional<std::size_t>()> check =
      {};  ///< after a call, elements that are wrong; empty: none can be
};

/// The median and its 95 % interval.
inline Columns interval_columns(const std::string& title, int width, int interval_width, const Row& row, Print print) {
  const Interval interval = row.samples.interval(0);
  return {{title, width, "", row.median_seconds(), print},
          {"low", interval_width, "", interval.low, print},
          {"high", interval_width, "", interval.high, print}};
}

/// As benchmark(), verified, on one rank that is not among others. The objects have calls_per_sample and seconds, too.
void benchmark_loops(Family family, const LoopOptions& options, const std::vector<Input>& inputs);
Columns loop_fields(const Row& row);

}  // namespace dsop::bench
