// Every sparse allreduce: the sum, its bits, and what is said about bad calls.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <sstream>

#include <dsop/counting.hpp>

#include "memory/workspace.hpp"
#include "sparse/wire.hpp"
#include "sparse_allreduce_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

template <class T>
std::vector<std::byte> bytes_of(const SparseSum<T>& result) {
  const auto values = std::as_bytes(result.sum.values);
  const auto indices = std::as_bytes(result.sum.indices);
  std::vector<std::byte> bytes(values.begin(), values.end());
  bytes.insert(bytes.end(), indices.begin(), indices.end());
  return bytes;
}

}  // namespace

TEST_CASE("every sparse allreduce is exact", "[sparse]") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  const auto check = [P]<class T>(T) {
    const auto cases = sparse_case_sums<T>(P);
    return failures_on_threads(
        P, [&](Transport& transport, Failures& failures) { check_sparse_sums(transport, cases, failures); });
  };
  CHECK(check(float{}) == "");
  if (P % 3 == 2) CHECK(check(double{}) == "");
}

TEST_CASE("sparse allreduces of so many ranks that slots for messages are used again are exact", "[sparse]") {
  constexpr int P = 36;
  const SparseCase c{2000, 60, Spread::clustered};
  std::vector<float> expected(c.dimension);
  for (int q = 0; q < P; ++q) SparseInput<float>(c, q, P).add_to(expected);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          const SparseInput<float> own(c, transport.rank(), P);
          for (const std::string& algorithm : sparse_names(P)) {
            const auto result = sparse_allreduce<float>(transport, own.view(), {.algorithm = algorithm});
            failures.check(in_full(result.sum) == expected, algorithm + " is wrong");
          }
        }) == "");
}

TEST_CASE("every sparse allreduce gives the same bits on all ranks and in the next run", "[sparse][bits]") {
  const int P = GENERATE(2, 3, 5, 8, 13);
  for (const SparseCase& c : {SparseCase{1000, 30, Spread::uniform}, SparseCase{1000, 300, Spread::uniform},
                              SparseCase{700, 60, Spread::clustered}, SparseCase{601, 20, Spread::unequal},
                              SparseCase{900, 50, Spread::power_law}})
    for (const std::string& algorithm : sparse_names(P)) {
      std::vector<std::vector<std::byte>> results(2 * static_cast<std::size_t>(P));
      run_on_threads(P, [&](Transport& transport) {
        const int r = transport.rank();
        SparseInput<float> own(c, r, P);
        for (float& value : own.values()) value = std::sin(value + static_cast<float>(r));
        for (const std::size_t again : {0UL, 1UL})
          results[2 * static_cast<std::size_t>(r) + again] =
              bytes_of(sparse_allreduce<float>(transport, own.view(), {.algorithm = algorithm}));
      });
      INFO(algorithm << ", P = " << P << ", " << c.text());
      for (const std::vector<std::byte>& result : results) REQUIRE(result == results[0]);
    }
}

namespace {

// As SparseAllreduceOptions::wire says of sparse algorithms.
int times_rounded(const std::string& algorithm, int P) {
  const auto log2 = [](int ranks) { return static_cast<int>(std::log2(ranks)); };
  if (algorithm == "allgather") return 1;
  if (algorithm == "ssar-recursive-doubling") return log2(P) + (P == 1 << log2(P) ? 0 : 2);
  if (!algorithm.starts_with("dsar-early-switch(")) return 2;
  const int g = std::min(std::stoi(algorithm.substr(algorithm.find('(') + 1)), P);
  return 2 + log2(P / g) + (g << log2(P / g) == P ? 0 : 1);
}

}  // namespace

