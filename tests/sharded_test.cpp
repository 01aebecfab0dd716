// Every rank keeps its own rows of G.
#include <catch2/catch.hpp>

#include <algorithm>

#include <dsop/counting.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "failures.hpp"
#include "memory/workspace.hpp"
#include "outer_product_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

// Compares the rows of rank r, and their gaps, with a plain sum. Returns "" or what is wrong.
template <class T>
std::string wrong_rows(const Case& c, const std::vector<std::size_t>& bounds, int r, const std::vector<T>& own) {
  const std::size_t first = bounds[static_cast<std::size_t>(r)];
  const std::size_t stride = c.m + c.gap;
  for (std::size_t i = 0; i < bounds[static_cast<std::size_t>(r) + 1] - first; ++i) {
    std::vector<T> expected(c.m, c.accumulate ? untouched<T> : T{0});
    for (std::size_t q = 0; q < c.pairs.size(); ++q) {
      const bench::InputFactors<T> factors(1, static_cast<int>(q), c.pairs[q], c.n, c.m, bench::Values::whole, c.gap);
      bench::add_reference_row<T>(factors.view(), first + i, static_cast<T>(c.scale), expected);
    }
    expected.resize(stride, untouched<T>);
    if (!std::equal(expected.begin(), expected.end(), own.begin() + static_cast<std::ptrdiff_t>(i * stride)))
      return c.text() + ": row " + std::to_string(first + i) + " on rank " + std::to_string(r) + " is wrong";
  }
  return "";
}

template <class T>
void run_every_algorithm(Transport& threads, const Case& c, Failures& failures, Wire factor_wire = Wire::full) {
  const int r = threads.rank();
  const auto rank = static_cast<std::size_t>(r);
  const bench::InputFactors<T> own(1, r, c.pairs[rank], c.n, c.m, bench::Values::whole, c.gap);
  Problem problem{.rows = c.n, .columns = c.m, .pairs = c.pairs, .type = data_type<T>};
  problem.sharded = true;
  problem.factor_wire = factor_wire;
  for (const OuterProductAlgorithm& algorithm : sharded_algorithms()) {
    const Plan plan = make_plan(problem, Machine{}, algorithm.name);
    const std::size_t rows = plan.row_bounds[rank + 1] - plan.row_bounds[rank];
    std::vector<T> shard(rows * (c.m + c.gap), untouched<T>);
    Workspace<std::byte> workspace;
    workspace.resize(plan.workspace_bytes);
    Arena memory(workspace.elements());
    CountingTransport transport(threads);
    OuterProductCall<T> call{transport,
                             plan,
                             own.view(),
                             MatrixView<T>(shard.data(), rows, c.m, c.m + c.gap),
                             static_cast<T>(c.scale),
                             c.accumulate ? T{1} : T{0},
                             memory};
    plan.algorithm->run(call);
    const std::string wrong = wrong_rows<T>(c, plan.row_bounds, r, shard);
    failures.check(wrong.empty(), algorithm.name + " " + wrong);
    std::vector<Traffic> sent(static_cast<std::size_t>(transport.size()));
    sent[rank] = transport.payload();
    if (r != 0) threads.send(std::span<const Traffic>(sent).subspan(rank, 1), 0);
    if (r != 0) continue;
    Cost busiest;
    for (int q = 0; q < threads.size(); ++q) {
      const std::span<Traffic> of_rank = std::span(sent).subspan(static_cast<std::size_t>(q), 1);
      if (q != 0) threads.recv(of_rank, q);
      busiest.raise_to(of_rank[0]);
    }
    const std::string what = algorithm.name + ", " + c.text();
    failures.check(busiest.messages == plan.cost().messages, what + ": messages are not what the formula states");
    failures.check(busiest.bytes == plan.cost().bytes, what + ": bytes are not what the formula states");
  }
}

// run_sharded() of one rank, in a call that its arguments may spoil.
template <class Call>
std::string error_on_three_ranks(const std::string& expected, Call call) {
  return failures_on_threads(3, [&](Transport& transport, Failures& failures) {
    OuterProduct<float> layer(transport, {.rows = 4, .columns = 3, .max_pairs = 2});
    const bench::InputFactors<float> own(1, transport.rank(), 2, 4, 3);
    std::vector<float> rows(12);
    const std::size_t count = transport.rank() == 0 ? 2 : 1;
    const std::string error =
        argument_error_of([&] { call(layer, transport.rank(), own.view(), MatrixView<float>(rows.data(), count, 3)); });
    failures.check(error == expected, "threw \"" + error + '"');
    std::fill(rows.begin(), rows.end(), untouched<float>);
    layer.run_sharded(own.view(), {rows.data(), count, 3});
    rows.resize(3 * count);
    const std::string wrong =
        wrong_rows<float>({4, 3, {2, 2, 2}, 1, false, 0}, layer.plan().row_bounds, transport.rank(), rows);
    failures.check(wrong.empty(), "the next call: " + wrong);
  });
}

}  // namespace

