#include "kernels/join_equal.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/set_bits.hpp"

namespace dsop::kernels {
namespace {

using sparse::Index;

// `value`, or what added leaves everything as it is, also -0.
template <class T>
T if_wanted(T value, bool wanted) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits all = Bits{0} - static_cast<Bits>(wanted);
  return std::bit_cast<T>((std::bit_cast<Bits>(value) & all) | (std::bit_cast<Bits>(T{-0.0}) & ~all));
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

// Sums are mostly longer than what caches hold, and go to memory that was not read before.
template <class Item>
[[gnu::always_inline]] inline void prefetch_to_write(Item* item) {
  constexpr std::uintptr_t ahead_bytes = 768;
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(item) + ahead_bytes), 1);
}

[[gnu::target("avx2,popcnt")]] std::size_t join_avx2_f32(const Index* indices, const float* values, std::size_t count,
                                                         Index* to_indices, float* to_values) {
  const __m256 nothing = _mm256_set1_ps(-0.0F);
  std::size_t joined = 0;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const auto indices_at = [&](std::size_t at) __attribute__((target("avx2,popcnt"))) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(indices + at));
    };
    const __m256i index = indices_at(i);
    const __m256 is_first = _mm256_castsi256_ps(_mm256_cmpeq_epi32(index, indices_at(i + 1)));
    const __m256 is_second = _mm256_castsi256_ps(_mm256_cmpeq_epi32(index, indices_at(i - 1)));
    const __m256 added = _mm256_blendv_ps(nothing, _mm256_loadu_ps(values + i + 1), is_first);
    const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(values + i), added);
    const unsigned stays = static_cast<unsigned>(_mm256_movemask_ps(is_second)) ^ 0xFFU;
    prefetch_to_write(to_indices + joined);
    prefetch_to_write(to_values + joined);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_indices + joined), packed_left(index, stays));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_values + joined), packed_left(_mm256_castps_si256(sum), stays));
    joined += static_cast<std::size_t>(__builtin_popcount(stays));
  }
  return join_rest(indices, values, count, to_indices, to_values, i, joined);
}

[[gnu::target("avx2,popcnt")]] std::size_t join_avx2_f64(const Index* indices, const double* values, std::size_t count,
                                                         Index* to_indices, double* to_values) {
  const __m256d nothing = _mm256_set1_pd(-0.0);
  std::size_t joined = 0;
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const auto indices_at = [&](std::size_t at) __attribute__((target("avx2,popcnt"))) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(indices + at));
    };
    const __m128i index = indices_at(i);
    const __m256i is_first = _mm256_cvtepi32_epi64(_mm_cmpeq_epi32(index, indices_at(i + 1)));
    const __m256i is_second = _mm256_cvtepi32_epi64(_mm_cmpeq_epi32(index, indices_at(i - 1)));
    const __m256d added = _mm256_blendv_pd(nothing, _mm256_loadu_pd(values + i + 1), _mm256_castsi256_pd(is_first));
    const __m256i sum = _mm256_castpd_si256(_mm256_add_pd(_mm256_loadu_pd(values + i), added));
    const unsigned stays = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(is_second))) ^ 0xFU;
    const unsigned halves = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_second))) ^ 0xFFU;
    prefetch_to_write(to_indices + joined);
    prefetch_to_write(to_values + joined);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to_indices + joined),
                     _mm256_castsi256_si128(packed_left(_mm256_castsi128_si256(index), stays)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_values + joined), packed_left(sum, halves));
    joined += static_cast<std::size_t>(__builtin_popcount(stays));
  }
  return join_rest(indices, values, count, to_indices, to_values, i, joined);
}

#endif

}  // namespace

template <>
JoinEqual<float> equal_joiner<float>([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set != InstructionSet::baseline) return join_avx2_f32;
#endif
  return join_baseline<float>;
}

template <>
JoinEqual<double> equal_joiner<double>([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set != InstructionSet::baseline) return join_avx2_f64;
#endif
  return join_baseline<double>;
}

}  // namespace dsop::kernels
