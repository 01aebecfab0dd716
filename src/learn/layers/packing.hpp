// Sequences of unequal lengths, side by side without filling.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dsop::learn {

/// Sequences, longest first, packed step by step: the rows of step t are those of the sequences longer than t.
/// Example: lengths 3 2 1 give the rows  a0 b0 c0 | a1 b1 | a2.
class Packing {
 public:
  /// `lengths` fall and are at least 1.
  explicit Packing(std::span<const std::size_t> lengths) : lengths_(lengths.begin(), lengths.end()) {
    std::size_t active = lengths.size();
    for (std::size_t t = 0; active > 0; ++t) {
      first_.push_back(first_.back() + active);
      while (active > 0 && lengths[active - 1] <= t + 1) --active;
    }
  }

  std::size_t sequences() const { return lengths_.size(); }
  std::size_t steps() const { return first_.size() - 1; }
  std::size_t rows() const { return first_.back(); }
  std::size_t length(std::size_t sequence) const { return lengths_[sequence]; }
  std::size_t active(std::size_t step) const { return first_[step + 1] - first_[step]; }
  std::size_t row(std::size_t sequence, std::size_t step) const { return first_[step] + sequence; }
  std::size_t last_row(std::size_t sequence) const { return row(sequence, lengths_[sequence] - 1); }

 private:
  std::vector<std::size_t> lengths_;
  std::vector<std::size_t> first_{0};  // first_[t]: the first row of step t
};

}  // namespace dsop::learn
