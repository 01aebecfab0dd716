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
    return reinterpret_cast<std::byte*>(memory.lines_.get());
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

/// How a product is made, whatever thread makes a part of it.
template <class T>
struct Prepared {
  Prepared(const RankK<T>& kernel, const Product<T>& product, std::size_t all_parts_bytes)
      : bands((product.c.rows + kernel.block_rows - 1) / kernel.block_rows) {
    for (const Factors<T>& part : product.parts) inner += part.a.rows;
    slices = (inner + largest_slice - 1) / largest_slice;
    if (product.beta != T{0})
      write = Write::add;
    else if (kernel.streams && streams(product.c, all_parts_bytes))
      write = Write::stream;
    panels = choose_panels(kernel, std::max(slice_rows(), std::size_t{1}), product.c.rows, product.c.columns);
  }
  std::size_t work(const Product<T>& product) const { return product.c.rows * product.c.columns * (inner + 8); }
  /// The most rows of A and B in a slice; slice s begins at row inner * s / slices.
  std::size_t slice_rows() const { return slices == 0 ? 0 : (inner + slices - 1) / slices; }

  std::size_t bands;  // of block_rows rows of C
  std::size_t inner = 0;
  std::size_t slices = 0;
  Write write = Write::overwrite;  // of the first slice; later ones are added
  Panels panels = {};
};

/// Some rows and columns of C, which one thread makes.
struct Part {
  std::size_t first_row, last_row, first_column, last_column;
};

/// C = alpha A^T B + beta C of slice s and a part of C, on the calling thread alone. `workspace` holds
/// slice_rows() * (row_panel + column_panel) elements and starts at a cache line.
template <class T>
void blocked_product(const RankK<T>& kernel, const Product<T>& product, const Prepared<T>& how, std::size_t s,
                     const Part& part, T beta, Write write, T* workspace) {
  const std::size_t begin = how.inner * s / how.slices;
  const std::size_t inner = how.inner * (s + 1) / how.slices - begin;
  T* packed_b = workspace;  // first, where vectors are aligned
  T* packed_a = workspace + inner * how.panels.column_panel;
  // Calls pack(the slice's rows of a factor, where in the slice they stand) for the factors that have some.
  const auto each_in_slice = [&](MatrixView<const T> Factors<T>::*factor, const auto& pack) {
    std::size_t at = 0;  // of all rows
    for (const Factors<T>& factors : product.parts) {
      const std::size_t rows = factors.a.rows;
      const std::size_t first = std::clamp(begin, at, at + rows);
      const std::size_t last = std::clamp(begin + inner, at, at + rows);
      if (first < last) pack((factors.*factor).row_range(first - at, last - first), first - begin);
      at += rows;
    }
  };
  for (std::size_t i = part.first_row; i < part.last_row; i += how.panels.row_panel) {
    const std::size_t rows = std::min(how.panels.row_panel, part.last_row - i);
    each_in_slice(&Factors<T>::a, [&](MatrixView<const T> a, std::size_t k) {  // the same bits whatever is cut
      kernel.pack_a(a.column_range(i, rows), inner, product.alpha, packed_a + k * kernel.block_rows);
    });
    for (std::size_t j = part.first_column; j < part.last_column; j += how.panels.column_panel) {
      const std::size_t columns = std::min(how.panels.column_panel, part.last_column - j);
      each_in_slice(&Factors<T>::b, [&](MatrixView<const T> b, std::size_t k) {
        kernel.pack_b(b.column_range(j, columns), inner, T{1}, packed_b + k * kernel.block_columns);
      });
      const MatrixView<T> c = product.c.row_range(i, rows).column_range(j, columns);
      for (std::size_t band = 0; band < rows; band += kernel.block_rows)
        kernel.multiply({packed_a + band * inner, packed_b, inner,
                         c.row_range(band, std::min(kernel.block_rows, rows - band)), beta, write});
    }
  }
  if (write == Write::stream) finish_streaming();
}

