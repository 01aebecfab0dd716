// The bits of an element as a whole number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dsop {

template <std::size_t bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<2> {
  using type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = std::uint64_t;
};

/// The whole number without a sign that is as long as T.
template <class T>
using Bits = typename UnsignedOf<sizeof(T)>::type;

}  // namespace dsop
