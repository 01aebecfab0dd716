#include "kernels/outer_product.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <dsop/types.hpp>

#include "base/largest_inner_dimension.hpp"
#include "base/streaming_bytes.hpp"
#include "base/traced_span.hpp"
#include "kernels/blas_info.hpp"
#include "kernels/gemm.hpp"
#include "kernels/rank_k.hpp"
#include "kernels/threads.hpp"
#include "kernels/update.hpp"

namespace dsop::kernels {
namespace {

// About 10 us on one thread, counted as n m (K + 8): waking a team takes a few.
constexpr std::size_t parallel_work = 1 << 20;

/// Whether so much is written that it is large, and the rows of C all begin at the same place of a cache line.
template <class T>
bool streams(MatrixView<T> c, std::size_t all_parts_bytes) {
  return std::max(c.rows * c.columns * sizeof(T), all_parts_bytes) >= streaming_bytes &&
         c.stride * sizeof(T) % stream_alignment == 0;
}

/// Columns of C before the first whole cache line of every row.
template <class T>
std::size_t unaligned_columns(MatrixView<T> c) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(c.data) % stream_alignment;
  return past == 0 ? 0 : std::min(c.columns, (stream_alignment - past) / sizeof(T));
}

constexpr std::size_t cache_line_bytes = 64;

/// Memory of the calling thread that grows as needed, starts at a cache line and is kept until the thread ends.
class PackMemory {
 public:
  /// At least `bytes` of it, with undefined contents. Throws std::bad_alloc.
  static std::byte* at_least(std::size_t bytes) {
    thread_local PackMemory memory;
    if (bytes > memory.bytes_) {
      memory.bytes_ = 0;
      memory.lines_ = std::make_unique_for_overwrite<Line[]>((bytes + cache_line_bytes - 1) / cache_line_bytes);
      memory.bytes_ = bytes;
    }
    return memory.lines_[0].bytes;
  }

 private:
  struct alignas(cache_line_bytes) Line {
    std::byte bytes[cache_line_bytes];
  };

