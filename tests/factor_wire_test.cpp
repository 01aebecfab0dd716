// Factors that travel in 16 bits: exact where they are bf16 already, else the product of the rounded ones, with the
// bytes that formulas state. For sharded results see sharded_test.cpp, for memory arena_test.cpp.
#include <catch2/catch.hpp>

#include <cstring>

#include "failures.hpp"
#include "kernels/bf16.hpp"
#include "outer_product_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

// Of `c`, all ranks' factors of which are fractions.
struct Fractions {
  Fractions(const Case& c, int rank) : own(c, rank, 5, bench::Values::fractions), a(c.n), b(c.m) {
    for (const auto& [matrix, copy] : {std::pair(own.dense().a, &a), std::pair(own.dense().b, &b)}) copy->take(matrix);
  }

  // As every rank gets them.
  SparseFactors<float> rounded() const { return Factors<float>{a.view(), b.view()}; }

  struct Rounded {
    explicit Rounded(std::size_t columns_) : columns(columns_) {}
    void take(MatrixView<const float> matrix) {
      for (std::size_t p = 0; p < matrix.rows; ++p)
        for (std::size_t i = 0; i < columns; ++i)
          elements.push_back(kernels::widened(kernels::rounded(matrix.row(p)[i])));
    }
    MatrixView<const float> view() const { return {elements.data(), elements.size() / columns, columns}; }
    std::size_t columns;
    std::vector<float> elements = {};
  };

  CaseFactors<float> own;
  Rounded a;
  Rounded b;
};

bool same_bits(const std::vector<float>& left, const std::vector<float>& right) {
  return std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("with factors as bf16 every algorithm is exact for what bf16 holds, and sends what its formula states") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9);
  INFO("P = " << P);
  std::vector<Expected<float>> expected;
  for (const std::vector<Case>& cases : {all_cases(P), sparse_cases(P)})
    for (Case c : cases) {
      c.factor_wire = Wire::bf16;
      expected.emplace_back(c);
    }
  CHECK(failures_on_nodes(nodes_of_two(P), [&](Transport& transport, Failures& failures) {
          const std::vector<std::string> algorithms = usable_algorithms(transport);
          SentByCalls sent;
          for (std::size_t c = 0; c < expected.size(); ++c)
            for (std::size_t a = 0; a < algorithms.size(); ++a) {
              if (!has_turn(algorithms[a], a, c, P)) continue;
              const std::string wrong = expected[c].wrong_elements(transport, algorithms[a], sent);
              failures.check(wrong.empty(), wrong);
            }
          sent.check_busiest(transport, [&](const std::string& text) { failures.add(text); });
        }) == "");
}

TEST_CASE("with factors as bf16 every algorithm gives the product of the rounded ones, the same bits on all ranks") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9);
  INFO("P = " << P);
  std::vector<std::size_t> pairs(static_cast<std::size_t>(P), 5);
  pairs.back() = P > 1 ? 0 : 5;
  for (const Case& c : {Case{67, 45, pairs, 1, false, 0}, Case{3, 130, pairs, 1, false, 0},
                        Case{90, 150, pairs, 1, false, 0, {0.05, 0.1}, Form::find_zeros}}) {
    INFO(c.text());
    CHECK(
        failures_on_nodes(nodes_of_two(P), [&](Transport& transport, Failures& failures) {
          const Fractions own(c, transport.rank());
          const std::size_t k = own.own.dense().a.rows;
          for (const std::string& algorithm : usable_algorithms(transport)) {
            const auto product = [&](const SparseFactors<float>& factors, const std::string& by, Wire factor_wire) {
              std::vector<float> G(c.n * c.m);
              OuterProduct<float> layer(
                  transport, {c.n, c.m, k},
                  {.algorithm = by, .scale = 1.0 / 3, .find_zeros = own.own.find_zeros(), .factor_wire = factor_wire});
              layer.run(factors, {G.data(), c.n, c.m});
              return std::pair(std::move(G), layer.plan().algorithm_text());
            };
            const auto [G, used] = product(own.own.given(), algorithm, Wire::bf16);
            failures.check(same_bits_everywhere<float>(transport, G), algorithm + ": bits differ from rank 0's");
            const bool sends_factors =
                parse_algorithm(used, "algorithm", outer_product_algorithms()).algorithm->sends_factors;
            const auto [expected, as_used] = product(sends_factors ? own.rounded() : own.own.given(), used, Wire::full);
            failures.check(same_bits(G, expected), algorithm + " by " + used + ": other bits than those expected");
          }
        }) == "");
  }
}

