// What steps take of memory is what was counted for them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "algorithms/dense/operation.hpp"
#include "algorithms/outer_product/operation.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/split_and_reduce.hpp"
#include "collectives_cases.hpp"
#include "failures.hpp"
#include "memory/arena.hpp"
#include "memory/workspace.hpp"
#include "outer_product_cases.hpp"
#include "patterns/blocks.hpp"
#include "sparse/factor.hpp"
#include "sparse_allreduce_cases.hpp"
#include "topk_cases.hpp"

using namespace dsop;
using namespace dsop::tests;

namespace {

/// Runs a step on P ranks, each with an arena of more than was counted. Returns the most that a rank has taken.
std::size_t most_taken(int P, std::size_t counted_for_it, const std::function<void(Transport&, Arena&)>& step) {
  std::mutex mutex;
  std::size_t most = 0;
  run_on_threads(P, [&](Transport& transport) {
    Workspace<std::byte> workspace;
    workspace.resize(counted_for_it + 4096);
    Arena memory(workspace.elements());
    step(transport, memory);
    const std::lock_guard lock(mutex);
    most = std::max(most, memory.bytes());
  });
  return most;
}

template <class T>
void run_dense(const DensePlan& plan, DenseCall<T>& call) {
  if constexpr (std::is_same_v<T, float>)
    if (plan.problem.wire == Wire::bf16) return plan.algorithm->run_bf16(call);
  plan.algorithm->run(call);
}

template <class T>
void check_dense_memory(const Family& family, const DenseProblem& problem, const std::string& name) {
  const DensePlan plan = make_dense_plan(family.algorithms, problem, Machine{}, name);
  const std::size_t taken = most_taken(problem.ranks, plan.workspace_bytes, [&](Transport& transport, Arena& memory) {
    std::vector<T> data(problem.elements);
    DenseCall<T> call{transport, data, memory, plan.parameter};
    run_dense(plan, call);
  });
  INFO(family.name << ' ' << name << ", P = " << problem.ranks << ", " << problem.elements << " elements, wire "
                   << dsop::name(problem.wire));
  CHECK(taken == plan.workspace_bytes);
}

template <class T>
void check_outer_product_memory(const Case& c, Problem problem, const std::string& algorithm) {
  const int P = problem.ranks();
  std::vector<CaseFactors<T>> factors;
  for (int q = 0; q < P; ++q) factors.emplace_back(c, q);
  if (c.form != Form::dense)
    for (const CaseFactors<T>& own : factors)
      problem.sparsity.push_back({sparse::elements_to_send(own.given().a, true, problem.factor_wire),
                                  sparse::elements_to_send(own.given().b, true, problem.factor_wire)});
  const Plan plan = make_plan(problem, Machine{}, algorithm);
  const std::size_t expanded_pairs =
      c.form != Form::dense && plan.problem.sparsity.empty() ? plan.problem.largest_pairs() : 0;
  const std::size_t counted = outer_product::workspace_bytes(plan, expanded_pairs);
  const std::size_t taken = most_taken(P, counted, [&](Transport& transport, Arena& memory) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    const std::size_t rows = problem.sharded ? plan.row_bounds[rank + 1] - plan.row_bounds[rank] : c.n;
    std::vector<T> gradient(rows * c.m);
    const SparseFactors<T> given = factors[rank].given();
    const outer_product::CallMemory<T> own(memory, plan, expanded_pairs);
    OuterProductCall<T> call{
        transport,
        plan,
        expanded_pairs > 0 ? Factors<T>{outer_product::in_full(given.a, own.a), outer_product::in_full(given.b, own.b)}
                           : factors[rank].dense(),
        MatrixView<T>(own.sum.empty() ? gradient.data() : own.sum.data(), rows, c.m),
        T{1},
        false,
        memory,
        plan.problem.sparsity.empty() ? nullptr : &given};
    plan.algorithm->run(call);
  });
  INFO(algorithm << ", P = " << P << ", " << c.text() << ", wire " << name(problem.wire));
  CHECK(taken == counted);
  CHECK((counted == plan.workspace_bytes) == (expanded_pairs == 0));
}

template <class T>
void check_sparse_memory(int P, const SparseCase& c, Wire wire) {
  SparseProblem problem{.elements = c.dimension, .type = data_type<T>, .wire = wire};
  for (int q = 0; q < P; ++q) {
    const std::size_t k = SparseInput<T>(c, q, P).view().indices.size();
    problem.nonzeros.push_back(k <= sparse::most_indices<T>(c.dimension, wire) ? k : Sparsity::dense);
  }
  for (const std::string& algorithm : sparse_names(P, wire)) {
    const SparsePlan plan = make_sparse_plan(problem, Machine{}, algorithm);
    const std::size_t taken = most_taken(P, plan.workspace_bytes, [&](Transport& transport, Arena& memory) {
      const SparseInput<T> own(c, transport.rank(), P);
      const std::vector<T> full = in_full(own.view());
      const bool dense = problem.nonzeros[static_cast<std::size_t>(transport.rank())] == Sparsity::dense;
      std::vector<T> result(plan.result_bytes / sizeof(T));
      Exchange exchange = plan.exchange;
      SparseCall<T> call{transport, plan,   dense ? SparseVectorView<T>{c.dimension, {}, full} : own.view(),
                         result,    memory, exchange};
      plan.algorithm->run(call);
    });
    INFO(algorithm << " " << name(problem.type) << ", P = " << P << ", " << c.text() << ", wire " << name(wire));
    CHECK(taken == plan.workspace_bytes);
  }
}

