#include "loop_benchmarks.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>

#include <dsop/errors.hpp>

#include "kernels/gemm.hpp"
#include "kernels/outer_product.hpp"
#include "kernels/threads.hpp"
#include "store_loops.hpp"
#include "types.hpp"

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

enum Contenders : std::size_t { product, kernel, openblas, first_store };

template <class T>
struct KernelRow final : LoopRow {
  KernelRow(std::string name, std::function<void()> body, std::shared_ptr<Matrices<T>> of)
      : LoopRow(std::move(name), std::move(body)), matrices(std::move(of)) {}

  std::shared_ptr<Matrices<T>> matrices;

  Columns columns() const override {
    const MatrixView<T> c = matrices->c;
    const auto elements = static_cast<double>(c.rows * c.columns);
    const auto seconds = [](const auto& row) { return row->median_seconds(); };
    const Row& store = **std::ranges::min_element(among->begin() + first_store, among->end(), {}, seconds);
    Columns all{{"type", 6, "type", name(data_type<T>)}, {"K", 7, "inner", matrices->a.rows}};
    for (const Row* const row : {&other(product), &other(kernel), &other(openblas), &store})
      all = all + interval_columns("ns", 9, 8, *row, {1e9 / elements, 3}) +
            Columns{{"GB/s", 8, "", elements * sizeof(T) / row->median_seconds(), {1e-9, 2}}};
    const double openblas_seconds = other(openblas).median_seconds(), own_seconds = other(product).median_seconds();
    return all +
           Columns{{"loop", 11, "", store.label},
                   {"product", 8, "", openblas_seconds / own_seconds, two_decimals},
                   {"kernel", 8, "", openblas_seconds / other(kernel).median_seconds(), two_decimals},
                   {"/store", 8, "", own_seconds / store.median_seconds(), two_decimals},
                   field("rows", c.rows),
                   field("columns", c.columns),
                   field("contender", label),
                   field("threads", kernels::thread_count()),
                   field("instructions", name(best_instruction_set())),
                   field("openblas_core", openblas_get_corename())} +
           loop_fields(*this);
  }
};

template <class T>
Rows rows_of(const KernelOptions& options, std::size_t inner) {
  const auto matrices = std::make_shared<Matrices<T>>(inner, options.rows, options.columns);
  const MatrixView<const T> a = matrices->a, b = matrices->b;
  const MatrixView<T> c = matrices->c;
  Rows rows;
  const auto add = [&](const std::string& name, const std::function<void()>& call) -> LoopRow& {
    auto row = std::make_unique<KernelRow<T>>(name, call, matrices);
    LoopRow& added = *row;
    rows.push_back(std::move(row));
    return added;
  };
  // Integers are exact in any order of summation, so the products must be equal.
  const auto count_wrong = [=]() -> std::optional<std::size_t> {
    const std::vector<T> made(c.data, c.data + c.rows * c.columns);
    kernels::gemm<T>(a, b, c, 1, 0);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < made.size(); ++i) wrong += made[i] == c.data[i] ? 0 : 1;
    return wrong;
  };
  add("product", [=] { kernels::product<T>(a, b, c, 1, 0); }).check = count_wrong;
  add("kernel", [=] { kernels::product<T>(a, b, c, 1, 0, {.blas_allowed = false}); }).check = count_wrong;
  add("openblas", [=] { kernels::gemm<T>(a, b, c, 1, 0); });
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
  const Family family{
      .name = "kernel",
      .title = "kernel: C = A^T B, A is K x n, B is K x m, C is n x m = " + n + " x " + m + ", row-major, overwritten",
      .notes = {"threads " + std::to_string(kernels::thread_count()) + ", instructions " +
                    std::string(name(best_instruction_set())) + ", OpenBLAS core " + openblas_get_corename() + ", " +
                    std::to_string(options.iterations) + " rounds",
                "product: what dsop calls; kernel: ours at every K. Ours makes " + inner_dimensions_of_our_kernel(),
                "store: the fastest of the loops that only write C, named behind",
                "ns: median time per element of C, with the 95 % interval of the median; GB/s: bytes of C per second",
                "ratios: of medians; blas/ is OpenBLAS's time over ours, /store is product's time over store's",
                "               product                          kernel                           OpenBLAS"
                "                         store                                      blas/   blas/ product"},
      .one_line = true};
  std::vector<Input> inputs;
  for (const std::size_t inner : options.inner)
    for (const DataType type : types_named(options.dtype))
      inputs.push_back({"K = " + std::to_string(inner), [&options, inner, type](Watch&) {
                          return visit(type, [&]<class T>(T) { return rows_of<T>(options, inner); });
                        }});
  benchmark_loops(family, options, inputs);
}

}  // namespace dsop::bench
