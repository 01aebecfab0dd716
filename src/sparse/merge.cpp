#include "sparse/merge.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <dsop/types.hpp>

#include "kernels/join_equal.hpp"
#include "sparse/merge_steps.hpp"

namespace dsop::sparse {
namespace {

// Fewer take longer to begin than they save.
constexpr std::size_t fewest_steps = 16;

template <class T>
class Merge {
 public:
  // The result's values stand first in memory, the indices behind room for all values.
  Merge(const SparseVectorView<T>& left, const SparseVectorView<T>& right, std::span<T> memory)
      : left_(left),
        right_(right),
        values_(memory.data()),
        indices_(reinterpret_cast<Index*>(values_ + left.indices.size() + right.indices.size())) {}

  SparseVectorView<T> make() {
    const kernels::JoinEqual<T> join_equal = kernels::equal_joiner<T>(best_instruction_set());
    for (std::size_t steps = sure_steps(); steps >= fewest_steps; steps = sure_steps()) add_block(steps, join_equal);
    finish();
    return {left_.dimension, {indices_, count_}, {values_, count_}};
  }

 private:
  // At each place, without a look at where the vectors end.
  std::size_t sure_steps() const {
    return std::min(
        {most_steps, (left_.indices.size() - next_.l) / places, (right_.indices.size() - next_.r) / places});
  }
  /// The place that `steps` lead to.
  Place after(std::size_t steps) const {
    std::size_t fewest = 0;  // that come from left
    std::size_t most = steps;
    while (fewest < most) {
      const std::size_t l = (fewest + most) / 2;
      const bool is_passed = left_.indices[next_.l + l] <= right_.indices[next_.r + steps - l - 1];
      (is_passed ? fewest : most) = is_passed ? l + 1 : l;
    }
    return {next_.l + fewest, next_.r + steps - fewest};
  }
  void add_block(std::size_t steps, kernels::JoinEqual<T> join_equal) {
    std::array<Place, places> at;
    for (std::size_t i = 0; i < places; ++i) at[i] = after(i * steps);
    merge_steps(left_, right_, at, steps, block_, indices_ + count_, values_ + count_);
    next_ = at.back();
    Index* const indices = block_.indices();
    T* const values = block_.values.data();
    for (std::size_t i = 1; i < places && steps < most_steps; ++i) {
      std::copy_n(indices + i * most_steps, steps, indices + i * steps);
      std::copy_n(values + i * most_steps, steps, values + i * steps);
    }
    std::size_t pairs = places * steps;
    if (next_.r < right_.indices.size() && right_.indices[next_.r] == indices[pairs - 1]) {
      indices[pairs] = right_.indices[next_.r];
      values[pairs++] = right_.values[next_.r++];
    }
    indices[-1] = ~indices[0];
    indices[pairs] = ~indices[pairs - 1];
    values[pairs] = T{0};
    count_ += join_equal(indices, values, pairs, indices_ + count_, values_ + count_);
  }
  void finish() {
    auto& [l, r] = next_;
    while (l < left_.indices.size() && r < right_.indices.size()) {
      const Index from_left = left_.indices[l];
      const Index from_right = right_.indices[r];
      indices_[count_] = std::min(from_left, from_right);
      if (from_left == from_right)
        values_[count_++] = left_.values[l++] + right_.values[r++];
      else
        values_[count_++] = from_left < from_right ? left_.values[l++] : right_.values[r++];
    }
    append(left_, l);
    append(right_, r);
  }
  void append(const SparseVectorView<T>& from, std::size_t first) {
    std::copy(from.indices.begin() + static_cast<std::ptrdiff_t>(first), from.indices.end(), indices_ + count_);
    std::copy(from.values.begin() + static_cast<std::ptrdiff_t>(first), from.values.end(), values_ + count_);
    count_ += from.indices.size() - first;
  }

  const SparseVectorView<T>& left_;
  const SparseVectorView<T>& right_;
  T* values_;
  Index* indices_;
  std::size_t count_ = 0;
  Place next_{0, 0};
  Block<T> block_;
};

// As many elements as are made at a time: few enough to stay in the cache.
constexpr std::size_t window = 1 << 14;

// Which of a window's elements are there: a bit for each, and a bit for each word of those.
class Marks {
 public:
  void set(std::size_t i) {
    bits_[i / 64] |= std::uint64_t{1} << (i % 64);
    words_[i / 4096] |= std::uint64_t{1} << (i / 64 % 64);
  }
  /// Calls visit(i) for each that is set, rising, and clears it.
  template <class Visit>
  void take(Visit visit) {
    for (std::size_t group = 0; group < words_.size(); ++group)
      for_each_bit(std::exchange(words_[group], 0), [&](std::size_t w) {
        const std::size_t word = 64 * group + w;
        for_each_bit(std::exchange(bits_[word], 0), [&](std::size_t bit) { visit(64 * word + bit); });
      });
  }

 private:
  template <class Visit>
  static void for_each_bit(std::uint64_t bits, Visit visit) {
    for (; bits != 0; bits &= bits - 1) visit(static_cast<std::size_t>(std::countr_zero(bits)));
  }

  std::array<std::uint64_t, window / 64> bits_{};
  std::array<std::uint64_t, window / 4096> words_{};
};

}  // namespace

template <class T>
SparseVectorView<T> merge(const SparseVectorView<T>& left, const SparseVectorView<T>& right, std::span<T> memory) {
  return Merge<T>(left, right, memory).make();
}

template <class T>
SparseVectorView<T> merge_all(SparseVectorView<T> first, std::span<SparseVectorView<T>> others, std::span<T> memory) {
  const auto for_each = [&](auto visit) {
    visit(first);
    for (SparseVectorView<T>& x : others) visit(x);
  };
  std::size_t total = 0;
  for_each([&](const SparseVectorView<T>& x) { total += x.indices.size(); });
  T* const values = memory.data();
  Index* const indices = reinterpret_cast<Index*>(values + total);
  constexpr T nothing = T{-0.0};  // what added leaves everything as it is, also -0
  std::array<T, window> sums;
  sums.fill(nothing);
  Marks marks;
  std::size_t count = 0;
  for (;;) {
    std::size_t begin = first.dimension;
    for_each([&](const SparseVectorView<T>& x) {
      if (!x.indices.empty()) begin = std::min<std::size_t>(begin, x.indices.front());
    });
    if (begin == first.dimension) return {first.dimension, {indices, count}, {values, count}};
    for_each([&](SparseVectorView<T>& x) {
      std::size_t e = 0;
      for (; e < x.indices.size() && x.indices[e] - begin < window; ++e) {
        const std::size_t i = x.indices[e] - begin;
        sums[i] += x.values[e];
        marks.set(i);
      }
      x.indices = x.indices.subspan(e);
      x.values = x.values.subspan(e);
    });
    marks.take([&](std::size_t i) {
      indices[count] = static_cast<Index>(begin + i);
      values[count++] = std::exchange(sums[i], nothing);
    });
  }
}

#define INSTANTIATE(T)                                                                                      \
  template SparseVectorView<T> merge(const SparseVectorView<T>&, const SparseVectorView<T>&, std::span<T>); \
  template SparseVectorView<T> merge_all(SparseVectorView<T>, std::span<SparseVectorView<T>>, std::span<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::sparse
