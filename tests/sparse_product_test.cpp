// The sparse kernel beside the plainest product there is.
#include <catch2/catch.hpp>

#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "inputs.hpp"
#include "kernels/sparse_product.hpp"
#include "kernels/threads.hpp"
#include "sparse/vector.hpp"

using namespace dsop;
using sparse::Index;

namespace {

/// K vectors of one dimension; of every three, one is left dense.
template <class T>
struct Vectors {
  std::size_t dimension;
  std::vector<T> elements;
  std::vector<Index> indices;
  std::vector<T> values;
  std::vector<SparseVectorView<T>> vectors;
  std::size_t nonzeros;

  Vectors(std::size_t K, std::size_t dimension_, unsigned percent, std::uint64_t seed, bool all_sparse = false)
      : dimension(dimension_), elements(K * dimension_), indices(elements.size()), values(elements.size()) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (bench::mix(seed + i) % 100 < percent)
        elements[i] = (static_cast<T>(bench::mix(seed - i) % 9) - T{4}) * T(0.25);
    nonzeros = sparse::count_nonzeros<T>(elements);
    for (std::size_t k = 0; k < K; ++k) {
      const std::span<const T> row(elements.data() + k * dimension, dimension);
      if (k % 3 == 1 && !all_sparse)
        vectors.push_back({dimension, {}, row});
      else
        vectors.push_back(sparse::compress<T>(row, indices.data() + k * dimension, values.data() + k * dimension));
    }
  }
};

/// Exactly as large as it says, for the address sanitizer.
template <class T>
struct OwnedMemory {
  OwnedMemory(std::size_t rows, std::size_t nonzeros) : begins(rows + 1), factors(nonzeros), pairs(nonzeros) {
    view.begins = begins;
    view.factors = factors;
    view.pairs = pairs;
  }
  std::vector<std::size_t> begins;
  std::vector<T> factors;
  std::vector<Index> pairs;
  kernels::SparseProductMemory<T> view;
};

constexpr std::size_t gap = 3;

template <class T>
std::vector<T> made(const Vectors<T>& a, const Vectors<T>& b, std::size_t first, std::size_t rows, T scale, T beta,
                    T before) {
  std::vector<T> c(rows * (b.dimension + gap), before);
  const OwnedMemory<T> memory(rows, a.nonzeros);
  kernels::sparse_product<T>({a.vectors, b.vectors}, first, {c.data(), rows, b.dimension, b.dimension + gap}, scale,
                             beta, memory.view);
  return c;
}

template <class T>
std::vector<T> expected(const Vectors<T>& a, const Vectors<T>& b, std::size_t first, std::size_t rows, T scale, T beta,
                        T before) {
  std::vector<T> c(rows * (b.dimension + gap), before);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < b.dimension; ++j) {
      T sum = beta * before;
      for (std::size_t k = 0; k < a.vectors.size(); ++k)
        sum += scale * a.elements[k * a.dimension + first + i] * b.elements[k * b.dimension + j];
      c[i * (b.dimension + gap) + j] = sum;
    }
  return c;
}

}  // namespace

TEMPLATE_TEST_CASE("a sparse product is exact, whole or any rows of it", "[kernels]", float, double) {
  for (const std::size_t K : {0UL, 1UL, 2UL, 9UL})
    for (const unsigned a_percent : {0U, 5U, 50U, 100U})
      for (const unsigned b_percent : {0U, 7U, 100U})
        for (const TestType beta : {TestType(0), TestType(1), TestType(-3)}) {
          const Vectors<TestType> a(K, 37, a_percent, 1);
          const Vectors<TestType> b(K, 29, b_percent, 2);
          INFO("K " << K << ", " << a_percent << " % of a, " << b_percent << " % of b, accumulate " << beta);
          CHECK(made<TestType>(a, b, 0, 37, 2, beta, 5) == expected<TestType>(a, b, 0, 37, 2, beta, 5));
          CHECK(made<TestType>(a, b, 11, 13, -1, beta, 5) == expected<TestType>(a, b, 11, 13, -1, beta, 5));
        }
}

