// The bits that our kernels' products end with, and how far rounding takes them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <limits>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/threads.hpp"
#include "product_cases.hpp"

namespace {

using namespace dsop::tests;
using dsop::InstructionSet;

template <class T>
Matrix<T> absolute(Matrix<T> matrix) {
  for (T& element : matrix.elements) element = std::abs(element);
  return matrix;
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
  if (dsop::best_instruction_set() < InstructionSet::avx512) {
    std::cout << "skipped 1 of 1: AVX2 beside AVX-512, which is not here\n";
    return;
  }
  for (const std::size_t inner : Sizes{1, 7, 300})
    for (const TestType beta : {TestType(0), TestType(1), TestType(0.9)}) {
      const RealCase<TestType> real{61, 77, inner};
      CHECK((real.made(beta, InstructionSet::avx2).elements == real.made(beta, InstructionSet::avx512).elements));
    }
}

TEMPLATE_TEST_CASE("the bits of an element do not depend on the number of threads", "[kernels]", float, double) {
  const auto before = static_cast<int>(dsop::kernels::thread_count());
  for (const std::size_t inner : Sizes{1, 9, 200, 1200}) {
    const RealCase<TestType> real{401, 507, inner};
    dsop::kernels::set_thread_count(1);
    const auto expected = real.made(1, dsop::best_instruction_set());
    for (const int threads : {2, 3, 5}) {
      dsop::kernels::set_thread_count(threads);
      CHECK((real.made(1, dsop::best_instruction_set()).elements == expected.elements));
      CHECK(dsop::kernels::thread_count() == static_cast<std::size_t>(threads));
    }
  }
  dsop::kernels::set_thread_count(before);
}

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

TEMPLATE_TEST_CASE("products of a list have the bits of each by itself, whatever their parts and threads", "[kernels]",
                   float, double) {
  using dsop::Factors;
  using dsop::kernels::Product;
  struct Layer {
    Matrix<TestType> a, b, c, expected;
    std::vector<Factors<TestType>> parts = {};
  };
  for (const InstructionSet set : available_instruction_sets())
    for (const std::size_t threads : Sizes{1, 3}) {
      std::vector<Layer> layers;
      for (const auto& [n, m, inner] :
           {std::tuple{1, 1, 1}, {70, 33, 5}, {5, 300, 0}, {200, 260, 12}, {64, 64, 40}, {9, 20, 1100}})
        for (int repeated = 0; repeated < 6; ++repeated) {
          const auto seed = static_cast<unsigned>(layers.size());
          const auto N = static_cast<std::size_t>(n), M = static_cast<std::size_t>(m);
          const auto K = static_cast<std::size_t>(inner);
          Layer layer{reals<TestType>(K, N, seed), reals<TestType>(K, M, seed + 100), reals<TestType>(N, M, seed + 200),
                      Matrix<TestType>(0, 0)};
          const TestType beta = seed % 2 == 0 ? TestType(0) : TestType(0.9);
          layer.expected = product(layer.a, layer.b, layer.c, TestType(0.3), beta, {set, false});
          layers.push_back(std::move(layer));
        }
      std::vector<Product<TestType>> list;
      for (Layer& layer : layers) {
        const std::size_t K = layer.a.rows;
        for (const auto& [first, count] :
             {std::pair<std::size_t, std::size_t>(0, K / 3), {K / 3, 0}, {K / 3, K - K / 3}})
          layer.parts.push_back({layer.a.view().row_range(first, count), layer.b.view().row_range(first, count)});
        const TestType beta = list.size() % 2 == 0 ? TestType(0) : TestType(0.9);
        list.push_back({layer.parts, layer.c.view(), TestType(0.3), beta});
      }
#if defined(_OPENMP)
      const int before = omp_get_max_threads();
      omp_set_num_threads(static_cast<int>(threads));
#endif
      dsop::kernels::products<TestType>(list, set);
#if defined(_OPENMP)
      omp_set_num_threads(before);
#endif
      for (const Layer& layer : layers) {
        INFO(layer.c.rows << " x " << layer.c.columns << ", K " << layer.a.rows << ", " << name(set) << ", "
                          << threads);
        CHECK((layer.c.elements == layer.expected.elements));
      }
    }
}

TEST_CASE("a list of products without pairs can be a thread's first", "[kernels]") {
  std::vector<float> elements{1, 2, 3, 4, 5, 6};
  std::thread([&] {
    const std::vector<dsop::Factors<float>> none(2, {{nullptr, 0, 2}, {nullptr, 0, 3}});
    const dsop::kernels::Product<float> product{none, {elements.data(), 2, 3}, 1, 3};
    dsop::kernels::products<float>({&product, 1}, available_instruction_sets().back());
  }).join();
  CHECK((elements == std::vector<float>{3, 6, 9, 12, 15, 18}));
}