TEST_CASE("sparse allreduces with bf16 on the wire keep their error bounds, and the same bits on all ranks",
          "[sparse][bits]") {
  const int P = GENERATE(1, 2, 3, 5, 8, 13);
  constexpr double u = 0x1p-8;
  for (const SparseCase& c : {SparseCase{0, 0, Spread::uniform}, SparseCase{3, 1, Spread::uniform},
                              SparseCase{1000, 30, Spread::uniform}, SparseCase{1003, 331, Spread::same},
                              SparseCase{1000, 420, Spread::uniform}, SparseCase{700, 60, Spread::clustered},
                              SparseCase{1500, 70, Spread::one_region}, SparseCase{601, 20, Spread::unequal}})
    for (const std::string& algorithm : sparse_names(P, Wire::bf16)) {
      std::vector<std::vector<std::byte>> results(static_cast<std::size_t>(P));
      std::vector<float> sum;
      std::vector<double> exact(c.dimension);
      std::vector<double> absolute(c.dimension);
      const auto input = [&](int r) {
        SparseInput<float> own(c, r, P);
        for (float& value : own.values()) value = std::sin(value + static_cast<float>(r));
        return own;
      };
      for (int r = 0; r < P; ++r) {
        const std::vector<float> x = in_full(input(r).view());
        for (std::size_t i = 0; i < x.size(); ++i) exact[i] += x[i];
        for (std::size_t i = 0; i < x.size(); ++i) absolute[i] += std::abs(x[i]);
      }
      run_on_threads(P, [&](Transport& transport) {
        const SparseInput<float> own = input(transport.rank());
        const auto result =
            sparse_allreduce<float>(transport, own.view(), {.algorithm = algorithm, .wire = Wire::bf16});
        results[static_cast<std::size_t>(transport.rank())] = bytes_of(result);
        if (transport.rank() == 0) sum = in_full(result.sum);
      });
      INFO(algorithm << ", P = " << P << ", " << c.text());
      for (const std::vector<std::byte>& result : results) REQUIRE(result == results[0]);
      const double bound = algorithm.starts_with("dense-") ? P * u * std::pow(1 + u, P - 1)
                                                           : std::pow(1 + u, times_rounded(algorithm, P)) - 1;
      REQUIRE(sum.size() == c.dimension);
      bool all_exact = true;
      for (std::size_t i = 0; i < c.dimension; ++i) {
        REQUIRE(std::abs(sum[i] - exact[i]) <= (bound + P * 0x1p-24) * absolute[i]);
        all_exact = all_exact && sum[i] == static_cast<float>(exact[i]);
      }
      if (P > 1 && c.nonzeros >= 20) CHECK(!all_exact);  // something was rounded
    }
}

TEST_CASE("sparse allreduces that can't send bf16 refuse it", "[sparse]") {
  const std::vector<std::uint32_t> indices{1, 4};
  const auto error_of_call = [&](auto one, const std::string& algorithm) {
    using T = decltype(one);
    const std::vector<T> values{one, one};
    std::string error;
    const std::string failures = failures_on_threads(3, [&](Transport& transport, Failures& failed) {
      const SparseVectorView<T> own{10, indices, values};
      const std::string text = argument_error_of([&] {
        static_cast<void>(sparse_allreduce<T>(transport, own, {.algorithm = algorithm, .wire = Wire::bf16}));
      });
      if (transport.rank() == 0) error = text;
      failed.check(in_full(sparse_allreduce<T>(transport, own).sum)[4] == 3, "the next call is wrong");
    });
    return failures + error;
  };
  CHECK(error_of_call(1.0, "auto") == "ranks 0-2: wire is bf16, expected full for values in f64");
  CHECK(error_of_call(1.0F, "auto").empty());
  CHECK(error_of_call(1.0F, "dense-butterfly") ==
        "ranks 0-2: algorithm dense-butterfly can't be used: it sends values in full only, and wire is bf16");
  const SparsePlan plan = make_sparse_plan(
      {.elements = 1000000, .nonzeros = std::vector<std::size_t>(8, 10), .wire = Wire::bf16}, Machine{});
  CHECK(plan.algorithm->sends_bf16);
  for (const Candidate& candidate : plan.candidates)
    if (candidate.algorithm.starts_with("dense-rabenseifner"))
      CHECK(candidate.unsupported == "sends values in full only, and wire is bf16");
}

namespace {

// What rank 0 throws when rank r has announced announced[r] elements, the first ones, but rank 1 has so many.
std::string error_when_rank_1_has(std::size_t count, const std::vector<std::size_t>& announced,
                                  const std::string& algorithm) {
  const SparsePlan plan = make_sparse_plan({.elements = 4000, .nonzeros = announced}, Machine{}, algorithm);
  std::string error;
  run_on_threads(static_cast<int>(announced.size()), [&](Transport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    std::vector<std::uint32_t> indices(rank == 1 ? count : announced[rank]);
    std::iota(indices.begin(), indices.end(), 0U);
    const std::vector<float> values(indices.size(), 1);
    std::vector<float> result(4000);
    Workspace<std::byte> workspace;
    workspace.resize(plan.workspace_bytes);
    Arena memory(workspace.elements());
    Exchange exchange = plan.exchange;
    SparseCall<float> call{transport, plan,    {4000, indices, values}, std::span(result).first(plan.result_bytes / 4),
                           memory,    exchange};
    try {
      plan.algorithm->run(call);
    } catch (const TransportError& caught) {
      if (rank == 0) error = caught.what();
    }
  });
  return error;
}

}  // namespace

