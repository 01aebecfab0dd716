#include "kernels/join_equal.hpp"

#include <array>
#include <bit>
#include <cstdint>

#include <dsop/types.hpp>

#include "base/bits.hpp"
#include "kernels/set_bits.hpp"

namespace dsop::kernels {
namespace {

using sparse::Index;

// `value`, or what added leaves everything as it is, also -0.
template <class T>
T if_wanted(T value, bool wanted) {
  const auto all = static_cast<Bits<T>>(Bits<T>{0} - static_cast<Bits<T>>(wanted));
  return std::bit_cast<T>(
      static_cast<Bits<T>>((std::bit_cast<Bits<T>>(value) & all) | (std::bit_cast<Bits<T>>(T{-0.0}) & ~all)));
}

/// Pairs from `i` on, behind the `joined` that are there.
template <class T>
[[gnu::always_inline]] inline std::size_t join_rest(const Index* indices, const T* values, std::size_t count,
                                                    Index* to_indices, T* to_values, std::size_t i,
                                                    std::size_t joined) {
  for (; i < count; ++i) {
    to_indices[joined] = indices[i];
    to_values[joined] = values[i] + if_wanted(values[i + 1], indices[i] == indices[i + 1]);
    joined += indices[i] != indices[i - 1] ? 1 : 0;  // the second of two is overwritten by what comes next
  }
  return joined;
}

template <class T>
std::size_t join_baseline(const Index* indices, const T* values, std::size_t count, Index* to_indices, T* to_values) {
  return join_rest(indices, values, count, to_indices, to_values, 0, 0);
}

#if defined(__x86_64__)

[[gnu::target("avx2,popcnt")]] inline __m256i indices_at(const Index* indices) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(indices));
}

[[gnu::target("avx2,popcnt")]] std::size_t join_avx2(const Index* indices, const float* values, std::size_t count,
                                                     Index* to_indices, float* to_values) {
  const __m256 nothing = _mm256_set1_ps(-0.0F);
  std::size_t joined = 0;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i index = indices_at(indices + i);
    const __m256 is_first = _mm256_castsi256_ps(_mm256_cmpeq_epi32(index, indices_at(indices + i + 1)));
    const __m256 is_second = _mm256_castsi256_ps(_mm256_cmpeq_epi32(index, indices_at(indices + i - 1)));
    const __m256 added = _mm256_blendv_ps(nothing, _mm256_loadu_ps(values + i + 1), is_first);
    const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(values + i), added);
    const unsigned stays = static_cast<unsigned>(_mm256_movemask_ps(is_second)) ^ 0xFFU;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_indices + joined), packed_left(index, stays));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_values + joined), packed_left(_mm256_castps_si256(sum), stays));
    joined += static_cast<std::size_t>(__builtin_popcount(stays));
  }
  return join_rest(indices, values, count, to_indices, to_values, i, joined);
}

// Row `mask` lists the halves of the set bits of `mask`, a byte each.
constexpr std::array<std::uint64_t, 16> set_halves = [] {
  std::array<std::uint64_t, 16> table{};
  for (unsigned mask = 0; mask < 16; ++mask) {
    unsigned halves = 0;
    for (unsigned bit = 0; bit < 4; ++bit) halves |= (mask >> bit & 1) * 3U << 2 * bit;
    table[mask] = set_bits[halves];
  }
  return table;
}();

// Four sums of neighbours where `is_first` says so; those in `stays` to `to`.
[[gnu::target("avx2,popcnt"), gnu::always_inline]] inline void join_four(const double* values, __m128i is_first,
                                                                         unsigned stays, double* to) {
  const __m256d mask = _mm256_castsi256_pd(_mm256_cvtepi32_epi64(is_first));
  const __m256d added = _mm256_blendv_pd(_mm256_set1_pd(-0.0), _mm256_loadu_pd(values + 1), mask);
  const __m256i sum = _mm256_castpd_si256(_mm256_add_pd(_mm256_loadu_pd(values), added));
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(set_halves[stays]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(sum, _mm256_cvtepu8_epi32(bytes)));
}

[[gnu::target("avx2,popcnt")]] std::size_t join_avx2(const Index* indices, const double* values, std::size_t count,
                                                     Index* to_indices, double* to_values) {
  std::size_t joined = 0;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i index = indices_at(indices + i);
    const __m256i is_first = _mm256_cmpeq_epi32(index, indices_at(indices + i + 1));
    const __m256i is_second = _mm256_cmpeq_epi32(index, indices_at(indices + i - 1));
    const unsigned stays = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_second))) ^ 0xFFU;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_indices + joined), packed_left(index, stays));
    const auto of_low = static_cast<std::size_t>(__builtin_popcount(stays & 0xFU));
    join_four(values + i, _mm256_castsi256_si128(is_first), stays & 0xFU, to_values + joined);
    join_four(values + i + 4, _mm256_extracti128_si256(is_first, 1), stays >> 4, to_values + joined + of_low);
    joined += static_cast<std::size_t>(__builtin_popcount(stays));
  }
  return join_rest(indices, values, count, to_indices, to_values, i, joined);
}

#endif

}  // namespace

template <class T>
JoinEqual<T> equal_joiner([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set != InstructionSet::baseline) return join_avx2;
#endif
  return join_baseline<T>;
}

#define INSTANTIATE(T) template JoinEqual<T> equal_joiner<T>(InstructionSet);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
