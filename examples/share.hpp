// One rank's share of the digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dsop/views.hpp>

#include "learn/data/digits.hpp"

namespace examples {

/// All digits stand in one shuffled order, the same for any number of ranks P, and rank r keeps those at places r, r +
/// P, r + 2 P, ... So of any run of places, such as a global batch, each rank has its part, as a run of its own rows,
/// and no two parts differ by more than one in size.
class Share {
 public:
  Share() = default;
  Share(const dsop::learn::Digits& digits, int rank, int ranks);

  std::size_t total() const { return total_; }        ///< digits of all ranks
  std::size_t features() const { return features_; }  ///< columns of images()

  /// This rank's part of the places [first, last): a row each, the pixels from 0 to 1 and then a constant 1, whose
  /// weight is the bias. The share owns what is seen.
  dsop::MatrixView<const float> images(std::size_t first, std::size_t last) const;
  /// Their labels.
  std::span<const std::uint8_t> labels(std::size_t first, std::size_t last) const;

 private:
  std::size_t rows_before(std::size_t place) const { return (place + ranks_ - 1 - rank_) / ranks_; }

  std::size_t rank_ = 0;
  std::size_t ranks_ = 1;
  std::size_t total_ = 0;
  std::size_t features_ = 0;
  std::vector<float> images_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace examples