TEMPLATE_TEST_CASE("what a sparse product overwrites may hold anything", "[kernels]", float, double) {
  const Vectors<TestType> a(4, 20, 20, 1);
  const Vectors<TestType> b(4, 20, 20, 2);
  const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  const auto c = made<TestType>(a, b, 0, 20, 1, false, nan);
  const auto right = expected<TestType>(a, b, 0, 20, 1, false, 0);
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = 0; j < 20; ++j) CHECK(c[i * (20 + gap) + j] == right[i * (20 + gap) + j]);
}

TEMPLATE_TEST_CASE("the bits of a sparse product do not depend on forms, rows or threads", "[kernels]", float, double) {
  const Vectors<TestType> a(40, 531, 10, 1);
  const Vectors<TestType> b(40, 317, 10, 2);
  const Vectors<TestType> sparse_a(40, 531, 10, 1, true);
  const Vectors<TestType> sparse_b(40, 317, 10, 2, true);
  const TestType third = TestType(1) / 3;
  const auto whole = made<TestType>(a, b, 0, 531, third, true, third);
  CHECK(made<TestType>(sparse_a, sparse_b, 0, 531, third, true, third) == whole);
  const auto part = made<TestType>(a, sparse_b, 100, 50, third, true, third);
  CHECK(std::equal(part.begin(), part.end(), whole.begin() + 100 * (317 + gap)));
  const std::size_t before = kernels::thread_count();
  kernels::set_thread_count(3);
  CHECK(made<TestType>(a, b, 0, 531, third, true, third) == whole);
  kernels::set_thread_count(static_cast<int>(before));
}

TEMPLATE_TEST_CASE("zeros that are stored make no row of a sparse product", "[kernels]", float, double) {
  const std::vector<Index> indices{1, 4};
  const std::vector<TestType> values{0, 3};
  const std::vector<TestType> ones{1, 1};
  const std::vector<SparseVectorView<TestType>> a{{6, indices, values}};
  const std::vector<SparseVectorView<TestType>> b{{2, {}, ones}};
  std::vector<std::uint32_t> rows(6);
  std::vector<TestType> elements(6 * 2);
  const OwnedMemory<TestType> memory(6, 2);
  REQUIRE(kernels::sparse_product_rows<TestType>({a, b}, rows, {elements.data(), 6, 2}, TestType{1}, memory.view) == 1);
  CHECK(rows[0] == 4);
  CHECK(elements[0] == 3);
}

TEMPLATE_TEST_CASE("the rows of a sparse product that have a term", "[kernels]", float, double) {
  for (const unsigned percent : {0U, 2U, 100U}) {
    const Vectors<TestType> a(5, 60, percent, 1);
    const Vectors<TestType> b(5, 11, 40, 2);
    const auto whole = expected<TestType>(a, b, 0, 60, 2, false, 0);
    std::vector<std::uint32_t> indices(60);
    std::vector<TestType> rows(60 * 11, TestType{-77});
    const OwnedMemory<TestType> memory(60, a.nonzeros);
    const std::size_t count = kernels::sparse_product_rows<TestType>({a.vectors, b.vectors}, indices,
                                                                     {rows.data(), 60, 11}, TestType{2}, memory.view);
    std::size_t found = 0;
    for (std::size_t i = 0; i < 60; ++i) {
      bool any = false;
      for (std::size_t k = 0; k < 5; ++k) any = any || a.elements[k * 60 + i] != 0;
      if (!any) continue;
      REQUIRE(found < count);
      CHECK(indices[found] == i);
      for (std::size_t j = 0; j < 11; ++j) CHECK(rows[found * 11 + j] == whole[i * (11 + gap) + j]);
      ++found;
    }
    CHECK(found == count);
  }
}
