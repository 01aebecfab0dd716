// Sparse factors from the caller to the wire: forms, volumes, choices, errors, and gradients of a few rows. That every
// algorithm is exact with them is in the sweep.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <mutex>

#include <dsop/counting.hpp>

#include "failures.hpp"
#include "outer_product_cases.hpp"
#include "sparse/factor.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

/// Bytes of payload that rank 0 of `P` sends in one call of `algorithm`.
std::size_t bytes_from_rank_0(int P, const std::string& algorithm, const Case& c) {
  std::size_t bytes = 0;
  run_on_threads(P, [&](Transport& threads) {
    CountingTransport transport(threads);
    const CaseFactors<float> own(c, transport.rank());
    std::vector<float> G(c.n * c.m);
    dsop::dsop<float>(transport, own.given(), MatrixView<float>(G.data(), c.n, c.m),
                      {.algorithm = algorithm, .find_zeros = own.find_zeros()});
    if (transport.rank() == 0) bytes = transport.payload().bytes;
  });
  return bytes;
}

/// One pair of one-hot a (at `hot`) and dense b, as an embedding has them.
struct OneHot {
  std::vector<std::size_t> offsets{0, 1};
  std::vector<std::uint32_t> index;
  std::vector<float> value{2};
  std::vector<float> b;
  std::size_t n;

  OneHot(std::uint32_t hot, std::size_t n_, std::size_t m) : index{hot}, b(m), n(n_) {
    for (std::size_t j = 0; j < m; ++j) b[j] = static_cast<float>(hot + j);
  }
  SparseFactors<float> factors() const {
    return {SparseMatrixView<float>{1, n, offsets, index, value}, MatrixView<const float>(b.data(), 1, b.size())};
  }
};

/// Of a rank's `a`, its offsets and its indices.
using Spoil = std::function<void(SparseMatrixView<float>&, std::vector<std::size_t>&, std::vector<std::uint32_t>&)>;

/// Three ranks hand over factors that are good but for what `spoil` does; all must throw exactly `expected`, and the
/// next, good call must work.
std::string failures_when(const std::string& expected, const Spoil& spoil) {
  return failures_on_threads(3, [&](Transport& transport, Failures& failures) {
    std::vector<std::size_t> offsets{0, 2, 3};
    std::vector<std::uint32_t> indices{0, 2, 1};
    const std::vector<float> values{1, 2, 3};
    const std::vector<float> b(8, 1.0F);
    std::vector<float> G(12);
    SparseMatrixView<float> a{2, 3, offsets, indices, values};
    if (transport.rank() == 1) spoil(a, offsets, indices);
    const std::string error = argument_error_of([&] {
      dsop::dsop<float>(transport, {a, MatrixView<const float>(b.data(), 2, 4)}, MatrixView<float>(G.data(), 3, 4));
    });
    failures.check(error == expected, "rank " + std::to_string(transport.rank()) + " threw \"" + error + '"');
    const std::string wrong = wrong_elements<float>(transport, "auto", {3, 4, {2, 2, 2}, 1, false, 0});
    failures.check(wrong.empty(), wrong);
  });
}

Problem problem_of_density(double density_a, double density_b) {
  constexpr std::size_t side = 1000;
  constexpr std::size_t k = 32;
  const auto elements = [](double density) {
    return sparse::smaller_form(k, side, static_cast<std::size_t>(density * side * k), DataType::f32);
  };
  Problem problem{.rows = side, .columns = side, .pairs = std::vector<std::size_t>(8, k)};
  problem.sparsity.assign(8, Sparsity{elements(density_a), elements(density_b)});
  return problem;
}

}  // namespace