TEST_CASE("what comes beyond what a rank has announced is refused, not written", "[sparse]") {
  CHECK(error_when_rank_1_has(1, {3, 1}, "ssar-recursive-doubling") == "");
  CHECK(error_when_rank_1_has(4, {3, 1}, "ssar-recursive-doubling") ==
        "sparse vectors that were received take 56 bytes to sum, expected at most 32 of what their senders announced");
  CHECK(error_when_rank_1_has(4, {4, 0, 0, 0}, "ssar-split-allgather") ==
        "sparse vectors that were received take 64 bytes to sum, expected at most 32 of what their senders announced");
  CHECK(error_when_rank_1_has(12, {4, 0, 0, 0}, "ssar-split-allgather") ==
        "rank 1 sent 128 bytes to rank 0, which expected at most 64");
}

TEST_CASE("a bad argument of a sparse allreduce throws on all ranks, and names what is wrong", "[sparse]") {
  const std::vector<std::uint32_t> good_indices{1, 4};
  const std::vector<float> two_values{5, 6};
  const SparseVectorView<float> good{10, good_indices, two_values};
  const auto error_when_rank_1_gives = [&](const SparseVectorView<float>& bad, const SparseAllreduceOptions& options) {
    std::string error;
    const std::string failures = failures_on_threads(3, [&](Transport& transport, Failures& failed) {
      const bool spoilt = transport.rank() == 1;
      const std::string text = argument_error_of([&] {
        static_cast<void>(
            sparse_allreduce<float>(transport, spoilt ? bad : good, spoilt ? options : SparseAllreduceOptions{}));
      });
      if (spoilt) error = text;
      const std::vector<float> sum = in_full(sparse_allreduce<float>(transport, good).sum);
      failed.check(sum == std::vector<float>{0, 15, 0, 0, 18, 0, 0, 0, 0, 0}, "the next call is wrong");
      failed.check(!text.empty(), "no error");
    });
    return failures + error;
  };
  const std::vector<std::uint32_t> twice{4, 4};
  const std::vector<std::uint32_t> outside{4, 10};
  const std::vector<std::uint32_t> one{4};
  CHECK(error_when_rank_1_gives({10, twice, two_values}, {}) ==
        "rank 1: own.indices[1] is 4, expected more than own.indices[0] = 4");
  CHECK(error_when_rank_1_gives({10, outside, two_values}, {}) ==
        "rank 1: own.indices[1] is 10, expected less than own.dimension = 10");
  CHECK(error_when_rank_1_gives({10, one, two_values}, {}) ==
        "rank 1: own.values.size() is 2, expected own.indices.size() = 1, or no indices and own.dimension = 10");
  CHECK(error_when_rank_1_gives({(1UL << 32) + 1, good_indices, two_values}, {}) ==
        "rank 1: own.dimension is 4294967297, expected at most 4294967296");
  CHECK(error_when_rank_1_gives({11, good_indices, two_values}, {}) ==
        "the ranks disagree: dimension is 10 on ranks 0, 2, 11 on rank 1");
  CHECK(error_when_rank_1_gives(good, {.algorithm = "allgater"}) ==
        "rank 1: algorithm is allgater, expected auto or one of " + sparse_algorithms().names());
  CHECK(error_when_rank_1_gives(good, {.algorithm = "topk-dsa"}) ==
        "the ranks disagree: algorithm is auto on ranks 0, 2, topk-dsa on rank 1");
  CHECK(error_when_rank_1_gives(good, {.machine = Machine{.gap_seconds = 0}}) ==
        "rank 1: machine.gap_seconds is 0, expected a finite number above 0");
  CHECK(error_when_rank_1_gives(good, {.algorithm = "topk-dsa(3)"}) ==
        "rank 1: algorithm is topk-dsa(3), expected topk-dsa without a number");
  CHECK(failures_on_threads(6, [&](Transport& transport, Failures& failed) {
          const std::string error = argument_error_of([&] {
            static_cast<void>(sparse_allreduce<float>(transport, good, {.algorithm = "dsar-early-switch(0)"}));
          });
          failed.check(error == "ranks 0-5: algorithm is dsar-early-switch(0), expected a whole number, 1 or more",
                       error);
        }) == "");
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failed) {
          const std::string error = argument_error_of(
              [&] { static_cast<void>(sparse_allreduce<float>(transport, good, {.algorithm = "dense-mpi"})); });
          failed.check(error ==
                           "ranks 0-1: algorithm dense-mpi can't be used: it runs inside the MPI library, and these "
                           "ranks do not use MPI",
                       error);
        }) == "");
}

