// 16-bit numbers for the wire: the upper half of a float, so its range with 8 significant bits.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace dsop::kernels {

struct Bf16 {
  std::uint16_t bits;
};

/// Rounded to nearest, ties to even: off by at most 2^-8 |value| (by 2^-134 for what is subnormal). NaN stays NaN; what
/// lies beyond the largest bf16, 3.39e38, becomes infinite.
inline Bf16 rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  constexpr std::uint32_t infinity = 0x7f800000;
  constexpr std::uint32_t quiet = 0x400000;
  const std::uint32_t tie_to_even = 0x7fff + (bits >> 16 & 1);
  const bool is_nan = (bits & 0x7fffffff) > infinity;
  return {static_cast<std::uint16_t>((is_nan ? bits | quiet : bits + tie_to_even) >> 16)};
}

inline float widened(Bf16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

/// out[i] = in[i], rounded. Here and below both have the same length.
void round_to_bf16(std::span<Bf16> out, std::span<const float> in);

/// out[i] = in[i], exactly.
void widen(std::span<float> out, std::span<const Bf16> in);

/// sum[i] += in[i].
void add_widened(std::span<float> sum, std::span<const Bf16> in);

}  // namespace dsop::kernels
