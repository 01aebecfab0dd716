#include "share.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace examples {

Share::Share(const dsop::learn::Digits& digits, int rank, int ranks)
    : rank_(static_cast<std::size_t>(rank)),
      ranks_(static_cast<std::size_t>(ranks)),
      total_(digits.count()),
      features_(digits.rows * digits.columns + 1) {
  std::vector<std::size_t> order(total_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(1));

  const std::size_t pixels = features_ - 1;
  images_.reserve(rows_before(total_) * features_);
  for (std::size_t place = rank_; place < total_; place += ranks_) {
    const std::uint8_t* const picture = digits.pixels.data() + order[place] * pixels;
    for (std::size_t i = 0; i < pixels; ++i) images_.push_back(static_cast<float>(picture[i]) / 255);
    images_.push_back(1);
    labels_.push_back(digits.labels[order[place]]);
  }
}

dsop::MatrixView<const float> Share::images(std::size_t first, std::size_t last) const {
  const dsop::MatrixView<const float> all(images_.data(), labels_.size(), features_);
  return all.row_range(rows_before(first), rows_before(last) - rows_before(first));
}

std::span<const std::uint8_t> Share::labels(std::size_t first, std::size_t last) const {
  return std::span(labels_).subspan(rows_before(first), rows_before(last) - rows_before(first));
}

}  // namespace examples
