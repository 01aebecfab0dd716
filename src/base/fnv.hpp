// FNV-1a, a hash that takes in numbers one after the other: http://www.isthe.com/chongo/tech/comp/fnv.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace dsop {

inline constexpr std::uint64_t fnv_start = 0xcbf29ce484222325;

/// The hash of what `hash` is of, and then `number`: a byte in the original, but any number serves.
constexpr std::uint64_t fnv(std::uint64_t hash, std::uint64_t number) {
  return (hash ^ number) * 0x100000001b3;
}

/// The hash of what `hash` is of, and then these bytes.
inline std::uint64_t fnv(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) hash = fnv(hash, static_cast<std::uint64_t>(byte));
  return hash;
}

/// FNV-1a over words of 8 bytes, the last one filled with zeros.
inline std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = fnv_start;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    sum = fnv(sum, word);
    sum ^= sum >> 32;  // or a word's highest bits would touch no other bit
  }
  return sum;
}

}  // namespace dsop
