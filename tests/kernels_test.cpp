#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "base/streaming_bytes.hpp"
#include "kernels/blas_info.hpp"
#include "kernels/outer_product.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

using dsop::InstructionSet;
using dsop::MatrixView;
using dsop::ProductMethod;

using Sizes = std::initializer_list<std::size_t>;

constexpr std::size_t guard_columns = 5;

/// A matrix that owns its elements and has `guard_columns` untouchable ones behind each row.
template <class T>
struct Matrix {
  std::size_t rows, columns;
  std::vector<T> elements;

  Matrix(std::size_t rows_, std::size_t columns_, T guard = T{-77})
      : rows(rows_), columns(columns_), elements(rows_ * (columns_ + guard_columns), guard) {}

  MatrixView<T> view() { return {elements.data(), rows, columns, columns + guard_columns}; }
  MatrixView<const T> view() const { return {elements.data(), rows, columns, columns + guard_columns}; }

  template <class Generator>
  void fill(Generator generator) {
    for (std::size_t i = 0; i < rows; ++i) std::generate_n(view().row(i), columns, generator);
  }
};

template <class T>
Matrix<T> integers(std::size_t rows, std::size_t columns, unsigned seed) {
  std::minstd_rand random{seed};
  std::uniform_int_distribution<int> values{-4, 4};
  Matrix<T> matrix{rows, columns};
  matrix.fill([&] { return static_cast<T>(values(random)); });
  return matrix;
}

template <class T>
Matrix<T> reals(std::size_t rows, std::size_t columns, unsigned seed) {
  std::minstd_rand random{seed};
  std::normal_distribution<double> values;
  Matrix<T> matrix{rows, columns};
  matrix.fill([&] { return static_cast<T>(values(random)); });
  return matrix;
}

template <class T>
Matrix<T> absolute(Matrix<T> matrix) {
  for (T& element : matrix.elements) element = std::abs(element);
  return matrix;
}

/// The triple loop, in the arithmetic of `Sum`.
template <class Sum, class T>
Matrix<T> naive_product(const Matrix<T>& a, const Matrix<T>& b, Matrix<T> c, std::type_identity_t<T> scale,
                        std::type_identity_t<T> beta) {
  for (std::size_t i = 0; i < c.rows; ++i)
    for (std::size_t j = 0; j < c.columns; ++j) {
      Sum sum = 0;
      for (std::size_t k = 0; k < a.rows; ++k) sum += Sum{a.view().row(k)[i]} * Sum{b.view().row(k)[j]};
      T& element = c.view().row(i)[j];
      element = static_cast<T>((beta != T{0} ? Sum{beta} * Sum{element} : Sum{0}) + Sum{scale} * sum);
    }
  return c;
}

template <class T>
Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b, Matrix<T> c, std::type_identity_t<T> scale,
                  std::type_identity_t<T> beta, ProductMethod method) {
  dsop::kernels::product<T>(a.view(), b.view(), c.view(), scale, beta, method);
  return c;
}

std::vector<InstructionSet> available_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512})
    if (set <= dsop::best_instruction_set()) sets.push_back(set);
  return sets;
}

/// Every element, guards included, is the same number.
template <class T>
void check_product(std::size_t n, std::size_t m, std::size_t inner, T scale, T beta) {
  const Matrix<T> a = integers<T>(inner, n, 1), b = integers<T>(inner, m, 2), c = integers<T>(n, m, 3);
  const Matrix<T> expected = naive_product<T>(a, b, c, scale, beta);
  for (const InstructionSet set : available_instruction_sets())
    for (const bool blas_allowed : {false, true}) {
      INFO("n " << n << ", m " << m << ", K " << inner << ", scale " << scale << ", beta " << beta << ", " << name(set)
                << ", BLAS " << blas_allowed);
      const Matrix<T> c_made = product(a, b, c, scale, beta, {set, blas_allowed});
      CHECK((c_made.elements == expected.elements));
    }
}

/// A matrix of random reals by the kernel's own product, whose bits the tests below compare.
template <class T>
struct RealCase {
  Matrix<T> a, b, c;

  RealCase(std::size_t n, std::size_t m, std::size_t inner)
      : a(reals<T>(inner, n, 4)), b(reals<T>(inner, m, 5)), c(reals<T>(n, m, 6)) {}

  Matrix<T> made(T beta, InstructionSet set) const { return product(a, b, c, T(0.3), beta, {set, false}); }
};

}  // namespace

TEST_CASE("OpenBLAS's cores without AVX are known", "[kernels]") {
  for (const char* const core : {"Prescott", "PRESCOTT", "Katmai", "Opteron_SSE3"})
    CHECK(dsop::kernels::is_core_without_avx(core));
  for (const char* const core : {"Haswell", "Zen", "SkylakeX", "SapphireRapids", "armv8"})
    CHECK_FALSE(dsop::kernels::is_core_without_avx(core));
}