TEST_CASE("every sharded algorithm is exact and sends what its formula states") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          for (const Case& c : all_cases(P)) {
            run_every_algorithm<float>(transport, c, failures);
            run_every_algorithm<float>(transport, c, failures, Wire::bf16);
            run_every_algorithm<double>(transport, c, failures);
          }
        }) == "");
}

TEST_CASE("a layer leaves each rank its rows, between calls that leave it all") {
  const int P = GENERATE(1, 2, 3, 5, 8);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          for (const Case& c : all_cases(P)) {
            const int r = transport.rank();
            const auto rank = static_cast<std::size_t>(r);
            OuterProduct<float> layer(
                transport, {c.n, c.m, c.pairs[rank]},
                {.algorithm = "allreduce-ring", .scale = c.scale, .beta = c.accumulate ? 1.0 : 0.0});
            const std::vector<std::size_t> bounds = layer.plan().row_bounds;
            const std::size_t rows = bounds[rank + 1] - bounds[rank];
            const bench::InputFactors<float> own(1, r, c.pairs[rank], c.n, c.m, bench::Values::whole, c.gap);
            for (int turn = 0; turn < 2; ++turn) {
              std::vector<float> shard(rows * (c.m + c.gap), untouched<float>);
              layer.run_sharded(own.view(), {shard.data(), rows, c.m, c.m + c.gap});
              failures.check(layer.plan().problem.sharded, "the plan is not the sharded one");
              const std::string wrong = wrong_rows<float>(c, bounds, r, shard);
              failures.check(wrong.empty(), wrong);
              std::vector<float> G(c.n * (c.m + c.gap), untouched<float>);
              layer.run(own.view(), {G.data(), c.n, c.m, c.m + c.gap});
              failures.check(layer.plan().algorithm_name() == "allreduce-ring", "the plan is not the whole one's");
              const std::string wrong_whole = wrong_rows<float>(c, {0, c.n}, 0, G);
              failures.check(wrong_whole.empty(), wrong_whole);
            }
          }
        }) == "");
}

TEST_CASE("sending needed parts alone is taken where words are dear") {
  Problem problem{.rows = 4000, .columns = 1000, .pairs = std::vector<std::size_t>(8, 32)};
  problem.sharded = true;
  const Plan plan = make_plan(problem, Machine{.gap_per_byte_seconds = 40e-9});
  CHECK(plan.algorithm_name() == "scattered");
  CHECK(plan.cost().bytes == 32 * 4 * (4000 * 7 / 8 + 7 * 1000));
  CHECK_THROWS_WITH(make_plan(problem, Machine{}, "allreduce-ring"),
                    "algorithm is allreduce-ring, expected auto or one of scattered, allgather");
}

TEST_CASE("a bad call of run_sharded on one rank throws on all") {
  using Layer = OuterProduct<float>;
  using View = MatrixView<float>;
  CHECK(error_on_three_ranks("rank 1: own_rows.rows is 2, expected 1, this rank's rows by plan().row_bounds",
                             [](Layer& layer, int rank, const Factors<float>& own, View rows) {
                               if (rank == 1) rows.rows = 2;
                               layer.run_sharded(own, rows);
                             }) == "");
  CHECK(error_on_three_ranks("rank 2: own_rows.columns is 4, expected the layer's 3",
                             [](Layer& layer, int rank, const Factors<float>& own, View rows) {
                               if (rank == 2) rows = {rows.data, 1, 4};
                               layer.run_sharded(own, rows);
                             }) == "");
  CHECK(error_on_three_ranks("rank 0: a.columns is 5, expected the layer's rows = 4",
                             [](Layer& layer, int rank, Factors<float> own, View rows) {
                               if (rank == 0) own.a.columns = own.a.stride = 5;
                               layer.run_sharded(own, rows);
                             }) == "");
  CHECK(error_on_three_ranks("rank 0: the number of pairs is 3, expected at most the layer's max_pairs = 2",
                             [](Layer& layer, int rank, Factors<float> own, View rows) {
                               if (rank == 0) own.a.rows = own.b.rows = 3;
                               layer.run_sharded(own, rows);
                             }) == "");
  CHECK(error_on_three_ranks("rank 1: own_rows overlaps the factors' range of memory, expected one of its own",
                             [](Layer& layer, int rank, const Factors<float>& own, View rows) {
                               if (rank == 1) rows.data = const_cast<float*>(own.b.data);
                               layer.run_sharded(own, rows);
                             }) == "");
  CHECK(error_on_three_ranks(
            "the ranks disagree: the operation is outer product on rank 2, sharded outer product on ranks 0-1",
            [](Layer& layer, int rank, const Factors<float>& own, View rows) {
              std::vector<float> G(12);
              if (rank == 2)
                layer.run(own, {G.data(), 4, 3});
              else
                layer.run_sharded(own, rows);
            }) == "");
}
