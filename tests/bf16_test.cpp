// 16 bits on the wire: rounding, its error in every algorithm that can, and who refuses.
#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <limits>

#include "failures.hpp"
#include "kernels/bf16.hpp"
#include "outer_product_cases.hpp"

using namespace dsop;
using namespace dsop::tests;
using kernels::Bf16;

namespace {

float through_bf16(float value) {
  return kernels::widened(kernels::rounded(value));
}

std::vector<std::string> able_algorithms(int P) {
  Problem problem = small_problem(P);
  problem.wire = Wire::bf16;
  return usable_algorithms(problem);
}

}  // namespace

TEST_CASE("a number becomes the nearest bf16, the even one of two") {
  std::uint32_t state = 1;
  for (int i = 0; i < 1000000; ++i) {
    state = state * 1664525 + 1013904223;
    const auto value = std::bit_cast<float>(state);
    if (!std::isfinite(value) || std::abs(value) > 3e38F) continue;
    const float below = std::bit_cast<float>(state & 0xffff0000);  // nearer to zero
    const float above = std::bit_cast<float>((state & 0xffff0000) + 0x10000);
    const double to_below = std::abs(static_cast<double>(value) - below);
    const double to_above = std::abs(static_cast<double>(above) - value);
    const bool even = (state >> 16 & 1) == 0;
    const float expected = to_below < to_above || (to_below == to_above && even) ? below : above;
    REQUIRE(std::bit_cast<std::uint32_t>(through_bf16(value)) == std::bit_cast<std::uint32_t>(expected));
  }
  CHECK(through_bf16(1.00390625F) == 1.0F);       // 1 + 2^-8: a tie
  CHECK(through_bf16(1.01171875F) == 1.015625F);  // 1 + 3 x 2^-8: the other way
}

TEST_CASE("what is no number stays what it is as bf16") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(std::isnan(through_bf16(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(through_bf16(std::bit_cast<float>(0x7f800001U))));  // its payload lies in the lost bits
  CHECK(std::isnan(through_bf16(std::bit_cast<float>(0xffffffffU))));
  CHECK(through_bf16(infinity) == infinity);
  CHECK(through_bf16(-infinity) == -infinity);
  CHECK(through_bf16(std::numeric_limits<float>::max()) == infinity);
  CHECK(std::signbit(through_bf16(-0.0F)));
}

TEST_CASE("bf16 on the wire keeps its error bound, and the same bits on all ranks") {
  constexpr std::size_t n = 37;
  constexpr std::size_t m = 29;
  constexpr std::size_t k = 7;
  const int P = GENERATE(1, 2, 3, 5, 8, 13);
  for (const std::string& algorithm : able_algorithms(P)) {
    INFO(algorithm << ", P = " << P);
    const OuterProductAlgorithm& known = *parse_algorithm(algorithm, "algorithm", outer_product_algorithms()).algorithm;
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            std::vector<bench::InputFactors<float>> all;
            for (int r = 0; r < P; ++r) all.emplace_back(3, r, k, n, m, bench::Values::fractions);
            std::vector<float> G(n * m);
            dsop::dsop<float>(transport, all[static_cast<std::size_t>(transport.rank())].view(),
                              MatrixView<float>(G.data(), n, m), {.algorithm = algorithm, .wire = Wire::bf16});
            failures.check(same_bits_everywhere<float>(transport, G), "bits differ from rank 0's");
            const bool sums_travel = known.dense != nullptr;
            bool all_rounded = true;
            for (std::size_t i = 0; i < n; ++i)
              for (std::size_t j = 0; j < m; ++j) {
                double exact = 0;
                double absolute = 0;
                for (const auto& factors : all)
                  for (std::size_t p = 0; p < k; ++p) {
                    const double term = static_cast<double>(factors.view().a.row(p)[i]) * factors.view().b.row(p)[j];
                    exact += term;
                    absolute += std::abs(term);
                  }
                constexpr double u = 0x1p-8;
                const double of_f32 = P * double{k} * 0x1p-24 * absolute;
                const double of_bf16 =
                    sums_travel ? P * u * std::pow(1 + u, P - 1) * absolute : u * (std::abs(exact) + of_f32);
                const float element = G[i * m + j];
                if (!(std::abs(element - exact) <= of_bf16 + of_f32)) return failures.add("beyond the bound");
                all_rounded = all_rounded && through_bf16(element) == element;
              }
            if (algorithm == "generalized-rabenseifner" || sums_travel)
              failures.check(all_rounded, "an element is no bf16: it differs from what others were sent");
          }) == "");
  }
}

