#include <catch2/catch.hpp>

#include <cmath>

#include "failures.hpp"
#include "kernels/threads.hpp"
#include "outer_product_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("every outer-product algorithm is exact") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          sweep_outer_products(transport, [&](const std::string& text) { failures.add(text); });
        }) == "");
}

TEST_CASE("every outer-product algorithm gives the same bits on all ranks") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [](Transport& transport, Failures& failures) {
          sweep_bits(transport, [&](const std::string& text) { failures.add(text); });
        }) == "");
}

TEST_CASE("the bits are the same on all ranks when their thread counts differ") {
  for (const std::string& algorithm : usable_algorithms(4, false)) {
    INFO(algorithm);
    CHECK(failures_on_threads(4, [&](Transport& transport, Failures& failures) {
            kernels::set_thread_count(transport.rank() == 1 ? 2 : 1);
            const std::string wrong = different_bits<float>(transport, algorithm, 300, 211, 80);
            failures.check(wrong.empty(), wrong);
          }) == "");
  }
}

TEST_CASE("the rounding error is within its bound") {
  // Each element is a sum of K = 3 x 40 products of factors in [-1, 1], in some order: |error| <= K eps sum |a b|.
  constexpr std::size_t n = 37;
  constexpr std::size_t m = 29;
  constexpr std::size_t k = 40;
  constexpr int P = 3;
  for (const std::string& algorithm : usable_algorithms(3, false)) {
    INFO(algorithm);
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            const auto factors = [&](int rank) {
              return bench::InputFactors<float>(3, rank, k, n, m, bench::Values::fractions);
            };
            std::vector<float> G(n * m);
            dsop::dsop<float>(transport, factors(transport.rank()).view(), MatrixView<float>(G.data(), n, m),
                              {.algorithm = algorithm});
            for (std::size_t i = 0; i < n; ++i)
              for (std::size_t j = 0; j < m; ++j) {
                double exact = 0;
                double absolute = 0;
                for (int r = 0; r < P; ++r) {
                  const auto all = factors(r);
                  for (std::size_t p = 0; p < k; ++p) {
                    const double term = static_cast<double>(all.view().a.row(p)[i]) * all.view().b.row(p)[j];
                    exact += term;
                    absolute += std::abs(term);
                  }
                }
                const double bound = P * k * 0x1p-24 * absolute;
                if (!(std::abs(G[i * m + j] - exact) <= bound)) return failures.add("beyond the bound");
              }
          }) == "");
  }
}
