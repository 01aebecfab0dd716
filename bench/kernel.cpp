#include "kernel.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "kernels/gemm.hpp"
#include "kernels/outer_product.hpp"
#include "kernels/threads.hpp"
#include "rounds.hpp"
#include "statistics.hpp"
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

/// Integers are exact in any order of summation, so the products must be equal.
template <class T>
void verify(const Matrices<T>& matrices, const Loop& reference, const Loop& contender) {
  const std::size_t count = matrices.c.rows * matrices.c.columns;
  T* const made = matrices.c.data;
  std::vector<T> expected(count);
  reference.run();
  std::copy_n(made, count, expected.data());
  std::fill_n(made, count, T{-1});
  contender.run();
  if (std::equal(expected.begin(), expected.end(), made)) return;
  std::ostringstream message;
  message << contender.name << ": its product at K = " << matrices.a.rows << ", " << name(data_type<T>) << " is not "
          << reference.name << "'s";
  throw std::runtime_error(message.str());
}

void write_row(std::ostream& table, std::string_view type, std::size_t inner, double elements, double element_bytes,
               const std::vector<Loop>& contenders) {
  const auto seconds = [](const Loop& contender) { return median(contender.seconds); };
  const auto& store = *std::min_element(contenders.begin() + 3, contenders.end(),
                                        [&](const auto& x, const auto& y) { return seconds(x) < seconds(y); });
  table << std::setw(6) << type << std::setw(7) << inner << std::fixed;
  for (const Loop* contender : {&contenders[0], &contenders[1], &contenders[2], &store}) {
    const Interval interval = median_interval(contender->seconds);
    const auto nanoseconds = [&](double value) { return value * 1e9 / elements; };
    table << std::setprecision(3) << std::setw(9) << nanoseconds(seconds(*contender)) << std::setw(8)
          << nanoseconds(interval.low) << std::setw(8) << nanoseconds(interval.high) << std::setprecision(2)
          << std::setw(8) << elements * element_bytes / seconds(*contender) * 1e-9;
  }
  table << std::setw(11) << store.name << std::setw(8) << seconds(contenders[2]) / seconds(contenders[0])
        << std::setw(8) << seconds(contenders[2]) / seconds(contenders[1]) << std::setw(8)
        << seconds(contenders[0]) / seconds(store) << '\n'
        << std::flush;
}

void write_json(std::ostream& lines, std::string_view type, std::size_t inner, const KernelOptions& options,
                const Loop& contender) {
  lines << R"({"benchmark": "kernel", "type": ")" << type << R"(", "rows": )" << options.rows << R"(, "columns": )"
        << options.columns << R"(, "inner": )" << inner << R"(, "contender": ")" << contender.name
        << R"(", "threads": )" << kernels::thread_count() << R"(, "instructions": ")" << name(best_instruction_set())
        << R"(", "openblas_core": ")" << openblas_get_corename() << R"(", "calls_per_sample": )"
        << contender.calls_per_sample << R"(, "seconds": [)" << std::setprecision(6) << std::scientific;
  for (std::size_t i = 0; i < contender.seconds.size(); ++i) lines << (i == 0 ? "" : ", ") << contender.seconds[i];
  lines << "]}\n" << std::flush;
}

template <class T>
void measure_inner(const KernelOptions& options, std::size_t inner, std::ostream& table, std::ostream* json_lines) {
  const Matrices<T> matrices{inner, options.rows, options.columns};
  const MatrixView<const T> a = matrices.a, b = matrices.b;
  const MatrixView<T> c = matrices.c;
  std::vector<Loop> contenders{{"product", [=] { kernels::product<T>(a, b, c, 1, 0); }},
                               {"kernel", [=] { kernels::product<T>(a, b, c, 1, 0, {.blas_allowed = false}); }},
                               {"openblas", [=] { kernels::gemm<T>(a, b, c, 1, 0); }}};
  for (std::size_t own = 0; own < 2; ++own) verify(matrices, contenders[2], contenders[own]);
  for (const StoreLoop<T>& loop : store_loops<T>())
    contenders.push_back({std::string(loop.name), [=] { loop.write_zeros(c); }});
  measure_rounds(contenders, options.iterations);
  write_row(table, name(data_type<T>), inner, static_cast<double>(options.rows * options.columns), sizeof(T),
            contenders);
  if (json_lines != nullptr)
    for (const Loop& contender : contenders) write_json(*json_lines, name(data_type<T>), inner, options, contender);
}

void write_header(std::ostream& table, const KernelOptions& options) {
  table << "# dsop local product: C = A^T B, A is K x n, B is K x m, C is n x m = " << options.rows << " x "
        << options.columns << ", row-major, overwritten\n"
        << "# threads " << kernels::thread_count() << ", instructions " << name(best_instruction_set())
        << ", OpenBLAS core " << openblas_get_corename() << ", " << options.iterations << " rounds\n"
        << "# product: what dsop calls; kernel: ours at every K. Ours makes " << inner_dimensions_of_our_kernel()
        << '\n'
        << "# store: the fastest of the loops that only write C, named behind\n"
        << "# ns: median time per element of C, with the 95 % interval of the median; GB/s: bytes of C per second\n"
        << "# ratios: of medians; blas/ is OpenBLAS's time over ours, /store is product's time over store's\n"
        << "#                product                          kernel                           OpenBLAS"
           "                         store                                      blas/   blas/ product\n"
        << "# type      K       ns     low    high    GB/s       ns     low    high    GB/s       ns     low    high   "
           " GB/s"
           "       ns     low    high    GB/s       loop product  kernel  /store\n";
}

void check(const KernelOptions& options) {
  const auto positive = [](std::string_view option, std::size_t value) {
    if (value == 0) throw std::invalid_argument(std::string(option) + " is 0, expected at least 1");
  };
  positive("--rows", options.rows);
  positive("--cols", options.columns);
  positive("--iterations", options.iterations);
  for (const std::size_t inner : options.inner) positive("--inner", inner);
  if (types_named(options.dtype).empty())
    throw std::invalid_argument("--dtype is " + options.dtype + ", expected " + one_of(names_of_types()));
}

}  // namespace

void kernel_benchmark(const KernelOptions& options, std::ostream& table, std::ostream* json_lines) {
  check(options);
  write_header(table, options);
  for (const std::size_t inner : options.inner)
    for (const DataType type : types_named(options.dtype))
      visit(type, [&]<class T>(T) { measure_inner<T>(options, inner, table, json_lines); });
}

}  // namespace dsop::bench
