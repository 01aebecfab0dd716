// One generic body with the vector width as a parameter, inlined into one thin function an instruction set. The
// compiler's vector types carry the arithmetic, so only g++'s streaming store names an instruction.
#include "kernels/rank_k.hpp"

#include <algorithm>
#include <bit>

#include <dsop/types.hpp>

namespace dsop::kernels {
namespace {

/// Copies `count` elements, fewer than 2 * `largest` (a power of two), in pieces of constant sizes: a library call
/// would cost more than the few elements of an edge.
template <std::size_t largest, class T>
[[gnu::always_inline]] inline void copy_few(const T* from, std::size_t count, T* to) {
#pragma GCC unroll 8
  for (std::size_t piece = largest; piece > 0; piece /= 2)
    if ((count & piece) != 0) {
      __builtin_memcpy(to, from, piece * sizeof(T));
      from += piece;
      to += piece;
    }
}

/// Cuts `from` into blocks of `width` columns, one `inner` rows after the other, the rows of a block one after the
/// other, and multiplies them by `factor`; pads the last block with zeros.
template <std::size_t width, class T>
void pack(MatrixView<const T> from, std::size_t inner, T factor, T* packed) {
  // Reading some blocks side by side uses whole cache lines and pages of `from`; writing many would miss the cache.
  constexpr std::size_t side_by_side = 16;
  const std::size_t whole = from.columns / width;
  for (std::size_t first = 0; first < whole; first += side_by_side) {
    const std::size_t last = std::min(first + side_by_side, whole);
    for (std::size_t k = 0; k < from.rows; ++k)
      for (std::size_t block = first; block < last; ++block)
        for (std::size_t j = 0; j < width; ++j)
          packed[(block * inner + k) * width + j] = factor * from.row(k)[block * width + j];
  }
  const std::size_t rest = from.columns - whole * width;
  if (rest == 0) return;
  packed += whole * inner * width;
  std::fill_n(packed, from.rows * width, T{0});
  for (std::size_t k = 0; k < from.rows; ++k)
    for (std::size_t j = 0; j < rest; ++j) packed[k * width + j] = factor * from.row(k)[whole * width + j];
}

template <class T, std::size_t vector_bytes>
struct Vector {
  using type [[gnu::vector_size(vector_bytes)]] = T;
  using unaligned [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

/// Of a vector that is a whole cache line.
template <class Vec, class T>
[[gnu::always_inline]] inline void stream(T* to, const Vec& value) {
  auto& target = *reinterpret_cast<Vec*>(to);
#if __has_builtin(__builtin_nontemporal_store)
  __builtin_nontemporal_store(value, &target);
#else
  asm volatile("vmovntps %1, %0" : "=m"(target) : "v"(value));
#endif
}

/// The first `width` columns of a block of C, in as few as possible of `vectors` vectors for each of `rows` rows.
/// Passes vectors by reference only: their width is no part of the calling convention of the generic code.
template <class T, std::size_t vector_bytes, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void multiply_block(const Band<T>& band, const T* b, std::size_t b_stride, T* c,
                                                  std::size_t c_stride, std::size_t width, Write write) {
  using Vec = typename Vector<T, vector_bytes>::type;
  using Unaligned = typename Vector<T, vector_bytes>::unaligned;
  constexpr std::size_t lanes = vector_bytes / sizeof(T);
  if constexpr (vectors > 1)
    if (width <= (vectors - 1) * lanes)
      return multiply_block<T, vector_bytes, rows, vectors - 1>(band, b, b_stride, c, c_stride, width, write);

  Vec sum[rows][vectors] = {};
  const T* a = band.a;
#pragma GCC unroll 4  // an eighth less time than not unrolled, with AVX2 on an EPYC
  for (std::size_t k = 0; k < band.inner; ++k, a += rows, b += b_stride) {
    Vec b_row[vectors];
#pragma GCC unroll 16
    for (std::size_t j = 0; j < vectors; ++j) b_row[j] = *reinterpret_cast<const Unaligned*>(b + j * lanes);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
      for (std::size_t j = 0; j < vectors; ++j) sum[i][j] += a[i] * b_row[j];
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
    for (std::size_t j = 0; j < vectors; ++j) {
      T* to = c + i * c_stride + j * lanes;
      auto& target = *reinterpret_cast<Unaligned*>(to);
      if constexpr (vector_bytes == stream_alignment)
        if (write == Write::stream) {
          stream<Vec>(to, sum[i][j]);
          continue;
        }
      if (write == Write::add)
        target = band.beta * target + sum[i][j];
      else
        target = sum[i][j];
    }
}

/// Asks memory for a block of C that will be added to.
template <std::size_t rows, std::size_t columns, class T>
[[gnu::always_inline]] inline void fetch(const T* c, std::size_t stride) {
  constexpr std::size_t line = stream_alignment / sizeof(T);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; j += line) __builtin_prefetch(c + i * stride + j, 1);
}

/// All blocks of a band. A block that C has only a part of is made in `edge` and copied, so that its elements see
/// the same operations as all others.
template <class T, std::size_t vector_bytes, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void multiply_band(const Band<T>& band) {
  constexpr std::size_t lanes = vector_bytes / sizeof(T);
  constexpr std::size_t columns = vectors * lanes;
  constexpr std::size_t largest = std::bit_floor(columns);
  alignas(stream_alignment) T edge[rows * columns];
  if (band.write == Write::add) __builtin_memset(edge, 0, sizeof edge);

  for (std::size_t j = 0; j < band.c.columns; j += columns) {
    const T* b = band.b + j * band.inner;
    T* c = band.c.data + j;
    const std::size_t width = band.c.columns - j < columns ? band.c.columns - j : columns;
    const bool whole = width % lanes == 0 && band.c.rows == rows;
    if (band.write == Write::add && band.c.rows == rows && j + columns < band.c.columns)
      fetch<rows, columns>(c + columns, band.c.stride);  // rows are far apart: the processor does not see them coming
    if (!whole && band.write == Write::add)
      for (std::size_t i = 0; i < band.c.rows; ++i) copy_few<largest>(c + i * band.c.stride, width, edge + i * columns);
    multiply_block<T, vector_bytes, rows, vectors>(band, b, columns, whole ? c : edge, whole ? band.c.stride : columns,
                                                   width,
                                                   whole || band.write == Write::add ? band.write : Write::overwrite);
    if (!whole)
      for (std::size_t i = 0; i < band.c.rows; ++i) copy_few<largest>(edge + i * columns, width, c + i * band.c.stride);
  }
}

// The accumulators leave a few of 16 registers (32 with AVX-512 and on arm64) for A and B. A row of a block is one or
// two whole cache lines, as streaming wants: three, with 8 rows, took a seventh longer at K = 1 and gained 4 % at K =
// 512.
template <class T, std::size_t vector_bytes, std::size_t rows, std::size_t vectors>
struct Shape {
  static constexpr std::size_t columns = vectors * vector_bytes / sizeof(T);

  [[gnu::always_inline]] static void multiply(const Band<T>& band) {
    multiply_band<T, vector_bytes, rows, vectors>(band);
  }
  static RankK<T> kernel(void (*multiply_band)(const Band<T>&)) {
    return {rows, columns, vector_bytes == stream_alignment, multiply_band, pack<rows, T>, pack<columns, T>};
  }
};

#if defined(__x86_64__)
template <class T>
using Baseline = Shape<T, 16, 2, 4>;
template <class T>
using Avx2 = Shape<T, 32, 6, 2>;
template <class T>
using Avx512 = Shape<T, 64, 12, 2>;

template <class T>
[[gnu::target("avx2,fma")]] void multiply_avx2(const Band<T>& band) {
  Avx2<T>::multiply(band);
}

template <class T>
[[gnu::target("avx512f,fma")]] void multiply_avx512(const Band<T>& band) {
  Avx512<T>::multiply(band);
}
#else
template <class T>
using Baseline = Shape<T, 16, 4, 4>;
#endif

template <class T>
void multiply_baseline(const Band<T>& band) {
  Baseline<T>::multiply(band);
}

}  // namespace

template <class T>
RankK<T> rank_k([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return Avx512<T>::kernel(multiply_avx512<T>);
  if (set == InstructionSet::avx2) return Avx2<T>::kernel(multiply_avx2<T>);
#endif
  return Baseline<T>::kernel(multiply_baseline<T>);
}

#define INSTANTIATE(T) template RankK<T> rank_k<T>(InstructionSet);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

void finish_streaming() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace dsop::kernels
