// A vector or the rows of a matrix, shared out among ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace dsop::patterns {

/// `total` elements as `count` consecutive blocks whose sizes differ by at most one; the larger ones come first.
/// Example: 10 elements in 4 blocks: [0 1 2] [3 4 5] [6 7] [8 9]. Blocks may be empty.
class Blocks {
 public:
  Blocks(std::size_t total, int count) : total_(total), count_(static_cast<std::size_t>(count)) {}

  std::size_t offset(int block) const {
    const auto b = static_cast<std::size_t>(block);
    return b * (total_ / count_) + std::min(b, total_ % count_);
  }
  std::size_t size(int first, int blocks = 1) const { return offset(first + blocks) - offset(first); }
  std::size_t largest() const { return size(0); }

  /// The part of `data` (of `total` elements) that blocks first .. first + blocks - 1 cover.
  template <class T>
  std::span<T> of(std::span<T> data, int first, int blocks = 1) const {
    return data.subspan(offset(first), size(first, blocks));
  }

 private:
  std::size_t total_;
  std::size_t count_;
};

}  // namespace dsop::patterns
