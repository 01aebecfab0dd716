// Picking the few elements of a vector whose magnitude lies in a range.
#pragma once

#include <cstddef>
#include <span>

#include <dsop/product_method.hpp>

#include "kernels/add_scaled.hpp"
#include "kernels/magnitude.hpp"

namespace dsop::kernels {

/// What is picked at a time, which stays in the first-level cache.
inline constexpr std::size_t compact_block = 1024;

/// How far ahead of the element that is looked at memory is asked for, beyond the block, as blocks follow each other.
inline constexpr std::size_t prefetch_bytes = 2048;

/// Room for what a block gives; the vectors that are written reach beyond it by a little.
template <class T>
struct Picked {
  static constexpr std::size_t room = compact_block + 64 / sizeof(T);
  alignas(64) sparse::Index indices[room];
  alignas(64) T values[room];
};

/// Writes those of `values` (at most compact_block) whose keys lie in `range`, in their order, and their indices,
/// counted from `first`, to `picked`. Returns how many they are. Cost: one read, no branch that depends on a value.
template <class T>
using Compact = std::size_t (*)(std::span<const T> values, sparse::Index first, KeyRange<T> range, Picked<T>& picked);

/// The function for `set`, which the processor must have. All give the same.
template <class T>
Compact<T> compactor(InstructionSet set);

}  // namespace dsop::kernels
