#include <catch2/catch.hpp>

#include <cmath>

#include "failures.hpp"
#include "kernels/threads.hpp"
#include "outer_product_sweep.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("every outer-product algorithm is exact, and sends the messages and bytes that its formula states") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  const std::vector<SweepCase> cases = sweep_cases(P);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          sweep_outer_products(transport, cases, [&](const std::string& text) { failures.add(text); });
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
  CHECK(failures_on_nodes(nodes_of_two(4), [](Transport& transport, Failures& failures) {
          kernels::set_thread_count(transport.rank() == 1 ? 2 : 1);
          for (const std::string& algorithm : usable_algorithms(transport)) {
            const std::string wrong = different_bits<float>(transport, algorithm, 300, 211, 80);
            failures.check(wrong.empty(), wrong);
          }
        }) == "");
}

TEST_CASE("the rounding error is within its bound") {
  // Each element is a sum of K = 3 x 40 products of factors in [-1, 1], in some order: |error| <= K eps sum |a b|.
  constexpr std::size_t n = 37;
  constexpr std::size_t m = 29;
  constexpr std::size_t k = 40;
  constexpr int P = 3;
  const auto factors = [](int rank) { return bench::InputFactors<float>(3, rank, k, n, m, bench::Values::fractions); };
  std::vector<double> exact(n * m);
  std::vector<double> absolute(n * m);
  for (int r = 0; r < P; ++r) {
    const auto all = factors(r);
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t i = 0; i < n * m; ++i) {
        const double term = static_cast<double>(all.view().a.row(p)[i / m]) * all.view().b.row(p)[i % m];
        exact[i] += term;
        absolute[i] += std::abs(term);
      }
  }
  CHECK(failures_on_nodes(nodes_of_two(P), [&](Transport& transport, Failures& failures) {
          for (const std::string& algorithm : usable_algorithms(transport)) {
            std::vector<float> G(n * m);
            dsop::dsop<float>(transport, factors(transport.rank()).view(), MatrixView<float>(G.data(), n, m),
                              {.algorithm = algorithm});
            std::size_t beyond = 0;
            for (std::size_t i = 0; i < n * m; ++i)
              beyond += std::abs(G[i] - exact[i]) <= P * k * 0x1p-24 * absolute[i] ? 0 : 1;
            failures.check(beyond == 0, algorithm + ": " + std::to_string(beyond) + " elements are beyond the bound");
          }
        }) == "");
}
