#include "kernels/update.hpp"

#include <algorithm>
#include <cstddef>

#include <dsop/types.hpp>

#include "kernels/threads.hpp"

namespace dsop::kernels {
namespace {

// About 10 us on one thread: waking a team takes a few.
constexpr std::size_t parallel_elements = 1 << 17;

template <class T>
void update_row(const T* from, T alpha, T beta, T* to, std::size_t columns) {
  if (beta != T{0})
    for (std::size_t j = 0; j < columns; ++j) to[j] = beta * to[j] + alpha * from[j];
  else if (alpha != T{1})
    for (std::size_t j = 0; j < columns; ++j) to[j] = alpha * from[j];
  else
    std::copy_n(from, columns, to);
}

}  // namespace

template <class T>
void update(std::type_identity_t<MatrixView<const T>> from, T alpha, T beta, MatrixView<T> to) {
  if (from.data == to.data && alpha == T{1} && beta == T{0}) return;
  const std::size_t threads = to.rows * to.columns >= parallel_elements ? std::min(to.rows, thread_count()) : 1;
  on_threads(threads, [&](std::size_t t, std::size_t team) {
    for (std::size_t i = to.rows * t / team; i < to.rows * (t + 1) / team; ++i)
      update_row<T>(from.row(i), alpha, beta, to.row(i), to.columns);
  });
}

template <class T>
void multiply_by(T beta, std::span<T> values) {
  if (beta == T{0})
    std::fill(values.begin(), values.end(), T{0});
  else if (beta != T{1})
    for (T& value : values) value *= beta;
}

template <class T>
void multiply_by(T beta, MatrixView<T> values) {
  for (std::size_t i = 0; i < values.rows; ++i) multiply_by<T>(beta, std::span<T>(values.row(i), values.columns));
}

#define INSTANTIATE(T)                                               \
  template void update<T>(MatrixView<const T>, T, T, MatrixView<T>); \
  template void multiply_by(T, std::span<T>);                        \
  template void multiply_by(T, MatrixView<T>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