TEST_CASE("a factor travels as offsets, values and indices where they are fewer bytes") {
  CHECK(sparse::encoded_bytes(3, 100, 7, DataType::f32) == 8 * 4 + 7 * 8);
  CHECK(sparse::encoded_bytes(3, 100, 7, DataType::f64) == 8 * 4 + 7 * 12 + 4);
  CHECK(sparse::encoded_bytes(3, 7, Sparsity::dense, DataType::f32) == 3 * 7 * 4 + 4);
  CHECK(sparse::smaller_form(1, 100, 47, DataType::f32) == 47);
  CHECK(sparse::smaller_form(1, 100, 48, DataType::f32) == Sparsity::dense);
  CHECK(sparse::smaller_form(1, 100, 64, DataType::f64) == 64);
  CHECK(sparse::smaller_form(1, 100, 65, DataType::f64) == Sparsity::dense);
  CHECK(sparse::smaller_form(0, 100, 0, DataType::f32) == Sparsity::dense);
  CHECK(sparse::smaller_form(1, std::size_t{1} << 32, 1, DataType::f32) == 1);
  CHECK(sparse::smaller_form(1, (std::size_t{1} << 32) + 1, 1, DataType::f32) == Sparsity::dense);
}

TEST_CASE("each factor travels in its smaller form, whatever form it came in") {
  constexpr std::size_t n = 300;
  constexpr std::size_t m = 200;
  constexpr std::size_t k = 2;
  const std::vector<std::size_t> pairs{k, k};
  for (const bench::Densities densities : {bench::Densities{0.1, 0.1}, {0.1, 0.9}, {0.9, 0.1}, {0.9, 0.9}})
    for (const Form form : {Form::dense, Form::find_zeros, Form::sparse_a, Form::sparse_b, Form::sparse}) {
      const Case c{n, m, pairs, 1, false, 0, densities, form};
      const CaseFactors<float> own(c, 0);
      const auto bytes = [&](MatrixView<const float> factor, double density, Form sparse_alone) {
        const bool known = form == Form::find_zeros || form == Form::sparse || form == sparse_alone;
        if (!known || density > 0.5) return factor.rows * factor.columns * 4;
        return 8 * (k + 1) + 8 * bench::Compressed<float>(factor).view().count();
      };
      INFO(c.text());
      CHECK(bytes_from_rank_0(2, "allgather", c) ==
            bytes(own.dense().a, densities.a, Form::sparse_a) + bytes(own.dense().b, densities.b, Form::sparse_b));
      CHECK(bytes_from_rank_0(2, "allreduce-ring", c) == n * m * 4);
    }
}

TEST_CASE("densities decide on the kernel, and on the algorithm") {
  const auto plan = [](double a, double b) { return make_plan(problem_of_density(a, b), Machine{}, "allgather"); };
  CHECK(plan(0.01, 0.01).problem.sparse_product);
  CHECK(plan(0.01, 1).problem.sparse_product);
  CHECK_FALSE(plan(0.45, 0.45).problem.sparse_product);
  CHECK_FALSE(plan(1, 1).problem.sparse_product);
  CHECK(plan(0.01, 0.01).cost().seconds() < plan(1, 0.01).cost().seconds());
  CHECK(plan(1, 0.01).cost().seconds() < plan(1, 1).cost().seconds());

  Machine slow_network;
  slow_network.gap_per_byte_seconds = 80e-9;
  Problem many = problem_of_density(0.01, 0.01);
  many.pairs.assign(8, 320);
  many.sparsity.assign(8, {3200, 3200});
  CHECK(make_plan(many, slow_network).algorithm_name().starts_with("allgather"));
  many.sparsity.clear();
  CHECK_FALSE(make_plan(many, slow_network).algorithm_name().starts_with("allgather"));
}

TEST_CASE("a layer plans for the densities of its shape") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          OuterProduct<float> layer(
              transport, {.rows = 500, .columns = 400, .max_pairs = 10, .density_a = 0.01, .density_b = 0.02});
          failures.check(layer.plan().problem.sparsity == std::vector<Sparsity>(2, {50, 80}), "another sparsity");
          const std::string error = argument_error_of(
              [&] { OuterProduct<float>(transport, {.rows = 5, .columns = 4, .max_pairs = 1, .density_b = 1.5}); });
          failures.check(error == "ranks 0-1: density_b is 1.5, expected 0 to 1", error);
        }) == "");
}

namespace {

// The same elements a byte further.
template <class T>
void shift(std::span<const T>& array) {
  array = {reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(array.data()) + 1), array.size()};
}

}  // namespace