/// A rank's choice of k elements: every third, from its rank on.
template <class T>
struct Choice {
  Choice(std::size_t elements, std::size_t k, int rank) : values(elements) {
    for (std::size_t e = 0; e < k; ++e) {
      indices.push_back(static_cast<std::uint32_t>(std::min(3 * e + static_cast<std::size_t>(rank), elements - k + e)));
      values[indices.back()] = static_cast<T>(1 + e % 7);
      chosen.push_back(values[indices.back()]);
    }
  }
  std::vector<T> values;
  std::vector<std::uint32_t> indices;
  std::vector<T> chosen;
};

template <class T>
void check_topk_memory(const TopKProblem& problem, const std::string& algorithm) {
  const std::vector<std::size_t> chosen(static_cast<std::size_t>(problem.ranks), problem.k);
  const TopKPlan plan = make_topk_plan(problem, Machine{}, parse_topk(algorithm), chosen);
  const std::size_t taken = most_taken(problem.ranks, plan.workspace_bytes, [&](Transport& transport, Arena& memory) {
    TopKState state;
    selection::Memory<T> selection;
    selection::reserve_cut(std::min(topk::reduced_elements(plan), problem.elements), selection);
    Exchange exchange = plan.exact.algorithm == nullptr ? plan.exchange : plan.exact.exchange;
    for (; state.selection.step < 3; ++state.selection.step) {
      Choice<T> own(problem.elements, problem.k, transport.rank());
      std::vector<T> result(plan.result_bytes / sizeof(T));
      const std::size_t before = memory.mark();
      TopKCall<T> call{transport,   plan,     own.values, {problem.elements, own.indices, own.chosen},
                       own.indices, state,    result,     memory,
                       exchange,    selection};
      plan.algorithm->run(call);
      memory.rewind(before);
    }
  });
  INFO(algorithm << " " << name(problem.type) << ", P = " << problem.ranks << ", " << problem.elements
                 << " elements, k = " << problem.k << ", wire " << name(problem.wire));
  CHECK(taken == plan.workspace_bytes);
}

}  // namespace

TEST_CASE("an arena gives pieces at cache lines, counts the same without memory, and overlays phases", "[memory]") {
  Workspace<std::byte> workspace;
  workspace.resize(1000);
  Arena counting;
  Arena real(workspace.elements());
  for (Arena* const arena : {&counting, &real}) {
    CHECK(arena->take<char>(1).size() == 1);
    CHECK(arena->take<double>(0).empty());
    CHECK(arena->bytes() == 1);
    CHECK(arena->take<double>(3).size() == 3);
    CHECK(arena->bytes() == 64 + 24);
    const std::size_t mark = arena->mark();
    CHECK(arena->take<int>(100).size() == 100);
    CHECK(arena->bytes() == 128 + 400);
    CHECK(arena->rewind(mark).take<int>(5).size() == 5);
    CHECK(arena->bytes() == 128 + 400);
    CHECK(arena->take<char>(1000 - 192).size() == 1000 - 192);
    CHECK(arena->bytes() == 1000);
  }
  const std::size_t mark = real.rewind(0).mark();
  const auto first = real.take<char>(1);
  const auto second = real.take<char>(1);
  CHECK(reinterpret_cast<std::byte*>(first.data()) == workspace.elements().data());
  CHECK(second.data() == first.data() + 64);
  CHECK(real.rewind(mark).take<char>(7).data() == first.data());
}

TEST_CASE("a piece that does not fit, and memory that begins elsewhere, are found where arenas check", "[memory]") {
  if (!Arena::checks) return;
  Workspace<std::byte> workspace;
  workspace.resize(128);
  Arena arena(workspace.elements());
  arena.take<std::byte>(65);
  CHECK_THROWS_WITH(arena.take<std::byte>(1), "an arena's pieces take 129 bytes, and it has 128");
  CHECK_THROWS_WITH(Arena(workspace.elements().subspan(8)), "an arena's memory does not begin at a cache line");
}

