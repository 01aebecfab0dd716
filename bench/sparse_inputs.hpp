// Sparse vectors for tests of speed, and dense ones that are like gradients, most elements small and a few large: drawn
// from a rank and a distribution alone, so that every rank can make all.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include <dsop/sparse.hpp>

#include "inputs.hpp"

namespace dsop::bench {

/// Where a vector's elements are. Uniform: anywhere. Power law: the i-th most frequent is there with a chance that
/// falls as 1 / i, the same elements on all ranks, as words of a language are. Clustered: half of each of a few runs of
/// 256, other runs on each rank. One region: all in a tenth of the vector, the same on all ranks. Hot region: an eighth
/// of them there, gradients' ten times as large as the rest and at other places on each rank. Same: evenly spread, the
/// same elements on all ranks. Apart: evenly spread, no two ranks the same while density times ranks is at most 1.
enum class Distribution : unsigned char { uniform, power_law, clustered, one_region, hot_region, same, apart };

inline const std::array<std::string, 7> distribution_names{"uniform",    "power-law", "clustered", "one-region",
                                                           "hot-region", "same",      "apart"};

inline const std::string& name(Distribution distribution) {
  return distribution_names[static_cast<std::size_t>(distribution)];
}

/// The chance of each element of a vector of `size` to be there; on average `density`, as far as the distribution
/// allows.
class Chances {
 public:
  Chances(std::size_t size, double density, Distribution distribution)
      : size_(size), density_(density), distribution_(distribution) {
    const auto N = static_cast<double>(size);
    double low = 0;
    double high = N;
    for (int step = 0; step < 100 && distribution == Distribution::power_law; ++step) {
      most_frequent_ = (low + high) / 2;
      const double expected = most_frequent_ < N ? most_frequent_ * (1 + std::log(N / most_frequent_)) : N;
      (expected < density * N ? low : high) = most_frequent_;
    }
  }

  double of(int rank, std::size_t i) const {
    constexpr std::size_t run = 256;
    constexpr std::size_t spread = 2654435761;  // a prime: neighbours are not alike frequent
    switch (distribution_) {
      case Distribution::power_law:
        return std::min(1.0, most_frequent_ / static_cast<double>(1 + i * spread % size_));
      case Distribution::clustered:
        return uniform(mix(i / run) ^ static_cast<std::uint64_t>(rank)) < std::min(2 * density_, 1.0)
                   ? std::max(density_, 0.5)
                   : 0.0;
      case Distribution::one_region:
        return is_in_region(i) ? std::min(1.0, 10 * density_) : 0.0;
      case Distribution::hot_region:
        return std::min(1.0, density_ * (is_in_region(i) ? 10.0 / 8 : 7.0 / 8 * 10 / 9));
      case Distribution::same:
        return stands_at(0, i) ? 1.0 : 0.0;
      case Distribution::apart:
        return stands_at(static_cast<std::size_t>(rank), i) ? 1.0 : 0.0;
      case Distribution::uniform:
        break;
    }
    return density_;
  }

  /// Whether wide elements are ten times as wide there, at other places on each rank.
  bool is_hot(std::size_t i) const { return distribution_ == Distribution::hot_region && is_in_region(i); }

  /// From 0 to 1, below 1.
  static double uniform(std::uint64_t seed) { return static_cast<double>(mix(seed) >> 11) * 0x1p-53; }

 private:
  bool is_in_region(std::size_t i) const { return i < size_ / 10 + 1; }

  /// Of evenly spread elements, the first of which is `first`.
  bool stands_at(std::size_t first, std::size_t i) const {
    const auto period = density_ > 0 ? static_cast<std::size_t>(std::llround(1 / density_)) : 0;
    return period > 0 && i % period == first % period;
  }

  std::size_t size_;
  double density_;
  Distribution distribution_;
  double most_frequent_ = 0;  ///< power law: how many are always there
};

/// A rank's vector and its memory. Values are whole numbers, -4 to 4 without 0.
template <class T>
class SparseVector {
 public:
  static constexpr int largest = 4;

  SparseVector(int rank, std::size_t size, double density, Distribution distribution) : size_(size) {
    const Chances chances(size, density, distribution);
    const std::uint64_t seed = mix(static_cast<std::uint64_t>(rank) + 1);
    for (std::size_t i = 0; i < size; ++i) {
      if (Chances::uniform(seed + i) >= chances.of(rank, i)) continue;
      const std::uint64_t bits = mix(seed ^ mix(i));
      const auto value = static_cast<T>(bits % largest + 1);
      indices_.push_back(static_cast<std::uint32_t>(i));
      values_.push_back((bits & 4) == 0 ? value : -value);
    }
  }

  SparseVectorView<T> view() const { return {size_, indices_, values_}; }

 private:
  std::size_t size_;
  std::vector<std::uint32_t> indices_;
  std::vector<T> values_;
};

/// A mixture of normal values: wide ones (0.1; in a hot region 1), on average `density` of all, where the distribution
/// puts them; of the rest a tenth medium (0.01), the others narrow (0.001). All ranks have the same widths, but where
/// elements are clustered or in a hot region, and each has its own values.
template <class T>
std::vector<T> gradient_like(int rank, std::size_t size, double density, Distribution distribution) {
  const Chances chances(size, density, distribution);
  const std::uint64_t seed = mix(static_cast<std::uint64_t>(rank) + 1);
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    const bool is_hot = chances.is_hot(i);
    const double place = Chances::uniform(is_hot ? ~seed + i : i);  // not one of the values' below
    const double chance = chances.of(rank, i);
    const double width = place < chance ? (is_hot ? 1 : 0.1) : place < chance + 0.1 * (1 - chance) ? 0.01 : 0.001;
    const double radius = std::sqrt(-2 * std::log(1 - Chances::uniform(seed + 2 * i)));
    const double angle = 2 * std::numbers::pi * Chances::uniform(seed + 2 * i + 1);
    values[i] = static_cast<T>(width * radius * std::cos(angle));
  }
  return values;
}

}  // namespace dsop::bench
