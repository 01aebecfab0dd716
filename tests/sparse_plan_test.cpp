// What a sparse allreduce's plan expects, learns and chooses.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "algorithms/dense/algorithm.hpp"
#include "algorithms/sparse/operation.hpp"
#include "sparse_allreduce_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

TEST_CASE("the union that chance makes of the ranks' indices", "[sparse]") {
  const auto expected = [](std::size_t N, std::size_t k, int P, Overlap overlap = Overlap::uniform) {
    const SparseProblem problem{
        .elements = N, .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), k), .overlap = overlap};
    return problem.expected_union(P);
  };
  CHECK(expected(1000, 10, 1) == Approx(10));
  CHECK(expected(1000, 10, 2) == Approx(19.9));  // 1000 (1 - 0.99^2)
  CHECK(expected(1000, 500, 3) == Approx(875));
  CHECK(expected(1000, 1000, 3) == 1000);
  CHECK(expected(1000, 0, 3) == 0);
  CHECK(expected(0, 0, 3) == 0);
  CHECK(expected(1000, 10, 3, Overlap::full) == 10);
  CHECK(expected(1000, 10, 3, Overlap::none) == 30);
  CHECK(expected(1000, 600, 3, Overlap::none) == 1000);
  CHECK(expected(1UL << 40, 1, 4) == Approx(4));  // where 1 - k/N rounds to 1
}

TEST_CASE("sums become dense earlier the slower indexed elements are added and the faster all are sent", "[sparse]") {
  const auto share = [](double factor, double seconds_a_byte, Wire wire = Wire::full) {
    const Machine machine{.gap_per_byte_seconds = seconds_a_byte,
                          .memory_bytes_per_second = 12e9,  // 1 ns to add an f32
                          .indexed_addition_factor = factor};
    return make_sparse_plan({.elements = 1000, .nonzeros = {5, 5}, .wire = wire}, machine).problem.sparse_share;
  };
  CHECK(share(4, 1e-9) == Approx(5.0 / 12));  // 4 bytes and 1 ns against 8 bytes and 4 ns
  CHECK(share(4, 1e-15) == Approx(0.25));
  CHECK(share(4, 1) == Approx(0.5));
  CHECK(share(4, 1e-9, Wire::bf16) == Approx(3.0 / 10));
  // Two ranks with a fifth of all elements each: more together than a quarter, fewer than a half.
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          const SparseCase c{1000, 200, Spread::same};
          std::vector<float> expected(c.dimension);
          for (int q = 0; q < 2; ++q) SparseInput<float>(c, q, 2).add_to(expected);
          const SparseInput<float> own(c, transport.rank(), 2);
          for (const char* algorithm : {"allgather", "ssar-recursive-doubling", "ssar-split-allgather", "topk-dsa"})
            for (const bool early : {false, true}) {
              const Machine machine{.gap_per_byte_seconds = early ? 1e-15 : 1, .indexed_addition_factor = 4};
              const auto result =
                  sparse_allreduce<float>(transport, own.view(), {.algorithm = algorithm, .machine = machine});
              failures.check(in_full(result.sum) == expected, std::string(algorithm) + " is wrong");
              // The others look again at the sums of regions, when they put them together.
              const bool decides_once = std::string(algorithm) == "allgather" || algorithm[5] == 'r';
              failures.check(!decides_once || result.sum.dense() == early,
                             std::string(algorithm) + " has another form");
            }
        }) == "");
}

TEST_CASE("the overlap that was measured gives the union that was measured, and others for fewer ranks", "[sparse]") {
  for (const int P : {2, 8, 100})
    for (const double share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
      SparseProblem problem{.elements = 100000, .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), 500)};
      const double measured = std::min(500 + share * 500 * (P - 1), 90000.0);
      problem.drawn_from = problem.drawn_from_of(measured);
      INFO(P << " ranks, union " << measured);
      CHECK(problem.expected_union(P) == Approx(measured).epsilon(1e-3));
      CHECK(problem.expected_union(1) == 500);
    }
  CHECK(SparseProblem{.elements = 10, .nonzeros = {0, 0}}.drawn_from_of(0) == 0);
}