TEST_CASE("every collective on dense vectors takes the memory that was counted", "[memory]") {
  const int P = GENERATE(2, 3, 5, 8);
  for (const Family& family : families())
    for (const std::size_t size : {std::size_t{1}, static_cast<std::size_t>(P) + 1, std::size_t{1001}})
      for (const Wire wire : {Wire::full, Wire::bf16})
        for (const DataType type : {DataType::f32, DataType::f64}) {
          const DenseProblem problem{.elements = size, .ranks = P, .type = type, .wire = wire};
          for (const std::string& name : usable_names(family, problem)) {
            const DenseAlgorithm* const algorithm = family.algorithms.find(name.substr(0, name.find('(')));
            if (algorithm == nullptr) continue;
            if (wire == Wire::bf16 && (algorithm->run_bf16 == nullptr || type == DataType::f64)) continue;
            type == DataType::f32 ? check_dense_memory<float>(family, problem, name)
                                  : check_dense_memory<double>(family, problem, name);
          }
        }
}

TEST_CASE("every outer product takes the memory that was counted", "[memory]") {
  const int P = GENERATE(2, 3, 6);
  const auto ranks = static_cast<std::size_t>(P);
  std::vector<std::size_t> unequal(ranks, 2);
  unequal[ranks - 1] = 7;
  unequal[0] = 0;
  const std::vector<Case> cases{{67, 45, std::vector<std::size_t>(ranks, 3), 1, false, 0},
                                {5, 300, unequal, 1, false, 0},
                                {200, 90, unequal, 1, false, 0, {0.05, 0.1}, Form::mixed},
                                {90, 200, unequal, 1, false, 0, {0.4, 0.4}, Form::sparse}};
  for (const Case& c : cases)
    for (const auto& [wire, factor_wire] :
         {std::pair(Wire::full, Wire::full), std::pair(Wire::bf16, Wire::full), std::pair(Wire::full, Wire::bf16)})
      for (const bool sharded : {false, true}) {
        Problem problem{.rows = c.n, .columns = c.m, .pairs = c.pairs, .wire = wire, .factor_wire = factor_wire};
        problem.sharded = sharded;
        if (P > 2) problem.group.nodes = nodes_of_two(P);
        problem.staged_result = !sharded && c.pairs == unequal;
        std::vector<std::string> names = usable_algorithms(problem);
        if (sharded) {
          names.clear();
          for (const OuterProductAlgorithm& algorithm : sharded_algorithms()) names.push_back(algorithm.name);
        }
        for (const std::string& name : names) {
          check_outer_product_memory<float>(c, problem, name);
          if (wire == Wire::bf16 || factor_wire == Wire::bf16) continue;
          problem.type = DataType::f64;
          check_outer_product_memory<double>(c, problem, name);
          problem.type = DataType::f32;
        }
      }
}

TEST_CASE("a gradient that is made aside is counted with what its algorithm takes", "[memory]") {
  Problem problem{.rows = 5, .columns = 5, .pairs = {2, 2}};
  const std::size_t alone = make_plan(problem, Machine{}, "generalized-rabenseifner").workspace_bytes;
  CHECK(alone == 4 * 10 * sizeof(float));
  problem.staged_result = true;
  CHECK(make_plan(problem, Machine{}, "generalized-rabenseifner").workspace_bytes == 128 + alone);
  CHECK(make_plan(problem, Machine{}, "allgather").workspace_bytes == alone);
}

TEST_CASE("a gradient is made aside by algorithms that send it, and by no others", "[memory]") {
  const int P = GENERATE(2, 6);
  Problem problem{.rows = 67, .columns = 45, .pairs = std::vector<std::size_t>(static_cast<std::size_t>(P), 3)};
  if (P > 2) problem.group.nodes = nodes_of_two(P);
  Problem staged = problem;
  staged.staged_result = true;
  for (const std::string& name : usable_algorithms(problem)) {
    const Plan plan = make_plan(problem, Machine{}, name);
    INFO(name << ", P = " << P);
    CHECK((make_plan(staged, Machine{}, name).workspace_bytes > plan.workspace_bytes) ==
          plan.algorithm->sends_gradient);
  }
}

TEST_CASE("every sparse allreduce takes the memory that was counted", "[memory]") {
  const int P = GENERATE(2, 3, 5, 8);
  for (const SparseCase& c : sparse_allreduce_cases(P)) {
    if (c.dimension == 0) continue;
    check_sparse_memory<float>(P, c, Wire::full);
    check_sparse_memory<float>(P, c, Wire::bf16);
    check_sparse_memory<double>(P, c, Wire::full);
  }
}

TEST_CASE("every top-k allreduce takes the memory that was counted", "[memory]") {
  const int P = GENERATE(2, 3, 5, 8);
  struct Size {
    std::size_t elements;
    std::size_t k;
  };
  for (const Size& size : {Size{1, 1}, Size{11, 3}, Size{1000, 30}, Size{300, 200}})
    for (const Wire wire : {Wire::full, Wire::bf16})
      for (const std::string& algorithm : topk_names(wire)) {
        TopKProblem problem{.elements = size.elements, .k = size.k, .ranks = P, .wire = wire};
        check_topk_memory<float>(problem, algorithm);
        if (wire == Wire::bf16) continue;
        problem.type = DataType::f64;
        check_topk_memory<double>(problem, algorithm);
      }
}