  std::unique_ptr<Line[]> lines_;
  std::size_t bytes_ = 0;
};

// Most rows of A and B that a product is made of at a time: of more, a block alone would not stay in the cache.
constexpr std::size_t largest_slice = 512;

/// How a thread cuts its product: `row_panel` rows of A and `column_panel` columns of B are packed at a time, whole
/// blocks of the kernel each and with all rows of the slice.
struct Panels {
  std::size_t row_panel;
  std::size_t column_panel;
};

// Half of a 2 MB second-level cache in all; a panel of A is read once for each panel of B.
constexpr std::size_t panel_bytes = 512 * 1024;

std::size_t panel_width(std::size_t inner, std::size_t width, std::size_t element_bytes, std::size_t needed) {
  const std::size_t fitting = panel_bytes / (element_bytes * inner * width);
  const std::size_t all = (needed + width - 1) / width;
  return std::clamp<std::size_t>(fitting, 1, all) * width;
}

template <class T>
Panels choose_panels(const RankK<T>& kernel, std::size_t inner, std::size_t rows, std::size_t columns) {
  return {panel_width(inner, kernel.block_rows, sizeof(T), rows),
          panel_width(inner, kernel.block_columns, sizeof(T), columns)};
}

/// C = alpha A^T B (+ beta C where `write` adds) on the calling thread alone. `workspace` holds inner * (row_panel +
/// column_panel) elements and starts at a cache line.
template <class T>
void blocked_product(const RankK<T>& kernel, Panels panels, MatrixView<const T> a, MatrixView<const T> b,
                     MatrixView<T> c, T alpha, T beta, Write write, T* workspace) {
  T* packed_b = workspace;  // first, where vectors are aligned
  T* packed_a = workspace + a.rows * panels.column_panel;
  for (std::size_t i = 0; i < c.rows; i += panels.row_panel) {
    const std::size_t rows = std::min(panels.row_panel, c.rows - i);
    kernel.pack_a(a.column_range(i, rows), alpha, packed_a);  // the same bits whatever is cut
    for (std::size_t j = 0; j < c.columns; j += panels.column_panel) {
      const std::size_t columns = std::min(panels.column_panel, c.columns - j);
      kernel.pack_b(b.column_range(j, columns), T{1}, packed_b);
      const MatrixView<T> part = c.row_range(i, rows).column_range(j, columns);
      for (std::size_t band = 0; band < rows; band += kernel.block_rows)
        kernel.multiply({packed_a + band * a.rows, packed_b, a.rows,
                         part.row_range(band, std::min(kernel.block_rows, rows - band)), beta, write});
    }
  }
  if (write == Write::stream) finish_streaming();
}

/// What a thread packs at a time, in whole cache lines.
template <class T>
std::size_t packed_bytes(std::size_t inner, Panels panels) {
  const std::size_t bytes = inner * (panels.row_panel + panels.column_panel) * sizeof(T);
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

template <class T>
void own_product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T alpha, T beta,
                 InstructionSet instructions, std::size_t all_parts_bytes) {
  const RankK<T> kernel = rank_k<T>(std::min(instructions, best_instruction_set()));
  const std::size_t bands = (c.rows + kernel.block_rows - 1) / kernel.block_rows;
  const bool parallel = c.rows * c.columns * (a.rows + 8) >= parallel_work;
  const std::size_t threads = parallel ? std::min(bands, thread_count()) : 1;
  const Write write = beta != T{0}                                    ? Write::add
                      : kernel.streams && streams(c, all_parts_bytes) ? Write::stream
                                                                      : Write::overwrite;
  const std::size_t head = write == Write::stream ? unaligned_columns(c) : 0;

  const std::size_t most_rows = (bands + threads - 1) / threads * kernel.block_rows;
  const Panels panels = choose_panels(kernel, a.rows, most_rows, c.columns);
  const std::size_t bytes = packed_bytes<T>(a.rows, panels);
  std::byte* const workspace = PackMemory::at_least(threads * bytes);

  on_threads(threads, [&](std::size_t t, std::size_t team) {
    const std::size_t first = std::min(c.rows, bands * t / team * kernel.block_rows);
    const std::size_t last = std::min(c.rows, bands * (t + 1) / team * kernel.block_rows);
    const auto part = [&](std::size_t column, std::size_t columns, Write how) {
      blocked_product<T>(kernel, panels, a.column_range(first, last - first), b.column_range(column, columns),
                         c.row_range(first, last - first).column_range(column, columns), alpha, beta, how,
                         reinterpret_cast<T*>(workspace + t * bytes));
    };
    if (head > 0) part(0, head, Write::overwrite);
    part(head, c.columns - head, write);
  });
}

}  // namespace

template <class T>
void product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T alpha, T beta, ProductMethod method,
             std::size_t all_parts_bytes) {
  if (c.rows == 0 || c.columns == 0) return;
  if (a.rows == 0) return multiply_by(beta, c);
  const TracedSpan span("product");
  if (method.blas_allowed && a.rows > largest_inner_dimension<T> && blas_keeps_up_with(method.instructions) &&
      fits_gemm(a, b, c))
    return gemm(a, b, c, alpha, beta);
  const std::size_t slices = (a.rows + largest_slice - 1) / largest_slice;
  for (std::size_t s = 0; s < slices; ++s) {
    const std::size_t first = a.rows * s / slices, rows = a.rows * (s + 1) / slices - first;
    own_product(a.row_range(first, rows), b.row_range(first, rows), c, alpha, s == 0 ? beta : T{1}, method.instructions,
                all_parts_bytes);
  }
}

template <class T>
void reserve_product() {
  static_assert(largest_slice * 64 * sizeof(T) <= panel_bytes, "a block of the kernel alone is a larger panel");
  PackMemory::at_least(thread_count() * 2 * panel_bytes);
}

#define INSTANTIATE(T)                \
  template void reserve_product<T>(); \
  template void product(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, T, T, ProductMethod, std::size_t);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
