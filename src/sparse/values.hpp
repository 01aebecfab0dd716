// Values on their way, in full or as bf16.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <dsop/problem.hpp>
#include <dsop/types.hpp>

#include "kernels/bf16.hpp"

namespace dsop::sparse {

/// What `count` values take, and are followed by indices.
template <class T>
constexpr std::size_t values_bytes(std::size_t count, Wire wire) {
  return wire == Wire::full ? count * sizeof(T) : (2 * count + 3) / 4 * 4;
}

template <class T>
void write_values(std::span<const T> values, std::byte* to, Wire wire) {
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (wire == Wire::bf16)
      return kernels::round_to_bf16({reinterpret_cast<kernels::Bf16*>(to), values.size()}, values);
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(to));
}

/// What write_values() wrote. As bf16 they are written in full to the beginning of `widened`, which has room and
/// becomes what is left of it.
template <class T>
std::span<const T> read_values(const std::byte* from, std::size_t count, Wire wire, std::span<T>& widened) {
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (wire == Wire::bf16) {
      const std::span<T> values = widened.first(count);
      kernels::widen(values, {reinterpret_cast<const kernels::Bf16*>(from), count});
      widened = widened.subspan(count);
      return values;
    }
  return {reinterpret_cast<const T*>(from), count};
}

}  // namespace dsop::sparse
