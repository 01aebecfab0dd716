// The order in which samples are seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/mix.hpp"

namespace dsop::learn {

/// 0 .. count-1 in an order that looks random, a function of seed and epoch (Fisher and Yates' shuffle).
inline std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::size_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::uint64_t stream = mix(mix(seed) + epoch);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[mix(stream + i) % i]);
  return order;
}

/// The order of the epoch that was asked for last.
class EpochOrder {
 public:
  EpochOrder(std::size_t count, std::uint64_t seed) : count_(count), seed_(seed) {}

  const std::vector<std::size_t>& of(std::size_t epoch) {
    if (order_.empty() || epoch != epoch_) order_ = shuffled(count_, seed_, epoch);
    epoch_ = epoch;
    return order_;
  }

 private:
  std::size_t count_;
  std::uint64_t seed_;
  std::size_t epoch_ = 0;
  std::vector<std::size_t> order_;
};

}  // namespace dsop::learn