TEST_CASE("factors without their zeros give the same bits by bf16") {
  for (const std::string& algorithm : able_algorithms(5)) {
    INFO(algorithm);
    CHECK(failures_on_threads(5, [&](Transport& transport, Failures& failures) {
            const bench::InputFactors<float> own(1, transport.rank(), 4, 30, 20, bench::Values::whole, 0, {0.2, 0.3});
            std::vector<float> dense(600);
            std::vector<float> sparse(600);
            Options options{.algorithm = algorithm, .scale = 0.5, .wire = Wire::bf16};
            dsop::dsop<float>(transport, own.view(), MatrixView<float>(dense.data(), 30, 20), options);
            options.find_zeros = true;
            dsop::dsop<float>(transport, own.view(), MatrixView<float>(sparse.data(), 30, 20), options);
            failures.check(dense == sparse, "bits differ");
            failures.check(dense != std::vector<float>(600), "all is zero");
          }) == "");
  }
}

TEST_CASE("who can't send bf16 refuses it") {
  const auto error_of_call = [](auto zero, const std::string& algorithm) {
    using T = decltype(zero);
    std::string error;
    const std::string failures = failures_on_threads(3, [&](Transport& transport, Failures& failed) {
      const bench::InputFactors<T> own(1, transport.rank(), 1, 3, 4);
      std::vector<T> G(12);
      const std::string thrown = argument_error_of([&] {
        dsop::dsop<T>(transport, own.view(), MatrixView<T>(G.data(), 3, 4),
                      {.algorithm = algorithm, .wire = Wire::bf16});
      });
      if (transport.rank() == 0) error = thrown;
      const Case good{3, 4, {2, 2, 2}, 1, false, 0};
      failed.check(wrong_elements<float>(transport, "auto", good).empty(), "the next call is wrong");
    });
    return failures + error;
  };
  CHECK(error_of_call(0.0, "auto") == "ranks 0-2: wire is bf16, expected full for gradients in f64");
  CHECK(error_of_call(0.0F, "allreduce-butterfly") ==
        "ranks 0-2: algorithm allreduce-butterfly can't be used: it sends the gradient in full only, and wire is bf16");
  CHECK(error_of_call(0.0F, "auto").empty());
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          std::vector<float> G(12);
          const std::string error = argument_error_of([&] {
            dsop::dsop<float>(transport, {}, MatrixView<float>(G.data(), 3, 4),
                              {.wire = transport.rank() == 0 ? Wire::bf16 : Wire::full});
          });
          failures.check(error == "the ranks disagree: wire is bf16 on rank 0, full on ranks 1-2", error);
        }) == "");
}

TEST_CASE("auto knows that bf16 makes the gradient cheaper to send") {
  Problem problem{.rows = 2000, .columns = 2000, .pairs = std::vector<std::size_t>(8, 64)};
  const double full = make_plan(problem, Machine{}, "generalized-rabenseifner").cost().seconds();
  problem.wire = Wire::bf16;
  CHECK(make_plan(problem, Machine{}, "generalized-rabenseifner").cost().seconds() < full);
  for (const Candidate& candidate : make_plan(problem, Machine{}).candidates)
    if (candidate.algorithm == "allreduce-rabenseifner")
      CHECK(candidate.unsupported == "sends the gradient in full only, and wire is bf16");
}
