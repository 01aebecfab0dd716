// What the sparse allreduces send, counted, beside their formulas and the papers'.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include <dsop/counting.hpp>

#include "memory/workspace.hpp"
#include "sparse/wire.hpp"
#include "sparse_allreduce_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

struct Counted {
  std::string algorithm;
  Cost stated;
  Traffic busiest = {};
};

// The largest numbers over ranks of what each algorithm sends when its plan expects the overlap that there is.
std::vector<Counted> count(int P, const SparseCase& c, const std::vector<std::string>& algorithms, Overlap overlap,
                           Failures& failures, Wire wire = Wire::full) {
  const SparseProblem problem{.elements = c.dimension,
                              .nonzeros = std::vector<std::size_t>(static_cast<std::size_t>(P), c.nonzeros),
                              .overlap = overlap,
                              .wire = wire};
  std::vector<SparsePlan> plans;
  std::vector<Counted> counted;
  for (const std::string& algorithm : algorithms) {
    plans.push_back(make_sparse_plan(problem, Machine{}, algorithm));
    counted.push_back({algorithm, plans.back().cost()});
  }
  std::vector<float> expected(c.dimension);
  for (int q = 0; q < P; ++q) SparseInput<float>(c, q, P).add_to(expected);
  std::mutex mutex;
  run_on_threads(P, [&](Transport& threads) {
    const SparseInput<float> own(c, threads.rank(), P);
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
      CountingTransport transport(threads);
      std::vector<float> result(plans[a].result_bytes / sizeof(float));
      Workspace<std::byte> workspace;
      workspace.resize(plans[a].workspace_bytes);
      Arena memory(workspace.elements());
      Exchange exchange = plans[a].exchange;
      SparseCall<float> call{transport, plans[a], own.view(), result, memory, exchange};
      plans[a].algorithm->run(call);
      failures.check(in_full(call.sum) == expected, algorithms[a] + " is wrong");
      const std::lock_guard lock(mutex);
      counted[a].busiest.raise_to(transport.payload());
    }
  });
  return counted;
}

// By 4 P, and by the ranks of each group that is tried.
std::size_t least_divisible(int P) {
  const auto ranks = static_cast<std::size_t>(P);
  std::size_t multiple = 4 * ranks;
  for (const std::string& name : sparse_names(P))
    if (const std::size_t bracket = name.find('('); bracket != std::string::npos)
      multiple = std::lcm(multiple, std::min(std::stoul(name.substr(bracket + 1)), ranks));
  return multiple;
}

}  // namespace

TEST_CASE("every sparse allreduce sends the messages and bytes that its formula states", "[sparse]") {
  const int P = GENERATE(2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17);
  const std::size_t k = least_divisible(P);
  struct Job {
    SparseCase c;
    Overlap overlap;
  };
  for (const Job& job : {Job{{64 * k, k, Spread::same}, Overlap::full}, Job{{64 * k, k, Spread::apart}, Overlap::none},
                         Job{{4 * k, k, Spread::same}, Overlap::full}, Job{{3 * k, k, Spread::same}, Overlap::full},
                         Job{{20 * k, k, Spread::apart}, Overlap::none}})
    for (const Wire wire : {Wire::full, Wire::bf16}) {
      if (k > sparse::most_indices<float>(job.c.dimension, wire)) continue;  // would be handed over dense
      Failures failures;
      for (const auto& [algorithm, stated, busiest] :
           count(P, job.c, sparse_names(P, wire), job.overlap, failures, wire)) {
        INFO(algorithm << ", P = " << P << ", wire " << name(wire) << ", " << job.c.text());
        CHECK(busiest.messages == stated.messages);
        CHECK(busiest.bytes == stated.bytes);
      }
      INFO("P = " << P << ", wire " << name(wire) << ", " << job.c.text());
      CHECK(failures.text() == "");
    }
}

TEST_CASE("every sparse allreduce keeps to the memory that its plan states", "[sparse]") {
  const int P = GENERATE(2, 3, 5, 8, 13);
  constexpr std::size_t behind = 1024;
  for (const SparseCase& c : sparse_allreduce_cases(P))
    for (const Wire wire : {Wire::full, Wire::bf16}) {
      SparseProblem problem{.elements = c.dimension, .wire = wire};
      for (int q = 0; q < P; ++q) {
        const std::size_t k = SparseInput<float>(c, q, P).view().indices.size();
        problem.nonzeros.push_back(k <= sparse::most_indices<float>(c.dimension, wire) ? k : Sparsity::dense);
      }
      std::vector<SparsePlan> plans;
      for (const std::string& algorithm : sparse_names(P, wire))
        plans.push_back(make_sparse_plan(problem, Machine{}, algorithm));
      INFO("P = " << P << ", wire " << name(wire) << ", " << c.text());
      CHECK(failures_on_threads(P, [&](Transport& transport, Failures& failures) {
              const SparseInput<float> own(c, transport.rank(), P);
              const std::vector<float> in_full_own = in_full(own.view());
              const bool dense = problem.nonzeros[static_cast<std::size_t>(transport.rank())] == Sparsity::dense;
              for (const SparsePlan& plan : plans) {
                std::vector<float> result(plan.result_bytes / sizeof(float) + behind, 0.5F);
                Workspace<std::byte> workspace;
                workspace.resize(plan.workspace_bytes + behind);
                const std::span<std::byte> unused = workspace.elements().subspan(plan.workspace_bytes);
                std::fill(unused.begin(), unused.end(), std::byte{77});
                Arena memory(workspace.elements().first(plan.workspace_bytes));
                Exchange exchange = plan.exchange;
                SparseCall<float> call{transport,
                                       plan,
                                       dense ? SparseVectorView<float>{c.dimension, {}, in_full_own} : own.view(),
                                       std::span(result).first(result.size() - behind),
                                       memory,
                                       exchange};
                plan.algorithm->run(call);
                failures.check(std::count(result.end() - behind, result.end(), 0.5F) == behind &&
                                   std::count(unused.begin(), unused.end(), std::byte{77}) == behind,
                               plan.algorithm->name + " wrote more");
              }
            }) == "");
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
    const auto words = [&](const std::string& algorithm, Overlap overlap, std::size_t headers,
                           std::size_t lengths = 0) {
      const SparseCase c{N, k, overlap == Overlap::full ? Spread::same : Spread::apart};
      const std::size_t bytes = count(P, c, {algorithm}, overlap, failures).front().busiest.bytes;
      return (bytes - 32 * headers - 8 * lengths) / sizeof(float);
    };
    const std::size_t others = ranks - 1;
    const auto rounds = static_cast<std::size_t>(std::log2(P));
    CHECK(words("allgather", Overlap::none, others) == 2 * k * others);
    CHECK(words("ssar-recursive-doubling", Overlap::full, rounds) == 2 * k * rounds);
    CHECK(words("ssar-recursive-doubling", Overlap::none, rounds) == 2 * k * others);
    CHECK(words("ssar-split-allgather", Overlap::full, 2 * others, others) == 4 * k * others / ranks);
    CHECK(words("ssar-split-allgather", Overlap::none, 2 * others, others) == 2 * k * others / ranks + 2 * k * others);
    CHECK(words("dsar-split-allgather", Overlap::full, others) == 2 * k * others / ranks + N * others / ranks);
    CHECK(failures.text() == "");
  }
}
