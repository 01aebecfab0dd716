// FNV-1a, a hash that takes in numbers one after the other: http://www.isthe.com/chongo/tech/comp/fnv.
#pragma once

#include <cstdint>

namespace dsop {

inline constexpr std::uint64_t fnv_start = 0xcbf29ce484222325;

/// The hash of what `hash` is of, and then `number`: a byte in the original, but any number serves.
constexpr std::uint64_t fnv(std::uint64_t hash, std::uint64_t number) {
  return (hash ^ number) * 0x100000001b3;
}

}  // namespace dsop