TEST_CASE("a malformed sparse matrix on one rank throws on all") {
  using Offsets = std::vector<std::size_t>;
  using Indices = std::vector<std::uint32_t>;
  CHECK(failures_when("rank 1: a.column_indices[1] is 0, expected more than a.column_indices[0] = 2, in the same row",
                      [](auto&, Offsets&, Indices& indices) { std::swap(indices[0], indices[1]); }) == "");
  CHECK(failures_when("rank 1: a.column_indices[1] is 0, expected more than a.column_indices[0] = 0, in the same row",
                      [](auto&, Offsets&, Indices& indices) { indices[1] = 0; }) == "");
  CHECK(failures_when("rank 1: a.column_indices[2] is 3, expected less than a.columns = 3",
                      [](auto&, Offsets&, Indices& indices) { indices[2] = 3; }) == "");
  CHECK(failures_when("rank 1: a.row_offsets[0] is 1, expected 0",
                      [](auto&, Offsets& offsets, Indices&) { offsets[0] = 1; }) == "");
  CHECK(failures_when("rank 1: a.row_offsets[2] is 1, expected at least a.row_offsets[1] = 2",
                      [](auto&, Offsets& offsets, Indices&) { offsets[2] = 1; }) == "");
  CHECK(failures_when("rank 1: a.row_offsets[2] is 4, expected a.column_indices.size() = 3",
                      [](auto&, Offsets& offsets, Indices&) { offsets[2] = 4; }) == "");
  CHECK(failures_when("rank 1: a.row_offsets.size() is 2, expected a.rows + 1 = 3",
                      [](auto& a, Offsets&, Indices&) { a.row_offsets = a.row_offsets.first(2); }) == "");
  CHECK(failures_when("rank 1: a.row_offsets.size() is 0, expected a.rows + 1 = 0", [](auto& a, Offsets&, Indices&) {
          a.rows = SIZE_MAX;
          a.columns = 0;
          a.row_offsets = {};
        }) == "");
  CHECK(failures_when("rank 1: a.column_indices.size() is 2, expected a.values.size() = 3",
                      [](auto& a, Offsets&, Indices&) { a.column_indices = a.column_indices.first(2); }) == "");
  const std::string beyond = " is at an address 1 bytes beyond an element's, expected a multiple of ";
  CHECK(failures_when("rank 1: a.row_offsets" + beyond + "8",
                      [](auto& a, Offsets&, Indices&) { shift(a.row_offsets); }) == "");
  CHECK(failures_when("rank 1: a.column_indices" + beyond + "4",
                      [](auto& a, Offsets&, Indices&) { shift(a.column_indices); }) == "");
  CHECK(failures_when("rank 1: a.values" + beyond + "4", [](auto& a, Offsets&, Indices&) { shift(a.values); }) == "");
  CHECK(failures_when("rank 1: a.columns is 4, expected gradient.rows = 3",
                      [](auto& a, Offsets&, Indices&) { a.columns = 4; }) == "");
  CHECK(failures_when("rank 1: b.rows is 2, expected a.rows = 1 (one of each a pair)",
                      [](auto& a, Offsets& offsets, Indices&) {
                        a.rows = 1;
                        offsets[1] = 3;
                        a.row_offsets = a.row_offsets.first(2);
                        a.column_indices = a.column_indices.first(0);
                        a.values = a.values.first(0);
                        offsets[1] = 0;
                      }) == "");
}

TEST_CASE("the gradient of one-hot factors, as the rows that are not zero") {
  constexpr std::size_t n = 1000;
  constexpr std::size_t m = 7;
  CHECK(failures_on_threads(4, [](Transport& transport, Failures& failures) {
          OuterProduct<float> layer(transport, {.rows = n, .columns = m, .max_pairs = 1}, {.scale = 0.5});
          const std::uint32_t hot[] = {700, 3, 700, 999};  // two ranks have the same
          const GradientRows<float> G = layer.run_rows(OneHot(hot[transport.rank()], n, m).factors());
          failures.check(G.rows == n && G.columns == m, "another shape");
          failures.check(G.indices == std::vector<std::uint32_t>{3, 700, 999}, "other rows");
          const float times[] = {1, 2, 1};
          for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < m; ++j)
              failures.check(G.values().row(i)[j] == times[i] * static_cast<float>(G.indices[i] + j), "G is wrong");
          std::vector<float> whole(n * m);
          layer.run(OneHot(hot[transport.rank()], n, m).factors(), {whole.data(), n, m});
          failures.check(whole[700 * m + 1] == 2 * 701, "the whole G is wrong after its rows");
        }) == "");
}

