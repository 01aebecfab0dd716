// Writing down what is chosen, by several threads, in one pass and in the order of indices.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

#include "selection/algorithm.hpp"
#include "selection/cut.hpp"
#include "selection/ranges.hpp"

namespace dsop::selection {

/// Whether all that were chosen found room; else the room holds those of the lowest indices.
enum class Collected : unsigned char { all, as_many_as_fit };

/// What a thread takes at a time: in its cache, and enough that threads seldom wait for each other.
inline constexpr std::size_t chunk_elements = 16 * kernels::compact_block;

/// `choose` writes what it chooses of a block to a Picked, and gives their number: choose(block, index of its first
/// element, picked). Threads take one chunk after the other. What a chunk gives waits beside the result until the
/// chunks before it have been counted, and goes straight there where they have been, as they always have with one
/// thread. Cost: one read of all values.
template <class T, class Choose>
Collected collect(SelectionCall<T>& call, const Choose& choose) {
  const std::size_t N = call.values.size();
  const std::size_t threads = threads_for(N);
  const std::size_t chunks = (N + chunk_elements - 1) / chunk_elements;
  const std::size_t beside = threads == 1 ? 0 : threads * chunk_elements;
  const std::span<sparse::Index> indices = call.memory.chunk_indices.at_least(beside);
  const std::span<T> values = call.memory.chunk_values.at_least(beside);
  std::atomic<std::size_t> taken = 0;
  std::atomic<std::size_t> counted = 0;  // chunks
  std::size_t total = 0;                 // in those, also more than there is room for

  kernels::on_threads(threads, [&](std::size_t t, std::size_t) {
    kernels::Picked<T> picked;
    for (std::size_t c = taken++; c < chunks; c = taken++) {
      const bool straight = counted.load(std::memory_order_acquire) == c;
      const std::size_t begin = straight ? std::min(total, call.room()) : t * chunk_elements;
      const std::size_t room = straight ? call.room() - begin : chunk_elements;
      sparse::Index* const to_indices = (straight ? call.indices : indices).data() + begin;
      T* const to_values = (straight ? call.chosen : values).data() + begin;
      std::size_t count = 0;
      const std::size_t last = std::min(N, (c + 1) * chunk_elements);
      for_blocks(call.values, c * chunk_elements, last, [&](std::span<const T> block, std::size_t first) {
        const std::size_t found = choose(block, static_cast<sparse::Index>(first), picked);
        const std::size_t fits = std::min(found, room - count);
        std::copy_n(picked.indices, fits, to_indices + count);
        std::copy_n(picked.values, fits, to_values + count);
        count += found;
        return found == fits;
      });
      while (counted.load(std::memory_order_acquire) != c) std::this_thread::yield();
      const std::size_t before = std::min(total, call.room());
      total += count;
      const bool full = total > call.room();
      counted.store(c + 1, std::memory_order_release);
      if (!straight) {
        const std::size_t fits = std::min(count, call.room() - before);
        std::copy_n(to_indices, fits, call.indices.data() + before);
        std::copy_n(to_values, fits, call.chosen.data() + before);
      }
      if (full) return;
    }
  });
  call.count = std::min(total, call.room());
  return total == call.count ? Collected::all : Collected::as_many_as_fit;
}

/// Collects what lies beyond `cut`.
template <class T>
Collected take(SelectionCall<T>& call, Cut<T> cut) {
  const Collected collected = collect(call, Beyond(cut));
  call.threshold = kernels::magnitude_of<T>(cut.key);
  call.has_all_not_finite = collected == Collected::all && cut.key < kernels::infinity_key<T>;
  return collected;
}

}  // namespace dsop::selection