// Also run with OPENBLAS_CORETYPE=Prescott.
TEMPLATE_TEST_CASE("our kernel makes every product where OpenBLAS's core has no AVX", "[blas core]", float, double) {
  const Matrix<TestType> a = reals<TestType>(400, 60, 1), b = reals<TestType>(400, 50, 2);
  const Matrix<TestType> c(60, 50);
  const Matrix<TestType> by_default = product(a, b, c, 1, 0, {});
  const Matrix<TestType> ours = product(a, b, c, 1, 0, {.blas_allowed = false});
  CHECK((dsop::kernels::blas_keeps_up_with(dsop::best_instruction_set()) || by_default.elements == ours.elements));
}

TEMPLATE_TEST_CASE("a product of integers is exact for every shape", "[kernels]", float, double) {
  const std::vector<std::size_t> sizes{0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100};
  for (std::size_t x = 0; x < sizes.size(); ++x)
    for (std::size_t y = 0; y < sizes.size(); ++y)
      check_product<TestType>(sizes[x], sizes[y], (5 * x + 7 * y) % 13, 2, TestType((x + y) % 3));
}

TEMPLATE_TEST_CASE("a product of integers is exact for every inner dimension", "[kernels]", float, double) {
  std::vector<std::size_t> inner_dimensions{64, 65, 127, 200, 512};
  for (std::size_t inner = 0; inner <= 40; ++inner) inner_dimensions.push_back(inner);
  for (const std::size_t inner : inner_dimensions)
    for (const TestType beta : {TestType(0), TestType(1), TestType(-3)}) {
      check_product<TestType>(33, 65, inner, 1, beta);
      check_product<TestType>(17, 31, inner, TestType(0.5), beta);
    }
}

TEMPLATE_TEST_CASE("a product larger than its cache panels is exact", "[kernels]", float, double) {
  check_product<TestType>(150, 170, 3000, 1, 0);
  check_product<TestType>(3, 2, 200000, 1, 1);
}

