#include "store_loops.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <dsop/types.hpp>

#include "kernels/threads.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace dsop::bench {
namespace {

/// Calls write(rows of C) on each thread.
template <class T, class Write>
void on_row_ranges(MatrixView<T> c, const Write& write) {
  kernels::on_threads(kernels::thread_count(), [&](std::size_t t, std::size_t team) {
    const std::size_t first = c.rows * t / team;
    write(c.row_range(first, c.rows * (t + 1) / team - first));
  });
}

template <class T>
void library_call(MatrixView<T> c) {
  on_row_ranges(c, [](MatrixView<T> part) {
    for (std::size_t i = 0; i < part.rows; ++i) std::memset(part.row(i), 0, part.columns * sizeof(T));
  });
}

/// Zeros by cache lines, `rows` rows at a time, as a register-blocked product writes them.
template <class T, std::size_t rows>
void side_by_side(MatrixView<T> c) {
  on_row_ranges(c, [](MatrixView<T> part) {
    constexpr std::size_t line = 64 / sizeof(T);
    const std::size_t whole = part.columns / line * line;
    for (std::size_t i = 0; i < part.rows; i += rows) {
      const std::size_t end = std::min(i + rows, part.rows);
      for (std::size_t j = 0; j < whole; j += line)
        for (std::size_t r = i; r < end; ++r) std::fill_n(part.row(r) + j, line, T{0});
      for (std::size_t r = i; r < end; ++r) std::fill_n(part.row(r) + whole, part.columns - whole, T{0});
    }
  });
}

#if defined(__x86_64__)
template <class T>
void streaming(MatrixView<T> c) {
  on_row_ranges(c, [](MatrixView<T> part) {
    for (std::size_t i = 0; i < part.rows; ++i) {
      T* to = part.row(i);
      T* const end = to + part.columns;
      while (to != end && reinterpret_cast<std::uintptr_t>(to) % 64 != 0) *to++ = 0;
      for (constexpr std::size_t step = 16 / sizeof(T); static_cast<std::size_t>(end - to) >= step; to += step)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_setzero_si128());
      while (to != end) *to++ = 0;
    }
    _mm_sfence();
  });
}
#endif

}  // namespace

template <class T>
std::vector<StoreLoop<T>> store_loops() {
  return {
    {"memset", library_call<T>}, {"ordinary", side_by_side<T, 1>}, {"ordinary8", side_by_side<T, 8>},
#if defined(__x86_64__)
    {
      "streaming", streaming<T>
    }
#endif
  };
}

#define INSTANTIATE(T) template std::vector<StoreLoop<T>> store_loops();
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::bench
