#include "kernels/compact.hpp"

#include <dsop/types.hpp>

#include "kernels/set_bits.hpp"

namespace dsop::kernels {
namespace {

using sparse::Index;

/// Without the sign alone, as vectors have it: NaN have many keys here, from nan_key on.
template <class T>
constexpr KeyRange<T> with_all_nans(KeyRange<T> range) {
  return {range.low, range.high == nan_key<T> ? std::numeric_limits<Key<T>>::max() : range.high};
}

/// Elements from `i` on, behind the `count` that are there.
template <class T>
[[gnu::always_inline]] inline std::size_t compact_rest(std::span<const T> values, Index first, KeyRange<T> range,
                                                       Picked<T>& picked, std::size_t i, std::size_t count) {
  for (; i < values.size(); ++i) {
    const Key<T> key = key_of(values[i]);
    picked.indices[count] = first + static_cast<Index>(i);
    picked.values[count] = values[i];
    count += key >= range.low && key <= range.high ? 1 : 0;
  }
  return count;
}

template <class T>
std::size_t compact_baseline(std::span<const T> values, Index first, KeyRange<T> range, Picked<T>& picked) {
  return compact_rest(values, first, range, picked, 0, 0);
}

#if defined(__x86_64__)

// The processor's own prefetching ends with each page, and what it does ahead with each block whose end it guesses
// wrong: without this, a thread reads at three quarters of what memory gives.
template <class T>
[[gnu::always_inline]] inline void prefetch_ahead(const T* value) {
  _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(value) + prefetch_bytes), _MM_HINT_T0);
}

[[gnu::target("avx2,popcnt")]] std::size_t compact_avx2(std::span<const float> values, Index first,
                                                        KeyRange<float> range, Picked<float>& picked) {
  const auto [low, high] = with_all_nans(range);
  const __m256i below = _mm256_set1_epi32(low - 1), top = _mm256_set1_epi32(high);
  const __m256i no_sign = _mm256_set1_epi32(std::numeric_limits<std::int32_t>::max()), step = _mm256_set1_epi32(8);
  __m256i index =
      _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    prefetch_ahead(values.data() + i);
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values.data() + i));
    const __m256i key = _mm256_and_si256(x, no_sign);
    const __m256i in = _mm256_andnot_si256(_mm256_cmpgt_epi32(key, top), _mm256_cmpgt_epi32(key, below));
    const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(in)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(picked.indices + count), packed_left(index, mask));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(picked.values + count), packed_left(x, mask));
    count += static_cast<std::size_t>(__builtin_popcount(mask));
    index = _mm256_add_epi32(index, step);
  }
  return compact_rest(values, first, range, picked, i, count);
}

[[gnu::target("avx2,popcnt")]] std::size_t compact_avx2(std::span<const double> values, Index first,
                                                        KeyRange<double> range, Picked<double>& picked) {
  const auto [low, high] = with_all_nans(range);
  const __m256i below = _mm256_set1_epi64x(low - 1), top = _mm256_set1_epi64x(high);
  const __m256i no_sign = _mm256_set1_epi64x(std::numeric_limits<std::int64_t>::max());
  const __m256i step = _mm256_set1_epi32(4);
  __m256i index =
      _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)), _mm256_setr_epi32(0, 1, 2, 3, 0, 0, 0, 0));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    prefetch_ahead(values.data() + i);
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values.data() + i));
    const __m256i key = _mm256_and_si256(x, no_sign);
    const __m256i in = _mm256_andnot_si256(_mm256_cmpgt_epi64(key, top), _mm256_cmpgt_epi64(key, below));
    const auto mask = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(in)));
    const auto halves = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(in)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(picked.indices + count),
                     _mm256_castsi256_si128(packed_left(index, mask)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(picked.values + count), packed_left(x, halves));
    count += static_cast<std::size_t>(__builtin_popcount(mask));
    index = _mm256_add_epi32(index, step);
  }
  return compact_rest(values, first, range, picked, i, count);
}

[[gnu::target("avx512f,popcnt")]] std::size_t compact_avx512(std::span<const float> values, Index first,
                                                             KeyRange<float> range, Picked<float>& picked) {
  const auto [low, high] = with_all_nans(range);
  const __m512i bottom = _mm512_set1_epi32(low), top = _mm512_set1_epi32(high);
  const __m512i no_sign = _mm512_set1_epi32(std::numeric_limits<std::int32_t>::max()), step = _mm512_set1_epi32(16);
  __m512i index = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first)),
                                   _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 16 <= values.size(); i += 16) {
    prefetch_ahead(values.data() + i);
    const __m512i x = _mm512_loadu_si512(values.data() + i);
    const __m512i key = _mm512_and_si512(x, no_sign);
    const __mmask16 in = _mm512_mask_cmple_epi32_mask(_mm512_cmpge_epi32_mask(key, bottom), key, top);
    _mm512_storeu_si512(picked.indices + count, _mm512_maskz_compress_epi32(in, index));
    _mm512_storeu_si512(picked.values + count, _mm512_maskz_compress_epi32(in, x));
    count += static_cast<std::size_t>(__builtin_popcount(in));
    index = _mm512_add_epi32(index, step);
  }
  return compact_rest(values, first, range, picked, i, count);
}

[[gnu::target("avx512f,popcnt")]] std::size_t compact_avx512(std::span<const double> values, Index first,
                                                             KeyRange<double> range, Picked<double>& picked) {
  const auto [low, high] = with_all_nans(range);
  const __m512i bottom = _mm512_set1_epi64(low), top = _mm512_set1_epi64(high);
  const __m512i no_sign = _mm512_set1_epi64(std::numeric_limits<std::int64_t>::max()), step = _mm512_set1_epi64(8);
  __m512i index = _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    prefetch_ahead(values.data() + i);
    const __m512i x = _mm512_loadu_si512(values.data() + i);
    const __m512i key = _mm512_and_si512(x, no_sign);
    const __mmask8 in = _mm512_mask_cmple_epi64_mask(_mm512_cmpge_epi64_mask(key, bottom), key, top);
    const __m512i indices = _mm512_maskz_compress_epi64(in, index);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(picked.indices + count),
                        _mm512_maskz_cvtepi64_epi32(static_cast<__mmask8>(-1), indices));
    _mm512_storeu_si512(picked.values + count, _mm512_maskz_compress_epi64(in, x));
    count += static_cast<std::size_t>(__builtin_popcount(in));
    index = _mm512_add_epi64(index, step);
  }
  return compact_rest(values, first, range, picked, i, count);
}

#endif

}  // namespace

template <class T>
Compact<T> compactor([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return compact_avx512;
  if (set == InstructionSet::avx2) return compact_avx2;
#endif
  return compact_baseline<T>;
}

#define INSTANTIATE(T) template Compact<T> compactor<T>(InstructionSet);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
