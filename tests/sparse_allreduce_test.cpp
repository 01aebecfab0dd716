// Every sparse allreduce: the sum, its bits, its messages, and what is said about bad calls.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <sstream>

#include <dsop/counting.hpp>

#include "planning/call_state.hpp"
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

// The largest numbers over ranks of what an algorithm sends when its plan expects the overlap that there is.
Cost count(int P, const SparseCase& c, const std::string& algorithm, Overlap overlap, Failures& failures,
           Wire wire = Wire::full) {
  const SparseProblem problem{.elements = c.dimension,
                              .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), c.nonzeros),
                              .overlap = overlap,
                              .wire = wire};
  const SparsePlan plan = make_sparse_plan(problem, Machine{}, algorithm);
  std::vector<float> expected(c.dimension);
  for (int q = 0; q < P; ++q) SparseInput<float>(c, q, P).add_to(expected);
  Cost busiest;
  std::mutex mutex;
  run_on_threads(P, [&](Transport& threads) {
    CountingTransport transport(threads);
    const SparseInput<float> own(c, transport.rank(), P);
    std::vector<float> result((plan.result_bytes + 3) / 4);
    std::vector<std::byte> workspace(plan.workspace_bytes);
    AllgatherProblem blocks{std::vector<std::size_t>(static_cast<std::size_t>(P) + 1)};
    SparseCall<float> call{transport, plan, own.view(), result, workspace, blocks};
    plan.algorithm->run(call);
    const std::lock_guard lock(mutex);
    busiest.raise_to(transport.payload());
    failures.check(in_full(call.sum) == expected, algorithm + " is wrong");
  });
  return busiest;
}

}  // namespace

TEST_CASE("every sparse allreduce is exact", "[sparse]") {
  const int P = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  INFO("P = " << P);
  CHECK(failures_on_threads(P, check_sparse_sums<float>) == "");
  if (P % 3 == 2) CHECK(failures_on_threads(P, check_sparse_sums<double>) == "");
}

TEST_CASE("every sparse allreduce gives the same bits on all ranks and in the next run", "[sparse][bits]") {
  const int P = GENERATE(2, 3, 5, 8, 13);
  for (const SparseCase& c : {SparseCase{1000, 30, Spread::uniform}, SparseCase{1000, 300, Spread::uniform},
                              SparseCase{700, 60, Spread::clustered}, SparseCase{601, 20, Spread::unequal}})
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
      const double bound = algorithm == "allgather"          ? u
                           : algorithm.starts_with("dense-") ? P * u * std::pow(1 + u, P - 1)
                                                             : 2 * u + u * u;
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
  CHECK(error_of_call(1.0F, "ssar-recursive-doubling") ==
        "ranks 0-2: algorithm ssar-recursive-doubling can't be used: it sends values in full only, and wire is bf16");
  const SparsePlan plan = make_sparse_plan(
      {.elements = 1000000, .nonzeros = std::vector<std::size_t>(8, 10), .wire = Wire::bf16}, Machine{});
  CHECK(plan.algorithm->sends_bf16);
  for (const Candidate& candidate : plan.candidates)
    if (candidate.algorithm.starts_with("dsar-early-switch"))
      CHECK(candidate.unsupported == "sends values in full only, and wire is bf16");
}

TEST_CASE("every sparse allreduce sends the messages and bytes that its formula states", "[sparse]") {
  const int P = GENERATE(2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  const std::size_t k = 4 * static_cast<std::size_t>(P);
  struct Job {
    SparseCase c;
    Overlap overlap;
  };
  for (const Job& job : {Job{{64 * k, k, Spread::same}, Overlap::full}, Job{{64 * k, k, Spread::apart}, Overlap::none},
                         Job{{4 * k, k, Spread::same}, Overlap::full}, Job{{3 * k, k, Spread::same}, Overlap::full},
                         Job{{20 * k, k, Spread::apart}, Overlap::none}})
    for (const Wire wire : {Wire::full, Wire::bf16}) {
      if (k > sparse::most_indices<float>(job.c.dimension, wire)) continue;  // would be handed over dense
      for (const std::string& algorithm : sparse_names(P, wire)) {
        Failures failures;
        const Cost counted = count(P, job.c, algorithm, job.overlap, failures, wire);
        const SparseProblem problem{.elements = job.c.dimension,
                                    .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), k),
                                    .overlap = job.overlap,
                                    .wire = wire};
        const Cost stated = make_sparse_plan(problem, Machine{}, algorithm).cost();
        INFO(algorithm << ", P = " << P << ", wire " << name(wire) << ", " << job.c.text());
        CHECK(failures.text() == "");
        CHECK(counted.messages == stated.messages);
        CHECK(counted.bytes == stated.bytes);
      }
    }
}

