// A hash of numbers and texts that is the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/mix.hpp"

namespace dsop {

/// The hash of what `hash` is of, and then `number`.
constexpr std::uint64_t digest(std::uint64_t hash, std::uint64_t number) {
  return mix(hash ^ number);
}

/// The hash of a sequence of numbers. Each is mixed with its place alone, so that none waits for the one before.
class SequenceDigest {
 public:
  void take(std::uint64_t number) {
    constexpr std::uint64_t odd = 0xd6e8feb86659fd93;
    sum_ += mix(number + ++count_ * odd);
  }
  std::uint64_t value() const { return mix(sum_ + count_); }

 private:
  std::uint64_t sum_ = 0;
  std::uint64_t count_ = 0;
};

/// Eight characters, or those that are left, as a number.
inline std::uint64_t eight_characters(std::string_view text) {
  std::uint64_t number = 0;
  for (std::size_t c = 0; c < text.size() && c < 8; ++c)
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[c])) << (8 * c);
  return number;
}

/// The same with a text.
inline std::uint64_t digest(std::uint64_t hash, std::string_view text) {
  hash = digest(hash, text.size());
  for (std::size_t c = 0; c < text.size(); c += 8) hash = digest(hash, eight_characters(text.substr(c)));
  return hash;
}

}  // namespace dsop
