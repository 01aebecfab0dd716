// One generic body with the vector width as a parameter, inlined into one thin function an instruction set. The
// compiler's vector types carry the arithmetic, so only g++'s streaming store names an instruction.
#include "kernels/rank_k.hpp"

namespace dsop::kernels {
namespace {

template <class T, std::size_t vector_bytes>
struct Vector {
  using type [[gnu::vector_size(vector_bytes)]] = T;
  using unaligned [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

template <class Vec, class T>
[[gnu::always_inline]] inline void stream(T* to, const Vec& value) {
  auto& target = *reinterpret_cast<Vec*>(to);
#if __has_builtin(__builtin_nontemporal_store)
  __builtin_nontemporal_store(value, &target);
#elif defined(__x86_64__)
  if constexpr (sizeof(Vec) == 16)
    asm volatile("movntps %1, %0" : "=m"(target) : "x"(value));
  else
    asm volatile("vmovntps %1, %0" : "=m"(target) : "v"(value));
#else
  target = value;
#endif
}

/// One block of C: `rows` x `vectors` accumulators. Passes vectors by reference only: their width is no part of the
/// calling convention of the generic code.
template <class T, std::size_t vector_bytes, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void multiply_block(const T* a, const T* b, std::size_t inner, T* c, std::size_t stride,
                                                  T scale, Write write) {
  using Vec = typename Vector<T, vector_bytes>::type;
  using Unaligned = typename Vector<T, vector_bytes>::unaligned;
  constexpr std::size_t lanes = vector_bytes / sizeof(T);

  Vec sum[rows][vectors] = {};
  for (std::size_t k = 0; k < inner; ++k, a += rows, b += vectors * lanes) {
    Vec b_row[vectors];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < vectors; ++j) b_row[j] = *reinterpret_cast<const Unaligned*>(b + j * lanes);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 8
      for (std::size_t j = 0; j < vectors; ++j) sum[i][j] += a[i] * b_row[j];
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 8
    for (std::size_t j = 0; j < vectors; ++j) {
      T* to = c + i * stride + j * lanes;
      auto& target = *reinterpret_cast<Unaligned*>(to);
      if (write == Write::add)
        target += scale * sum[i][j];
      else if (write == Write::stream)
        stream<Vec>(to, scale * sum[i][j]);
      else
        target = scale * sum[i][j];
    }
}

/// All blocks of a band. A block that C has only a part of is made in `edge` and copied, so that its elements see
/// the same operations as all others.
template <class T, std::size_t vector_bytes, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void multiply_band(const Band<T>& band) {
  constexpr std::size_t columns = vectors * vector_bytes / sizeof(T);
  alignas(stream_alignment) T edge[rows * columns] = {};

  for (std::size_t j = 0; j < band.c.columns; j += columns) {
    const T* b = band.b + j * band.inner;
    T* c = band.c.data + j;
    const std::size_t width = band.c.columns - j < columns ? band.c.columns - j : columns;
    const bool whole = width == columns && band.c.rows == rows;
    if (!whole && band.write == Write::add)
      for (std::size_t i = 0; i < band.c.rows; ++i)
        for (std::size_t l = 0; l < width; ++l) edge[i * columns + l] = c[i * band.c.stride + l];
    multiply_block<T, vector_bytes, rows, vectors>(band.a, b, band.inner, whole ? c : edge,
                                                   whole ? band.c.stride : columns, band.scale,
                                                   whole || band.write == Write::add ? band.write : Write::overwrite);
    if (!whole)
      for (std::size_t i = 0; i < band.c.rows; ++i)
        for (std::size_t l = 0; l < width; ++l) c[i * band.c.stride + l] = edge[i * columns + l];
  }
}

// The shapes leave one or two registers of 16 (32 with AVX-512 and on arm64) for A, and make a row of a block whole
// cache lines, as streaming wants.
#if defined(__x86_64__)
constexpr std::size_t baseline_rows = 2;

template <class T>
[[gnu::target("avx2,fma")]] void multiply_avx2(const Band<T>& band) {
  multiply_band<T, 32, 6, 2>(band);
}

template <class T>
[[gnu::target("avx512f,fma")]] void multiply_avx512(const Band<T>& band) {
  multiply_band<T, 64, 8, 2>(band);
}
#else
constexpr std::size_t baseline_rows = 4;
#endif

template <class T>
void multiply_baseline(const Band<T>& band) {
  multiply_band<T, 16, baseline_rows, 4>(band);
}

}  // namespace

template <class T>
RankK<T> rank_k([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return {8, 128 / sizeof(T), multiply_avx512<T>};
  if (set == InstructionSet::avx2) return {6, 64 / sizeof(T), multiply_avx2<T>};
#endif
  return {baseline_rows, 64 / sizeof(T), multiply_baseline<T>};
}

template RankK<float> rank_k<float>(InstructionSet);
template RankK<double> rank_k<double>(InstructionSet);

void finish_streaming() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace dsop::kernels