/// All slices of rows first .. last - 1 of C.
template <class T>
void make_rows(const RankK<T>& kernel, const Product<T>& product, const Prepared<T>& how, std::size_t first,
               std::size_t last, T* workspace) {
  const MatrixView<T> c = product.c;
  if (how.inner == 0) return multiply_by(product.beta, c.row_range(first, last - first));
  const std::size_t head = how.write == Write::stream ? unaligned_columns(c) : 0;
  if (head > 0) blocked_product(kernel, product, how, 0, {first, last, 0, head}, T{0}, Write::overwrite, workspace);
  blocked_product(kernel, product, how, 0, {first, last, head, c.columns}, product.beta, how.write, workspace);
  for (std::size_t s = 1; s < how.slices; ++s)
    blocked_product(kernel, product, how, s, {first, last, 0, c.columns}, T{1}, Write::add, workspace);
}

/// What a thread packs at a time, in whole cache lines.
template <class T>
std::size_t packed_bytes(std::size_t inner, Panels panels) {
  const std::size_t bytes = inner * (panels.row_panel + panels.column_panel) * sizeof(T);
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

}  // namespace

// A thread's share is a stretch of all products' work, cut between bands.
template <class T>
void products(std::span<const Product<T>> list, InstructionSet instructions, std::size_t all_parts_bytes) {
  const RankK<T> kernel = rank_k<T>(std::min(instructions, best_instruction_set()));
  std::size_t work = 0;
  std::size_t bands = 0;
  std::size_t bytes = 0;
  for (const Product<T>& product : list) {
    const Prepared<T> how(kernel, product, all_parts_bytes);
    work += how.work(product);
    bands += how.bands;
    bytes = std::max(bytes, packed_bytes<T>(how.slice_rows(), how.panels));
  }
  if (work == 0) return;
  const std::size_t threads = work >= parallel_work ? std::min(bands, thread_count()) : 1;
  std::byte* const workspace = PackMemory::at_least(threads * bytes);

  on_threads(threads, [&](std::size_t t, std::size_t team) {
    const auto own_workspace = reinterpret_cast<T*>(workspace + t * bytes);
    const auto share_of = [&](std::size_t thread) {
      return static_cast<double>(work) * static_cast<double>(thread) / static_cast<double>(team);
    };
    double begin = 0;  // of the product, in the work of all
    for (const Product<T>& product : list) {
      const Prepared<T> how(kernel, product, all_parts_bytes);
      const auto own_work = static_cast<double>(how.work(product));
      const auto row_of = [&](double share) {
        const double made = std::clamp((share - begin) / own_work, 0.0, 1.0) * static_cast<double>(how.bands);
        return std::min(product.c.rows, static_cast<std::size_t>(made + 0.5) * kernel.block_rows);
      };
      if (own_work == 0) continue;
      const std::size_t first = row_of(share_of(t));
      const std::size_t last = t + 1 == team ? product.c.rows : row_of(share_of(t + 1));
      begin += own_work;
      if (first < last) make_rows(kernel, product, how, first, last, own_workspace);
    }
  });
}

template <class T>
void product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, T alpha, T beta, ProductMethod method,
             std::size_t all_parts_bytes) {
  if (c.rows == 0 || c.columns == 0) return;
  if (a.rows == 0) return multiply_by(beta, c);
  const TracedSpan span("product");
  if (method.blas_allowed && a.rows > largest_inner_dimension<T> && blas_keeps_up_with(method.instructions) &&
      fits_gemm(a, b, c))
    return gemm(a, b, c, alpha, beta);
  const Factors<T> whole{a, b};
  const Product<T> one{{&whole, 1}, c, alpha, beta};
  products<T>({&one, 1}, method.instructions, all_parts_bytes);
}

template <class T>
void reserve_product() {
  static_assert(largest_slice * 64 * sizeof(T) <= panel_bytes, "a block of the kernel alone is a larger panel");
  PackMemory::at_least(thread_count() * 2 * panel_bytes);
}

#define INSTANTIATE(T)                                                                 \
  template void reserve_product<T>();                                                  \
  template void products<T>(std::span<const Product<T>>, InstructionSet, std::size_t); \
  template void product(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, T, T, ProductMethod, std::size_t);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::kernels