TEMPLATE_TEST_CASE("a product streamed past the caches is exact", "[kernels]", float, double) {
  constexpr std::size_t n = 1031, m = 32 * 1024 * 1024 / sizeof(TestType) / 1024, stride = m + 16;
  const auto a = integers<TestType>(2, n, 1), b = integers<TestType>(2, m, 2);
  for (const std::size_t offset : Sizes{0, 1, 15}) {
    std::vector<TestType> elements(n * stride + offset, TestType{-77});
    dsop::kernels::product<TestType>(a.view(), b.view(), {elements.data() + offset, n, m, stride}, 1, 0);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::size_t row = (i - offset) / stride, column = (i - offset) % stride;
      const bool guard = i < offset || column >= m;
      wrong += elements[i] != (guard ? TestType{-77}
                                     : a.view().row(0)[row] * b.view().row(0)[column] +
                                           a.view().row(1)[row] * b.view().row(1)[column]);
    }
    INFO("offset " << offset);
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("parts of a large C, streamed past the caches, are exact", "[kernels]", float, double) {
  constexpr std::size_t n = 101, m = 256 - guard_columns, parts = 7;  // rows of whole cache lines
  const auto a = integers<TestType>(2, n, 1), b = integers<TestType>(2, m, 2);
  for (const TestType beta : {TestType(0), TestType(1)}) {
    auto c = integers<TestType>(n, m, 3);
    const auto expected = naive_product<TestType>(a, b, c, TestType{1}, beta);
    const auto first = [](std::size_t part, std::size_t all) { return all * part / parts; };
    for (std::size_t i = 0; i < parts; ++i)
      for (std::size_t j = 0; j < parts; ++j) {
        const std::size_t row = first(i, n), rows = first(i + 1, n) - row;
        const std::size_t column = first(j, m), columns = first(j + 1, m) - column;
        dsop::kernels::product<TestType>(a.view().column_range(row, rows), b.view().column_range(column, columns),
                                         c.view().row_range(row, rows).column_range(column, columns), 1, beta, {},
                                         dsop::streaming_bytes);
      }
    CHECK((c.elements == expected.elements));
  }
}

TEMPLATE_TEST_CASE("an overwritten C may hold anything, NaN too", "[kernels]", float, double) {
  for (const std::size_t inner : Sizes{0, 3, 300}) {
    const auto a = integers<TestType>(inner, 9, 1), b = integers<TestType>(inner, 9, 2);
    Matrix<TestType> c{9, 9};
    const auto expected = naive_product<TestType>(a, b, c, TestType{1}, 0);
    c.fill([] { return std::numeric_limits<TestType>::quiet_NaN(); });
    CHECK((product(a, b, c, TestType{1}, 0, {}).elements == expected.elements));
  }
}

TEMPLATE_TEST_CASE("a stride beyond 32 bits is no obstacle", "[kernels]", float, double) {
  const auto a = integers<TestType>(300, 1, 1), b = integers<TestType>(300, 6, 2);
  Matrix<TestType> c{1, 6};
  const auto expected = naive_product<TestType>(a, b, c, TestType{1}, 0);
  dsop::kernels::product<TestType>(a.view(), b.view(), {c.elements.data(), 1, 6, std::size_t{1} << 33}, 1, 0);
  CHECK((c.elements == expected.elements));
}

TEMPLATE_TEST_CASE("the bits of an element do not depend on the block it is computed in", "[kernels]", float, double) {
  const std::size_t n = 53, m = 71;
  for (const std::size_t inner : Sizes{1, 5, 100, 1000})
    for (const InstructionSet set : available_instruction_sets())
      for (const TestType beta : {TestType(0), TestType(1), TestType(0.9)}) {
        const RealCase<TestType> whole{n, m, inner};
        const auto expected = whole.made(beta, set);
        auto in_blocks = whole.c;
        for (std::size_t i = 0; i < n; i += 11)
          for (std::size_t j = 0; j < m; j += 13) {
            const std::size_t rows = std::min<std::size_t>(11, n - i), columns = std::min<std::size_t>(13, m - j);
            auto a = whole.a.view(), b = whole.b.view();
            auto c = in_blocks.view();
            dsop::kernels::product<TestType>(
                {a.data + i, inner, rows, a.stride}, {b.data + j, inner, columns, b.stride},
                {c.row(i) + j, rows, columns, c.stride}, TestType(0.3), beta, {set, false});
          }
        INFO("K " << inner << ", beta " << beta << ", " << name(set));
        CHECK((in_blocks.elements == expected.elements));
      }
}

TEMPLATE_TEST_CASE("AVX2 and AVX-512 give the same bits", "[kernels]", float, double) {
  if (dsop::best_instruction_set() < InstructionSet::avx512) return;
  for (const std::size_t inner : Sizes{1, 7, 300})
    for (const TestType beta : {TestType(0), TestType(1), TestType(0.9)}) {
      const RealCase<TestType> real{61, 77, inner};
      CHECK((real.made(beta, InstructionSet::avx2).elements == real.made(beta, InstructionSet::avx512).elements));
    }
}

#if defined(_OPENMP)
TEMPLATE_TEST_CASE("the bits of an element do not depend on the number of threads", "[kernels]", float, double) {
  const int threads_before = omp_get_max_threads();
  for (const std::size_t inner : Sizes{1, 9, 200}) {
    const RealCase<TestType> real{401, 507, inner};
    omp_set_num_threads(1);
    const auto expected = real.made(1, dsop::best_instruction_set());
    for (const int threads : {2, 3, 5}) {
      omp_set_num_threads(threads);
      CHECK((real.made(1, dsop::best_instruction_set()).elements == expected.elements));
      CHECK(omp_get_max_threads() == threads);
    }
  }
  omp_set_num_threads(threads_before);
}
#endif

TEMPLATE_TEST_CASE("the rounding error stays within its bound", "[kernels]", float, double) {
  for (const std::size_t inner : Sizes{1, 10, 100, 1000}) {
    const RealCase<TestType> real{40, 50, inner};
    const auto exact = naive_product<long double>(real.a, real.b, real.c, TestType(0.3), 1);
    // Sequential summation (Higham, Accuracy and Stability of Numerical Algorithms, 3.1), three more roundings for the
    // scale, the sum with C and `exact` itself.
    const auto magnitude =
        naive_product<long double>(absolute(real.a), absolute(real.b), absolute(real.c), TestType(0.3), 1);
    const double relative_bound = double{std::numeric_limits<TestType>::epsilon()} * static_cast<double>(inner + 3);
    for (const InstructionSet set : available_instruction_sets())
      for (const bool blas_allowed : {false, true}) {
        const auto made = product(real.a, real.b, real.c, TestType(0.3), 1, {set, blas_allowed});
        std::size_t failures = 0;
        for (std::size_t i = 0; i < made.elements.size(); ++i) {
          const double difference = std::abs(double{made.elements[i]} - double{exact.elements[i]});
          failures += !(difference <= relative_bound * double{magnitude.elements[i]});
        }
        INFO("K " << inner << ", " << name(set) << ", BLAS " << blas_allowed);
        CHECK(failures == 0);
      }
  }
}
