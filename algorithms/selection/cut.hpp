// Where what is chosen ends: the magnitude of the k-th largest, and how far down the vector its equals are taken.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "algorithms/selection/memory.hpp"
#include "kernels/compact.hpp"

namespace dsop::selection {

/// Everything above `key` is chosen, and what is at it up to the index `last`.
template <class T>
struct Cut {
  kernels::Key<T> key;
  sparse::Index last = std::numeric_limits<sparse::Index>::max();
};

/// Whether a threshold that chooses `count` may be kept where about k are wanted: within a fifth of it.
inline bool is_about(std::size_t count, std::size_t k) {
  return 5 * count >= 4 * k && 5 * count <= 6 * k;
}

inline constexpr std::size_t small_vector = 4096;

/// The cut that chooses exactly k (1 .. values.size()), of equals those of lower index.
/// Cost: as a rule a pass that gathers what is near the k-th by a sample of N / 256; where that is not so or more than
/// N / 32, for vectors of many alike, passes that settle 12 bits of it each; one up to the last equal where some are
/// left out. Uses the threads of the calling thread; up to `small_vector` values no memory but its stack.
template <class T>
Cut<T> find_cut(std::span<const T> values, std::size_t k, Memory<T>& memory);

/// Makes all memory that find_cut() needs for so many values or fewer, with no more threads than now.
template <class T>
void reserve_cut(std::size_t most_values, Memory<T>& memory);

/// Chooses of a block what a cut says.
template <class T>
class Beyond {
 public:
  explicit Beyond(Cut<T> cut) : cut_(cut) {}

  std::size_t operator()(std::span<const T> block, sparse::Index first, kernels::Picked<T>& picked) const {
    const std::size_t found = compact_(block, first, {.low = cut_.key}, picked);
    return std::size_t{first} + block.size() - 1 <= cut_.last ? found : without_late_equals(found, picked);
  }

 private:
  std::size_t without_late_equals(std::size_t found, kernels::Picked<T>& picked) const {
    std::size_t count = 0;
    for (std::size_t e = 0; e < found; ++e) {
      picked.indices[count] = picked.indices[e];
      picked.values[count] = picked.values[e];
      count += picked.indices[e] <= cut_.last || kernels::key_of(picked.values[e]) > cut_.key ? 1 : 0;
    }
    return count;
  }

  Cut<T> cut_;
  kernels::Compact<T> compact_ = kernels::compactor<T>(best_instruction_set());
};

}  // namespace dsop::selection
