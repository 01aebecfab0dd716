// Moving the wanted elements of a vector register to its front.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cstdint>

namespace dsop::kernels {

/// Row `mask` lists the set bits of `mask`, a byte each.
inline constexpr std::array<std::uint64_t, 256> set_bits = [] {
  std::array<std::uint64_t, 256> table{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned place = 0;
    for (unsigned bit = 0; bit < 8; ++bit)
      if ((mask >> bit & 1) != 0) table[mask] |= std::uint64_t{bit} << 8 * place++;
  }
  return table;
}();

/// Moves the lanes whose bits are set in `mask` to the front, in their order. The lanes behind them may hold anything.
[[gnu::target("avx2,popcnt")]] inline __m256i packed_left(__m256i lanes, unsigned mask) {
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(set_bits[mask]));
  return _mm256_permutevar8x32_epi32(lanes, _mm256_cvtepu8_epi32(bytes));
}

}  // namespace dsop::kernels
#endif