TEST_CASE("auto learns the overlap from the last sum, and keeps its choice while little changes", "[sparse]") {
  constexpr int P = 4;
  constexpr std::size_t N = 40000;
  const auto vector = [](std::size_t k) { return SparseInput<float>({N, k, Spread::same}, 0, P); };
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          const Machine machine{.gap_per_byte_seconds = 40e-9};
          const auto choice = [&](std::size_t k, double drawn_from) {
            return make_sparse_plan(
                       {.elements = N, .nonzeros = std::vector<std::size_t>(P, k), .drawn_from = drawn_from}, machine)
                .algorithm_text();
          };
          const auto call = [&](std::size_t k) {
            const SparseInput<float> own = vector(k);
            const auto result = sparse_allreduce<float>(transport, own.view(), {.machine = machine});
            failures.check(result.sum.dense() || result.sum.indices.size() == own.view().indices.size(), "is wrong");
            return result.algorithm;
          };
          const std::size_t k = N / 4;
          const std::string by_chance = choice(k, 0);
          const std::string all_alike = choice(k, static_cast<double>(k));
          failures.check(by_chance != all_alike, "the overlap makes no difference to the choice: " + by_chance);
          failures.check(call(k) == by_chance, "the first call is not chosen by chance");
          failures.check(call(k) == all_alike, "the second call is not chosen by what was measured");
          const auto& calls = attachment<SparseCalls<float>>(transport);
          const Candidate* const evaluated = calls.plan()->candidates.data();
          // Numbers change a little, and on each rank otherwise.
          for (const std::size_t fewer : {1UL, 10UL, 100UL}) {
            const std::size_t own_k = k - fewer * static_cast<std::size_t>(transport.rank());
            const SparseInput<float> own = vector(own_k);
            static_cast<void>(sparse_allreduce<float>(transport, own.view(), {.machine = machine}));
            failures.check(calls.plan()->candidates.data() == evaluated, "the formulas were evaluated again");
            failures.check(calls.plan()->problem.nonzeros[static_cast<std::size_t>(transport.rank())] == own_k,
                           "the plan is for other numbers");
          }
          failures.check(call(k / 2) == choice(k / 2, calls.plan()->problem.drawn_from), "another number is not seen");
        }) == "");
}

TEST_CASE("a sparse plan says what it takes and why", "[sparse]") {
  std::ostringstream text;
  text << make_sparse_plan({.elements = 1000, .nonzeros = {500, 500}}, Machine{}, "topk-dsa");
  CHECK_THAT(text.str(), Catch::StartsWith("sum of 2 vectors of 1000 f32, 1000 elements in all, 750 expected in the "
                                           "sum\nuses topk-dsa: named by the caller\nworkspace "));
  CHECK_THAT(text.str(), Catch::Contains("dense-mpi") && Catch::Contains("not possible: runs inside the MPI library"));
}

TEST_CASE("auto is predicted to be no slower than 1.1 times the best dense allreduce, and far faster when sparse",
          "[sparse]") {
  for (const int P : {2, 3, 8, 13, 64})
    for (const std::size_t N : {1UL, 1000UL, 100000UL, 16000000UL})
      for (const double density : {0.0, 0.0001, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0}) {
        const auto k = static_cast<std::size_t>(density * static_cast<double>(N));
        const SparseProblem problem{.elements = N,
                                    .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), k)};
        const SparsePlan plan = make_sparse_plan(problem, Machine{});
        double dense_seconds = HUGE_VAL;
        for (const DenseAlgorithm& dense : dense_algorithms()) {
          const DenseProblem vector{.elements = N, .ranks = P, .type = DataType::f32};
          if (!dense.unsupported(vector).empty()) continue;
          for (const double value : dense.parameter.values(vector))
            dense_seconds = std::min(dense_seconds, dense.needed_lead * dense.cost(vector, Machine{}, value).seconds());
        }
        INFO("P = " << P << ", N = " << N << ", density " << density << ": " << plan.algorithm_name());
        CHECK(plan.cost().seconds() <= 1.1 * dense_seconds);
        if (density == 1 && N >= 100000) CHECK(plan.algorithm->makes_dense);
        if (N == 16000000 && P == 8 && density == 0.001) CHECK(plan.cost().seconds() * 15 < dense_seconds);
      }
}

TEST_CASE("a dense allreduce that adds while it waits is taken only where it is well ahead", "[sparse]") {
  const SparsePlan plan = make_sparse_plan({.elements = 100000, .nonzeros = std::vector<std::size_t>(13, 100000)},
                                           Machine{.hidden_share = 0.5});
  const auto pipelined = std::find_if(plan.candidates.begin(), plan.candidates.end(), [](const Candidate& candidate) {
    return candidate.algorithm.starts_with("dense-ring-pipelined");
  });
  REQUIRE(pipelined->cost.seconds() < plan.cost().seconds());
  CHECK(plan.algorithm->needed_lead == 1);
  CHECK(plan.reason == "least predicted time but for " + pipelined->algorithm + ", which is not far enough ahead");
}

TEST_CASE("a plan is adapted to one number for each of its ranks alone") {
  SparsePlan plan = make_sparse_plan({.elements = 1000, .nonzeros = {50, 50}}, Machine{}, "ssar-split-allgather");
  adapt_plan(plan, {60, 40});
  CHECK(plan.problem.nonzeros == std::vector<std::size_t>{60, 40});
  for (const std::vector<std::size_t>& nonzeros : {std::vector<std::size_t>{}, {1, 2, 3}})
    CHECK_THROWS_WITH(adapt_plan(plan, nonzeros),
                      "nonzeros.size() is " + std::to_string(nonzeros.size()) + ", expected one for each of 2 ranks");
}