TEST_CASE("rows of any factors are those of the gradient") {
  for (const int P : {1, 3})
    for (const bench::Densities densities : {bench::Densities{0.02, 0.3}, {0, 1}, {1, 1}, {0.1, 0.1}}) {
      std::vector<std::size_t> pairs(static_cast<std::size_t>(P), 4);
      pairs.back() = 0;
      const Case c{60, 31, pairs, 1, false, 0, densities, Form::mixed};
      INFO("P = " << P << ", " << c.text());
      CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
              const CaseFactors<double> own(c, transport.rank());
              OuterProduct<double> layer(transport, {.rows = c.n, .columns = c.m, .max_pairs = 4});
              const GradientRows<double> rows = layer.run_rows(own.given());
              std::size_t next = 0;
              for (std::size_t i = 0; i < c.n; ++i) {
                std::vector<double> expected(c.m);
                for (int r = 0; r < P; ++r)
                  bench::add_reference_row<double>(CaseFactors<double>(c, r).dense(), i, 1.0, expected);
                const bool there = next < rows.indices.size() && rows.indices[next] == i;
                if (there)
                  failures.check(std::equal(expected.begin(), expected.end(), rows.values().row(next++)), "wrong row");
                else
                  failures.check(expected == std::vector<double>(c.m), "a row is missing");
              }
              failures.check(next == rows.indices.size(), "rows out of order");
            }) == "");
    }
}

TEST_CASE("rows can't be accumulated, and ranks must agree on wanting them") {
  CHECK(failures_on_threads(2, [](Transport& transport, Failures& failures) {
          OuterProduct<float> adding(transport, {.rows = 9, .columns = 2}, {.beta = 1});
          std::string error = argument_error_of([&] { adding.run_rows(OneHot(1, 9, 2).factors()); });
          failures.check(error == "ranks 0-1: beta is 1, expected 0: the rows are made anew", error);
          OuterProduct<float> updating(transport, {.rows = 9, .columns = 2}, {.beta = 0.5});
          error = argument_error_of([&] { updating.run_rows(OneHot(1, 9, 2).factors()); });
          failures.check(error == "ranks 0-1: beta is 0.5, expected 0: the rows are made anew", error);
          OuterProduct<float> layer(transport, {.rows = 9, .columns = 2});
          error = argument_error_of([&] { layer.run_rows(OneHot(1, 8, 2).factors()); });
          failures.check(error == "ranks 0-1: a.columns is 8, expected the layer's rows = 9", error);
          std::vector<float> G(18);
          error = argument_error_of([&] {
            if (transport.rank() == 0)
              layer.run_rows(OneHot(1, 9, 2).factors());
            else
              layer.run(OneHot(1, 9, 2).factors(), {G.data(), 9, 2});
          });
          failures.check(error ==
                             "the ranks disagree: the operation is outer product on rank 1, outer product's rows on "
                             "rank 0",
                         error);
        }) == "");
}

TEST_CASE("a call with other numbers of non-zeros works on the same layer") {
  CHECK(failures_on_threads(3, [](Transport& transport, Failures& failures) {
          OuterProduct<float> layer(transport, {.rows = 40, .columns = 50, .max_pairs = 9}, {.algorithm = "allgather"});
          for (const double density : {0.05, 1.0, 0.3, 0.0, 1.0}) {
            const Case c{40, 50, {9, 9, 9}, 1, false, 0, {density, density}, Form::sparse};
            std::vector<float> G(40 * 50);
            layer.run(CaseFactors<float>(c, transport.rank()).given(), {G.data(), 40, 50});
            for (std::size_t i = 0; i < 40; ++i) {
              std::vector<float> expected(50);
              for (int r = 0; r < 3; ++r)
                bench::add_reference_row<float>(CaseFactors<float>(c, r).dense(), i, 1.0F, expected);
              failures.check(std::equal(expected.begin(), expected.end(), G.begin() + static_cast<long>(i) * 50),
                             "G is wrong");
            }
          }
        }) == "");
}
