// What the messages and sums of sparse algorithms are expected to be.
#pragma once

#include <cmath>

#include "sparse/algorithm.hpp"
#include "sparse/wire.hpp"

namespace dsop::sparse {

inline std::size_t most_indices(std::size_t size, DataType type) {
  return type == DataType::f32 ? most_indices<float>(size) : most_indices<double>(size);
}

inline std::size_t packed_bytes(std::size_t size, std::size_t elements, DataType type) {
  return type == DataType::f32 ? packed_bytes<float>(size, elements) : packed_bytes<double>(size, elements);
}

/// Room for a vector that is cut into `parts` regions, each of them packed.
inline std::size_t packed_parts_bytes(std::size_t size, std::size_t elements, DataType type, int parts) {
  constexpr std::size_t header_and_padding_bytes = 40;
  return packed_bytes(size, elements, type) + static_cast<std::size_t>(parts) * header_and_padding_bytes;
}

inline std::size_t whole(double elements) {
  return static_cast<std::size_t>(std::llround(elements));
}

/// Elements of the sum of two vectors, or Sparsity::dense, if it has `in_union` where it is sparse: as sum() decides.
inline std::size_t elements_of_sum(std::size_t left, std::size_t right, double in_union, std::size_t size,
                                   DataType type) {
  const std::size_t most = most_indices(size, type);
  return left > most || right > most || left + right > most ? Sparsity::dense : whole(in_union);
}

/// Elements that a packed vector has.
inline double stored(std::size_t elements, std::size_t size) {
  return static_cast<double>(elements == Sparsity::dense ? size : elements);
}

/// Seconds to add so many elements with their indices: as long as about four passes over them.
inline double summing_seconds(const Machine& machine, double elements, DataType type) {
  return machine.memory_seconds(4 * elements * static_cast<double>(bytes_of(type) + sizeof(Index)));
}

inline Cost one_after_the_other(const Cost& left, const Cost& right) {
  return {.messages = left.messages + right.messages,
          .bytes = left.bytes + right.bytes,
          .flops = left.flops + right.flops,
          .communication_seconds = left.communication_seconds + right.communication_seconds,
          .arithmetic_seconds = left.arithmetic_seconds + right.arithmetic_seconds};
}

}  // namespace dsop::sparse