TEST_CASE("an object learns the overlap of its own sums, and of no others", "[sparse]") {
  constexpr int P = 4;
  constexpr std::size_t N = 40000;
  constexpr std::size_t k = N / 4;
  const Machine machine{.gap_per_byte_seconds = 40e-9};
  const auto choice = [&](std::size_t measured_union) {
    SparseProblem problem{.elements = N, .nonzeros = std::vector<std::size_t>(P, k)};
    if (measured_union > 0) problem.drawn_from = problem.drawn_from_of(static_cast<double>(measured_union));
    return make_sparse_plan(problem, machine).algorithm_text();
  };
  const std::string by_chance = choice(0);
  const std::string all_alike = choice(k);
  const std::string all_apart = choice(N);
  REQUIRE(all_alike != by_chance);
  REQUIRE(all_alike != all_apart);
  CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
          const SparseInput<float> same({N, k, Spread::same}, transport.rank(), P);
          const SparseInput<float> apart({N, k, Spread::apart}, transport.rank(), P);
          SparseAllreduce<float> of_same(transport, {.machine = machine});
          SparseAllreduce<float> of_apart(transport, {.machine = machine});
          const auto check = [&](SparseAllreduce<float>& object, const SparseInput<float>& own,
                                 const std::string& used) {
            const auto result = object.run(own.view());
            const auto expected = sparse_allreduce<float>(transport, own.view(), {.algorithm = "allgather"});
            failures.check(in_full(result.sum) == in_full(expected.sum), "a sum by " + result.algorithm + " is wrong");
            failures.check(result.algorithm == used, "used " + result.algorithm + ", expected " + used);
          };
          check(of_same, same, by_chance);
          check(of_apart, apart, by_chance);
          for (int again = 0; again < 3; ++again) {
            check(of_same, same, all_alike);
            check(of_apart, apart, all_apart);
          }
          failures.check(sparse_allreduce<float>(transport, same.view(), {.machine = machine}).algorithm == by_chance,
                         "the communicator has learnt from an object");
          SparseAllreduce<float> moved = std::move(of_same);
          check(moved, same, all_alike);
          of_apart = SparseAllreduce<float>(transport, {.machine = machine});
          check(of_apart, same, by_chance);
        }) == "");
}

TEST_CASE("ranks that call different objects for sparse allreduces throw, as do bad options", "[sparse]") {
  const std::vector<float> ones{1, 1, 1};
  CHECK(failures_on_threads(2, [&](Transport& transport, Failures& failures) {
          SparseAllreduce<float> first(transport);
          SparseAllreduce<float> second(transport);
          SparseAllreduce<float> unknown(transport, {.algorithm = "allgater"});
          SparseAllreduce<float>& mine = transport.rank() == 0 ? first : second;
          const SparseVectorView<float> own{3, {}, ones};
          std::string error = argument_error_of([&] { static_cast<void>(mine.run(own)); });
          failures.check(
              error ==
                  "the ranks disagree: the object whose call it is (0: none, i: made by call i) is 1 on rank 0, 2 on "
                  "rank 1",
              error);
          error = argument_error_of([&] { static_cast<void>(unknown.run(own)); });
          failures.check(
              error == "ranks 0-1: algorithm is allgater, expected auto or one of " + sparse_algorithms().names(),
              error);
          failures.check(in_full(first.run(own).sum) == std::vector<float>{2, 2, 2}, "the next call is wrong");
        }) == "");
}