TEST_CASE("factors as bf16 give the same bits whether they ride in the agreement or not") {
  for (const int P : {2, 3, 7})
    CHECK(failures_on_threads(P, [&](Transport& uncounted, Failures& failures) {
            CountingTransport transport(uncounted);
            const Case c{40, 31, std::vector<std::size_t>(static_cast<std::size_t>(P), 2), 1, false, 0};
            const Fractions own(c, transport.rank());
            const auto run = [&](const std::string& algorithm) {
              std::vector<float> G(c.n * c.m);
              dsop::dsop<float>(transport, own.own.dense(), MatrixView<float>(G.data(), c.n, c.m),
                                {.algorithm = algorithm, .factor_wire = Wire::bf16});
              return G;
            };
            const std::vector<float> expected = run("allgather-ring");
            for (int call = 0; call < 4; ++call) {
              const Traffic before = transport.payload();
              failures.check(same_bits(run("allgather"), expected), "other bits in call " + std::to_string(call));
              const Traffic now = transport.payload();
              const bool rides = now.messages == before.messages;
              if (call == 0) failures.check(!rides, "rides where no call like it was before");
              if (call == 3) failures.check(rides, "does not ride");
              const auto others = static_cast<std::size_t>(P - 1);
              if (rides)
                failures.check(now.bytes - before.bytes == others * 288, "other bytes than 2 x 2 x 71 in slots");
            }
          }) == "");
}

TEST_CASE("rows of factors as bf16 are those of the rounded ones") {
  for (const bench::Densities densities : {bench::Densities{0.02, 0.3}, {0, 1}, {1, 1}, {0.1, 0.1}}) {
    const Case c{60, 31, {4, 0, 3}, 1, false, 0, densities, Form::mixed};
    INFO(c.text());
    CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
            const Fractions own(c, transport.rank());
            const auto rows_of = [&](const SparseFactors<float>& factors, Wire factor_wire) {
              OuterProduct<float> layer(transport, {c.n, c.m, 4}, {.find_zeros = true, .factor_wire = factor_wire});
              return layer.run_rows(factors);
            };
            const GradientRows<float> rows = rows_of(own.own.given(), Wire::bf16);
            const GradientRows<float> expected = rows_of(own.rounded(), Wire::full);
            failures.check(rows.indices == expected.indices, "other rows");
            failures.check(std::equal(rows.elements.get(), rows.elements.get() + rows.indices.size() * c.m,
                                      expected.elements.get()),
                           "other elements");
          }) == "");
  }
}

TEST_CASE("who can't send factors as bf16 refuses it, and ranks must agree on it") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          const bench::InputFactors<double> f64(1, transport.rank(), 1, 3, 4);
          std::vector<double> G(12);
          const auto refuses = [&](const std::string& expected, const std::string& error) {
            failures.check(error == expected, error);
          };
          const std::string of_f64 = "ranks 0-2: factor_wire is bf16, expected full for factors in f64";
          refuses(of_f64, argument_error_of([&] {
                    dsop::dsop<double>(transport, f64.view(), MatrixView<double>(G.data(), 3, 4),
                                       {.factor_wire = Wire::bf16});
                  }));
          refuses(of_f64, argument_error_of([&] {
                    OuterProduct<double>(transport, {3, 4}, {.factor_wire = Wire::bf16});
                  }));
          const Wire own = transport.rank() == 1 ? Wire::bf16 : Wire::full;
          refuses("the ranks disagree: factor_wire is bf16 on rank 1, full on ranks 0, 2", argument_error_of([&] {
                    OuterProduct<float>(transport, {3, 4}, {.factor_wire = own});
                  }));
          const Case good{3, 4, {2, 2, 2}, 1, false, 0};
          failures.check(wrong_elements<float>(transport, "auto", good).empty(), "the next call is wrong");
        }) == "");
}

TEST_CASE("plans know that factors as bf16 are half the bytes") {
  Problem problem{.rows = 2000, .columns = 1000, .pairs = std::vector<std::size_t>(8, 64)};
  const Plan full = make_plan(problem, Machine{}, "allgather");
  const Plan scattered = make_plan(problem, Machine{}, "generalized-rabenseifner-scattered(8)");
  problem.factor_wire = Wire::bf16;
  const Plan rounded = make_plan(problem, Machine{}, "allgather");
  CHECK(2 * rounded.cost().bytes == full.cost().bytes);
  CHECK(rounded.cost().communication_seconds < full.cost().communication_seconds);
  CHECK(rounded.cost().arithmetic_seconds > full.cost().arithmetic_seconds);
  const std::size_t gradient_bytes = 2000 * 1000 * 4 / 8 * 7;
  CHECK(2 * (make_plan(problem, Machine{}, "generalized-rabenseifner-scattered(8)").cost().bytes - gradient_bytes) ==
        scattered.cost().bytes - gradient_bytes);
  CHECK((std::ostringstream() << rounded).str().find(", factors travel as bf16; machine") != std::string::npos);
  problem.type = DataType::f64;
  CHECK_THROWS_WITH(make_plan(problem, Machine{}), "problem.factor_wire is bf16, expected full for factors in f64");
}
