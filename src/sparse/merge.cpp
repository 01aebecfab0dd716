#include "sparse/merge.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "kernels/join_equal.hpp"

namespace dsop::sparse {
namespace {

/// What comes next of left and of right.
struct Place {
  std::size_t l, r;
};

// A step waits for the last one at its place, which says where to read, but not for those at others. A third place
// finds no registers left.
constexpr std::size_t places = 2;

// At a place: a block's pairs stay in the first-level cache until those of equal index are joined, and beside them
// where they go then and what the next block reads.
constexpr std::size_t most_steps = 128;
// Fewer take longer to begin than they save.
constexpr std::size_t fewest_steps = 16;

// In which a place moves on by a line of indices in both vectors, if they are alike dense.
constexpr std::size_t line_bytes = 64;
constexpr std::size_t steps_in_line = 2 * line_bytes / sizeof(Index);

// Blocks are too short for the processor to see by itself what comes next.
template <bool to_write, class Item>
[[gnu::always_inline]] inline void prefetch(const Item* items, std::size_t count) {
  const auto begin = reinterpret_cast<std::uintptr_t>(items);
  for (std::uintptr_t byte = 0; byte < count * sizeof(Item); byte += line_bytes)
    __builtin_prefetch(reinterpret_cast<const void*>(begin + byte), to_write);
}

/// Pairs in the order of their indices, left's first of two that have the same, and beside them what join_equal() looks
/// at.
template <class T>
struct Block {
  Index before_first;
  std::array<Index, places * most_steps + 2> indices;
  std::array<T, places * most_steps + 2> values;
};

/// `steps` pairs from each place on, which both vectors must have, to most_steps times the place's number. Prefetches
/// sum_indices and sum_values, where they go from there. Without a branch, as it is chance which vector's pair comes
/// next; apart from what calls it, so that all that it needs stays in registers.
template <class T>
[[gnu::noinline]] void merge_steps(const Stream<T>& left, const Stream<T>& right, std::array<Place, places>& at,
                                   std::size_t steps, Block<T>& __restrict block, const Index* sum_indices,
                                   const T* sum_values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Index* const left_indices = left.indices.data();
  const Index* const right_indices = right.indices.data();
  const T* const left_values = left.values.data();
  const T* const right_values = right.values.data();
  std::array<Place, places> here = at;
  for (std::size_t step = 0; step < steps;) {
    constexpr std::size_t in_line = line_bytes / sizeof(Index);
    constexpr std::size_t next_block = places * most_steps / 2;
    for (const auto& [l, r] : here) {
      prefetch<false>(left_indices + next_block + l, in_line);
      prefetch<false>(left_values + next_block + l, in_line);
      prefetch<false>(right_indices + next_block + r, in_line);
      prefetch<false>(right_values + next_block + r, in_line);
    }
    prefetch<true>(sum_indices + places * step, places * steps_in_line);
    prefetch<true>(sum_values + places * step, places * steps_in_line);
    for (const std::size_t end = std::min(step + steps_in_line, steps); step < end; ++step)
      for (std::size_t i = 0; i < places; ++i) {
        auto& [l, r] = here[i];
        const Index from_left = left_indices[l];
        const Index from_right = right_indices[r];
        const auto bits_left = std::bit_cast<Bits>(left_values[l]);
        const auto bits_right = std::bit_cast<Bits>(right_values[r]);
        std::size_t takes_right = std::size_t{0} - static_cast<std::size_t>(from_right < from_left);
        asm("" : "+r"(takes_right));  // a mask: who sees that it has two values makes a branch of it
        block.indices[i * most_steps + step] = std::min(from_left, from_right);
        block.values[i * most_steps + step] =
            std::bit_cast<T>(bits_left ^ ((bits_left ^ bits_right) & static_cast<Bits>(takes_right)));
        l += 1 + takes_right;
        r -= takes_right;
      }
  }
  at = here;
}

template <class T>
class Merge {
 public:
  // The result's values stand first in memory, the indices behind room for all values.
  Merge(const Stream<T>& left, const Stream<T>& right, std::span<T> memory)
      : left_(left),
        right_(right),
        values_(memory.data()),
        indices_(reinterpret_cast<Index*>(values_ + left.indices.size() + right.indices.size())) {}

  Stream<T> make() {
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
    for (std::size_t i = 1; i < places && steps < most_steps; ++i) {
      std::copy_n(block_.indices.begin() + i * most_steps, steps, block_.indices.begin() + i * steps);
      std::copy_n(block_.values.begin() + i * most_steps, steps, block_.values.begin() + i * steps);
    }
    std::size_t pairs = places * steps;
    if (next_.r < right_.indices.size() && right_.indices[next_.r] == block_.indices[pairs - 1]) {
      block_.indices[pairs] = right_.indices[next_.r];
      block_.values[pairs++] = right_.values[next_.r++];
    }
    block_.before_first = ~block_.indices[0];
    block_.indices[pairs] = ~block_.indices[pairs - 1];
    block_.values[pairs] = T{0};
    count_ += join_equal(block_.indices.data(), block_.values.data(), pairs, indices_ + count_, values_ + count_);
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
  void append(const Stream<T>& from, std::size_t first) {
    std::copy(from.indices.begin() + static_cast<std::ptrdiff_t>(first), from.indices.end(), indices_ + count_);
    std::copy(from.values.begin() + static_cast<std::ptrdiff_t>(first), from.values.end(), values_ + count_);
    count_ += from.indices.size() - first;
  }

  const Stream<T>& left_;
  const Stream<T>& right_;
  T* values_;
  Index* indices_;
  std::size_t count_ = 0;
  Place next_{0, 0};
  Block<T> block_;
};

}  // namespace

template <class T>
Stream<T> merge(const Stream<T>& left, const Stream<T>& right, std::span<T> memory) {
  return Merge<T>(left, right, memory).make();
}

template Stream<float> merge(const Stream<float>&, const Stream<float>&, std::span<float>);
template Stream<double> merge(const Stream<double>&, const Stream<double>&, std::span<double>);

}  // namespace dsop::sparse
