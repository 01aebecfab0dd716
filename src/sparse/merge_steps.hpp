// The inner loop of merge(): pairs of two vectors in the order of their indices, a block that stays in the cache at a
// time. Blocks follow the merge path (Odeh et al., "Merge path - parallel merging made simple", IPDPS workshops 2012):
// where a block ends is known from how many pairs it has, so several places of it can be merged at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "sparse/vector.hpp"

namespace dsop::sparse {

/// What comes next of left and of right.
struct Place {
  std::size_t l, r;
};

// A step waits for the last one at its place, which says where to read, but not for those at others. A third place
// finds no registers left.
inline constexpr std::size_t places = 2;

// At a place: a block's pairs stay in the first-level cache until those of equal index are joined, and beside them
// where they go then and what the next block reads.
inline constexpr std::size_t most_steps = 128;

// In which a place moves on by a line of indices in both vectors, if they are alike dense.
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t steps_in_line = 2 * line_bytes / sizeof(Index);

// Blocks are too short for the processor to see by itself what comes next. May reach beyond the vector's end.
template <bool to_write, class Item>
[[gnu::always_inline]] inline void prefetch(const Item* items, std::size_t first, std::size_t count) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(items) + first * sizeof(Item);
  for (std::uintptr_t byte = 0; byte < count * sizeof(Item); byte += line_bytes)
    __builtin_prefetch(reinterpret_cast<const void*>(begin + byte), to_write);
}

/// Room for pairs, for one more of right's behind them, and for what join_equal() looks at before and behind those.
template <class T>
struct Block {
  std::array<Index, 1 + places * most_steps + 2> indices_and_one_before;
  std::array<T, places * most_steps + 2> values;

  Index* indices() { return indices_and_one_before.data() + 1; }
};

/// Writes `steps` pairs from each place on, left's first of two that have the same index, to `block`, most_steps behind
/// those of the place before. Both vectors must have that many from each place on. Moves the places on. Prefetches
/// sum_indices and sum_values, where they go from there. Without a branch, as it is chance which vector's pair comes
/// next; apart from what calls it, so that all that it needs stays in registers.
template <class T>
[[gnu::noinline]] void merge_steps(const SparseVectorView<T>& left, const SparseVectorView<T>& right,
                                   std::array<Place, places>& at, std::size_t steps, Block<T>& __restrict block,
                                   const Index* sum_indices, const T* sum_values) {
  const Index* const left_indices = left.indices.data();
  const Index* const right_indices = right.indices.data();
  const T* const left_values = left.values.data();
  const T* const right_values = right.values.data();
  Index* __restrict const indices = block.indices();
  std::array<Place, places> here = at;
  for (std::size_t step = 0; step < steps;) {
    constexpr std::size_t in_line = line_bytes / sizeof(Index);
    constexpr std::size_t next_block = places * most_steps / 2;
    for (const auto& [l, r] : here) {
      prefetch<false>(left_indices, next_block + l, in_line);
      prefetch<false>(left_values, next_block + l, in_line);
      prefetch<false>(right_indices, next_block + r, in_line);
      prefetch<false>(right_values, next_block + r, in_line);
    }
    prefetch<true>(sum_indices, places * step, places * steps_in_line);
    prefetch<true>(sum_values, places * step, places * steps_in_line);
    for (const std::size_t end = std::min(step + steps_in_line, steps); step < end; ++step)
      for (std::size_t i = 0; i < places; ++i) {
        auto& [l, r] = here[i];
        const Index from_left = left_indices[l];
        const Index from_right = right_indices[r];
        const auto bits_left = std::bit_cast<Bits<T>>(left_values[l]);
        const auto bits_right = std::bit_cast<Bits<T>>(right_values[r]);
        std::size_t takes_right = std::size_t{0} - static_cast<std::size_t>(from_right < from_left);
        asm("" : "+r"(takes_right));  // a mask: who sees that it has two values makes a branch of it
        indices[i * most_steps + step] = std::min(from_left, from_right);
        block.values[i * most_steps + step] = std::bit_cast<T>(
            static_cast<Bits<T>>(bits_left ^ ((bits_left ^ bits_right) & static_cast<Bits<T>>(takes_right))));
        l += 1 + takes_right;
        r -= takes_right;
      }
  }
  at = here;
}

}  // namespace dsop::sparse