TEST_CASE("the volumes of sparse allreduces are those of the papers", "[sparse]") {
  for (const int P : {2, 4, 8, 16}) {
    INFO("P = " << P);
    const auto ranks = static_cast<std::size_t>(P);
    const std::size_t k = 64 * ranks;
    const std::size_t N = 64 * k;
    Failures failures;
    // Without the 32 bytes of each header, and without lengths.
    const auto words = [&](const std::string& algorithm, Overlap overlap, std::size_t headers, std::size_t lengths) {
      const SparseCase c{N, k, overlap == Overlap::full ? Spread::same : Spread::apart};
      return (count(P, c, algorithm, overlap, failures).bytes - 32 * headers - 8 * lengths) / sizeof(float);
    };
    const std::size_t others = ranks - 1;
    const auto rounds = static_cast<std::size_t>(std::log2(P));
    CHECK(words("allgather", Overlap::none, others, 0) == 2 * k * others);
    CHECK(words("ssar-recursive-doubling", Overlap::full, rounds, rounds) == 2 * k * rounds);
    CHECK(words("ssar-recursive-doubling", Overlap::none, rounds, rounds) == 2 * k * others);
    CHECK(words("ssar-split-allgather", Overlap::full, 2 * others, 2 * others) == 4 * k * others / ranks);
    CHECK(words("ssar-split-allgather", Overlap::none, 2 * others, 2 * others) ==
          2 * k * others / ranks + 2 * k * others);
    CHECK(words("dsar-split-allgather", Overlap::full, others, others) == 2 * k * others / ranks + N * others / ranks);
    CHECK(failures.text() == "");
  }
}

TEST_CASE("vectors of more than 2^32 elements are summed region by region, in memory for what is not zero",
          "[sparse]") {
  constexpr std::size_t large = std::size_t{1} << 32;
  constexpr std::uint32_t last = std::numeric_limits<std::uint32_t>::max();
  const int P = GENERATE(1, 3, 4);
  // Region j has the indices j, 1000 + r and the last: small ones where it is small.
  const std::vector<float> ones{1, 1, 1};
  std::vector<std::string> names{"auto"};
  for (const SparseAlgorithm& algorithm : sparse_algorithms())
    if (!algorithm.makes_dense) names.push_back(algorithm.name);
  REQUIRE(names.size() >= 5);
  for (const std::string& name : names) {
    const SparseProblem problem{.elements = large,
                                .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), 3)};
    CHECK(make_sparse_plan(problem, Machine{}, name).workspace_bytes < 100000);
    INFO(name << ", P = " << P);
    CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
            const auto r = static_cast<std::uint32_t>(transport.rank());
            const std::vector<std::uint32_t> in_first{0, 1000 + r, last};
            const std::vector<std::uint32_t> in_second{1, 1000 + r, last};
            const std::vector<std::uint32_t> in_third{2, 3 + r, 29};
            const std::vector<SparseVectorView<float>> regions{
                {large, in_first, ones, 0}, {large, in_second, ones, large}, {30, in_third, ones, 2 * large}};
            const auto sums = sparse_allreduce_regions<float>(transport, regions, {.algorithm = name});
            failures.check(sums.size() == regions.size(), "not a sum a region");
            for (std::uint32_t j = 0; j < 2; ++j) {
              const SparseVectorView<float>& sum = sums[j].sum;
              std::vector<std::uint32_t> indices{j};
              std::vector<float> values{static_cast<float>(P)};
              for (int q = 0; q < P; ++q) indices.push_back(1000 + static_cast<std::uint32_t>(q));
              for (int q = 0; q < P; ++q) values.push_back(1);
              indices.push_back(last);
              values.push_back(static_cast<float>(P));
              failures.check(sum.dimension == large && sum.first == j * large, "another region");
              failures.check(std::ranges::equal(sum.indices, indices) && std::ranges::equal(sum.values, values),
                             "a sum is wrong");
            }
            const std::vector<float> small = in_full(sums[2].sum);
            failures.check(sums[2].sum.first == 2 * large && small[2] == static_cast<float>(P) && small[3] == 1 &&
                               small[29] == static_cast<float>(P),
                           "the last region is wrong");
          }) == "");
  }
}

TEST_CASE("ranks that cut a vector into other regions all throw", "[sparse]") {
  const std::vector<SparseVectorView<float>> regions{{.dimension = 10}, {.dimension = 10, .first = 10}};
  CHECK(failures_on_threads(3, [&](Transport& transport, Failures& failures) {
          const auto error_with = [&](std::size_t count, std::size_t from) {
            return argument_error_of([&] {
              static_cast<void>(sparse_allreduce_regions<float>(
                  transport, transport.rank() == 1 ? std::span(regions).subspan(from, count) : std::span(regions)));
            });
          };
          const std::string fewer = error_with(1, 0);
          failures.check(fewer == "the ranks disagree: the number of regions is 1 on rank 1, 2 on ranks 0, 2", fewer);
          const std::string none = error_with(0, 0);
          failures.check(none.find("the number of regions is 0 on rank 1, 2 on ranks 0, 2") != std::string::npos, none);
          const std::string other = error_with(1, 1);
          failures.check(other.find("the region's first element is 0 on ranks 0, 2, 10 on rank 1") != std::string::npos,
                         other);
          failures.check(error_with(2, 0).empty(), "the next call fails");
        }) == "");
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
            static_cast<void>(sparse_allreduce<float>(transport, good, {.algorithm = "dsar-early-switch(2)"}));
          });
          failed.check(
              error ==
                  "ranks 0-5: algorithm is dsar-early-switch(2), expected two or more ranks a group that make the "
                  "number of groups a power of two, of 6 ranks",
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
