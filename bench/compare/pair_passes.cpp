#include "compare/pair_passes.hpp"

#include <algorithm>

#include <dsop/types.hpp>

#include "kernels/threads.hpp"
#include "patterns/blocks.hpp"

namespace dsop::bench::compare {
namespace {

template <class T>
void write_pair(const T* a, const T* b, MatrixView<T> G) {
  for (std::size_t i = 0; i < G.rows; ++i)
    for (std::size_t j = 0; j < G.columns; ++j) G.row(i)[j] = a[i] * b[j];
}

template <class T>
void add_pair(const T* a, const T* b, MatrixView<T> G) {
  for (std::size_t i = 0; i < G.rows; ++i)
    for (std::size_t j = 0; j < G.columns; ++j) G.row(i)[j] += a[i] * b[j];
}

template <class T>
void passes(MatrixView<const T> a, MatrixView<const T> b, std::size_t first_row, MatrixView<T> G) {
  if (a.rows == 0) {
    std::fill_n(G.data, G.rows * G.columns, T{0});
    return;
  }
  write_pair(a.row(0) + first_row, b.row(0), G);
  for (std::size_t p = 1; p < a.rows; ++p) add_pair(a.row(p) + first_row, b.row(p), G);
}

}  // namespace

template <class T>
void pair_passes(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> G) {
  const std::size_t threads = kernels::thread_count();
  const patterns::Blocks rows(G.rows, static_cast<int>(threads));
  kernels::on_threads(threads, [&](std::size_t thread, std::size_t team) {
    for (std::size_t block = thread; block < threads; block += team) {
      const std::size_t first = rows.offset(static_cast<int>(block));
      passes(a, b, first, G.row_range(first, rows.size(static_cast<int>(block))));
    }
  });
}

#define INSTANTIATE(T) template void pair_passes(MatrixView<const T>, MatrixView<const T>, MatrixView<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::bench::compare
