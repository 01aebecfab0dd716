#include <catch2/catch.hpp>

#include <cstddef>
#include <limits>
#include <vector>

#include "base/streaming_bytes.hpp"
#include "kernels/blas_info.hpp"
#include "kernels/gemm.hpp"
#include "product_cases.hpp"

namespace {

using namespace dsop::tests;
using dsop::InstructionSet;

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

}  // namespace

TEST_CASE("the instructions of OpenBLAS's cores are known", "[kernels]") {
  using dsop::kernels::instructions_of_blas;
  for (const char* const core : {"Prescott", "PRESCOTT", "Katmai", "Opteron_SSE3", "Sandybridge", "armv8"})
    CHECK(instructions_of_blas(core) == InstructionSet::baseline);
  for (const char* const core : {"Haswell", "HASWELL", "Zen", "Excavator"})
    CHECK(instructions_of_blas(core) == InstructionSet::avx2);
  for (const char* const core : {"SkylakeX", "Cooperlake", "SapphireRapids"})
    CHECK(instructions_of_blas(core) == InstructionSet::avx512);
}

// Also run with OPENBLAS_CORETYPE=Prescott.
TEMPLATE_TEST_CASE("our kernel makes every product where OpenBLAS's core has less", "[blas core]", float, double) {
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

TEMPLATE_TEST_CASE("what a layer computes is exact, forward and backward", "[kernels]", float, double) {
  const auto transposed = [](const Matrix<TestType>& from) {
    Matrix<TestType> to{from.columns, from.rows};
    for (std::size_t i = 0; i < from.rows; ++i)
      for (std::size_t j = 0; j < from.columns; ++j) to.view().row(j)[i] = from.view().row(i)[j];
    return to;
  };
  for (const std::size_t inner : Sizes{0, 1, 33, 700})
    for (const bool accumulate : {false, true}) {
      const auto a = integers<TestType>(inner, 130, 1), b = integers<TestType>(inner, 75, 2);
      const auto expected = naive_product<TestType>(a, b, integers<TestType>(130, 75, 3), 1, accumulate ? 1 : 0);
      const auto a_rows = transposed(a), b_rows = transposed(b);
      auto forward = integers<TestType>(130, 75, 3), backward = forward;
      dsop::kernels::multiply<TestType>(a_rows.view(), b.view(), forward.view(), accumulate);
      dsop::kernels::multiply_transposed<TestType>(a_rows.view(), b_rows.view(), backward.view(), accumulate);
      CHECK((forward.elements == expected.elements));
      CHECK((backward.elements == expected.elements));
    }
}
