#include "loop_benchmarks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>

#include <dsop/errors.hpp>

#include "kernels/blas_info.hpp"
#include "kernels/gemm.hpp"
#include "kernels/outer_product.hpp"
#include "kernels/threads.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace dsop::bench {
namespace {

/// The matrices of one measurement. C starts at a cache line, as frameworks allocate it.
template <class T>
class Matrices {
 public:
  Matrices(std::size_t inner, std::size_t rows, std::size_t columns)
      : a_elements_(inner * rows), b_elements_(inner * columns), c_elements_(rows * columns + line) {
    std::minstd_rand random;
    std::uniform_int_distribution<int> values{-4, 4};
    for (auto* elements : {&a_elements_, &b_elements_})
      for (T& element : *elements) element = static_cast<T>(values(random));
    a = {a_elements_.data(), inner, rows};
    b = {b_elements_.data(), inner, columns};
    const std::size_t past = reinterpret_cast<std::uintptr_t>(c_elements_.data()) / sizeof(T) % line;
    c = {c_elements_.data() + (line - past) % line, rows, columns};
  }

  MatrixView<const T> a, b;
  MatrixView<T> c;

 private:
  static constexpr std::size_t line = 64 / sizeof(T);
  std::vector<T> a_elements_, b_elements_, c_elements_;
};

// Loops that write a matrix and compute nothing: the floor under every product.

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

template <class T>
struct StoreLoop {
  std::string_view name;
  void (*write_zeros)(MatrixView<T> c);  ///< on the OpenMP threads of the calling thread
};

/// C's library call, vectors a row after the other, vectors eight rows side by side, and, on x86-64, streaming stores.
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

enum Contenders : std::size_t { product, kernel, openblas };

template <class T>
Columns shown(const Row& row, const Matrices<T>& of) {
  const auto elements = static_cast<double>(of.c.rows * of.c.columns);
  const auto seconds = [&](Contenders which) { return (*row.among)[which]->median_seconds(); };
  const bool has_blas = kernels::has_blas();
  const auto over_openblas = [&](Contenders which) {
    return has_blas ? Json(seconds(openblas) / seconds(which)) : Json();
  };
  const auto products = row.among->begin() + (has_blas ? 3 : 2);
  const Row& store =
      **std::ranges::min_element(products, row.among->end(), {}, [](const auto& one) { return one->median_seconds(); });
  std::vector<const Row*> timed;
  std::ranges::transform(row.among->begin(), products, std::back_inserter(timed),
                         [](const auto& one) { return one.get(); });
  timed.push_back(&store);
  Columns all{{"type", 6, "type", name(data_type<T>)}, {"K", 7, "inner", of.a.rows}};
  for (const Row* const one : timed)
    all = all + interval_columns("ns", 9, 8, *one, {1e9 / elements, 3}) +
          Columns{{"GB/s", 8, "", elements * sizeof(T) / one->median_seconds(), {1e-9, 2}}};
  return all +
         Columns{{"loop", 11, "", store.label},
                 {"product", 8, "", over_openblas(product), two_decimals},
                 {"kernel", 8, "", over_openblas(kernel), two_decimals},
                 {"/store", 8, "", seconds(product) / store.median_seconds(), two_decimals},
                 field("rows", of.c.rows),
                 field("columns", of.c.columns),
                 field("contender", row.label),
                 field("threads", kernels::thread_count()),
                 field("instructions", name(best_instruction_set())),
                 field("openblas_core", kernels::blas_core_name())} +
         loop_fields(row);
}

template <class T>
Rows rows_of(const KernelOptions& options, std::size_t inner) {
  const auto matrices = std::make_shared<Matrices<T>>(inner, options.rows, options.columns);
  const MatrixView<const T> a = matrices->a, b = matrices->b;
  const MatrixView<T> c = matrices->c;
  Rows rows;
  const auto add = [&](const std::string& name, const std::function<void()>& call) -> FunctionRow& {
    return add_loop(rows, name, call, [matrices](const Row& row) { return shown(row, *matrices); });
  };
  // Integers are exact in any order of summation, so the products must be equal.
  const auto count_wrong = [=] {
    const std::vector<T> made(c.data, c.data + c.rows * c.columns);
    kernels::gemm<T>(a, b, c, 1, 0);
    return count_different<T>(made, {c.data, made.size()});
  };
  add("product", [=] { kernels::product<T>(a, b, c, 1, 0); }).check = count_wrong;
  add("kernel", [=] { kernels::product<T>(a, b, c, 1, 0, {.blas_allowed = false}); }).check = count_wrong;
  if (kernels::has_blas()) add("openblas", [=] { kernels::gemm<T>(a, b, c, 1, 0); });
  for (const StoreLoop<T>& loop : store_loops<T>()) add(std::string(loop.name), [=] { loop.write_zeros(c); });
  return rows;
}

void check(const KernelOptions& options) {
  const auto positive = [](const std::string& option, std::size_t value) {
    if (value == 0) throw Error(option + " is 0, expected at least 1");
  };
  positive("--rows", options.rows);
  positive("--cols", options.columns);
  for (const std::size_t inner : options.inner) positive("--inner", inner);
}

}  // namespace

void kernel_benchmark(const KernelOptions& options) {
  check(options);
  const std::string n = std::to_string(options.rows), m = std::to_string(options.columns);
  Family family{
      .name = "kernel",
      .title = "kernel: C = A^T B, A is K x n, B is K x m, C is n x m = " + n + " x " + m + ", row-major, overwritten",
      .notes = {"threads " + std::to_string(kernels::thread_count()) + ", instructions " +
                    std::string(name(best_instruction_set())) + ", OpenBLAS core " +
                    std::string(kernels::blas_core_name()) + ", " + std::to_string(options.iterations) + " rounds",
                "product: what dsop calls; kernel: ours at every K. Ours makes " + inner_dimensions_of_our_kernel(),
                "store: the fastest of the loops that only write C, named behind",
                "ns: median time per element of C, with the 95 % interval of the median; GB/s: bytes of C per second",
                "ratios: of medians; blas/ is OpenBLAS's time over ours, /store is product's time over store's",
                std::string("               product                          kernel                  ") +
                    (kernels::has_blas() ? "         OpenBLAS                         " : "") +
                    "store                                      blas/   blas/ product"},
      .one_line = true};
  for (const std::size_t inner : options.inner)
    add_inputs(family, "K = " + std::to_string(inner), options.dtype,
               [&options, inner]<class T>() { return rows_of<T>(options, inner); });
  benchmark_loops(family, options);
}

}  // namespace dsop::bench
