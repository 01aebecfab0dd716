// Selections whose exact sum everybody gets: what frameworks do, and what ok-topk and gtopk are measured against.
//
//   1. Every rank selects about k of its values.
//   2. An exact sparse allreduce of what they have selected.
//
//   topk         the k largest; the allreduce that is cheapest for so many. topk(ALGORITHM) names it: topk(allgather)
//                and topk(topk-dsa) are TopkA and TopkDSA in Li and Hoefler, section 2
//   gaussian-k   by a threshold for normal values, then allgather: "GaussianK" in Li and Hoefler, "Near-Optimal Sparse
//                Allreduce for Distributed Deep Learning" (2022), section 5
//   expected-k, expected-k-clipped, expected-k-threshold
//                a random choice; the allreduce that is cheapest for so many
//   ...-per-bucket
//                each of these with the selection made inside buckets: see selection/per_bucket.cpp
//
// The residual is what was not selected, or was rounded off. Cost: the selection's and the allreduce's.
#include <algorithm>

#include "algorithms/selection/algorithm.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/residual.hpp"

namespace dsop::topk {
namespace {

bool some_choice_is_dense(const SparseProblem& problem) {
  const auto is_dense = [](std::size_t nonzeros) { return nonzeros == Sparsity::dense; };
  return std::any_of(problem.nonzeros.begin(), problem.nonzeros.end(), is_dense);
}

template <class T>
struct Memory {
  Memory(Arena& arena, const TopKPlan& plan)
      : own_in_full(arena.take<T>(some_choice_is_dense(plan.exact.problem) ? plan.problem.elements : 0)),
        exact(arena.take<std::byte>(plan.exact.workspace_bytes)) {}
  std::span<T> own_in_full;
  std::span<std::byte> exact;
};

template <class T>
void run(TopKCall<T>& call) {
  const SparsePlan& exact = call.plan.exact;
  const Memory<T> memory(call.memory, call.plan);
  const Wire wire = exact.problem.wire;
  const bool larger_sparse = call.own.indices.size() > sparse::most_indices<T>(call.own.dimension, wire);
  const SparseVectorView<T> own = larger_sparse ? sparse::expand(call.own, memory.own_in_full) : call.own;
  Arena memory_of_sum(memory.exact);
  SparseCall<T> sum{call.transport, exact, own, call.result, memory_of_sum, call.exchange};
  exact.algorithm->run(sum);
  call.sum = sum.sum;
  leave_out(call.values, call.took_part, wire);
}

TopKAlgorithm named(std::string name, std::string summary, std::string source, std::string selection,
                    std::string exact_sum = "auto") {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .source = std::move(source),
          .selection = std::move(selection),
          .exact_sum = std::move(exact_sum),
          .cost = [](const TopKPlan& plan, const Machine&) { return plan.exact.cost(); },
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

TopKAlgorithm per_bucket(TopKAlgorithm algorithm) {
  algorithm.name += "-per-bucket";
  algorithm.summary = "inside buckets of so many elements, k in all: " + algorithm.summary;
  algorithm.source = "Renggli 2017 (SparCML's thesis), section 4.3.3";
  algorithm.selection += "-per-bucket";
  algorithm.parameter = selection_algorithms().find(algorithm.selection)->parameter;
  return algorithm;
}

}  // namespace

std::vector<TopKAlgorithm> exact_sums() {
  std::vector<TopKAlgorithm> all{
      named("topk", "everybody's k largest, summed exactly by whatever is cheapest", "Aji and Heafield 2017, section 3",
            "exact"),
      named("gaussian-k", "what reaches a threshold for normal values, gathered and added by all",
            "Shi et al. 2019 (GaussianK), as run by Li and Hoefler 2022", "gaussian", "allgather"),
      named("expected-k", "a random choice of which k are expected, summed exactly by whatever is cheapest",
            "Renggli 2017 (SparCML's thesis), section 2.4.1", "expected-k"),
      named("expected-k-clipped",
            "a random choice of which at most k are expected, summed exactly by whatever is cheapest",
            "Renggli 2017 (SparCML's thesis), section 2.4.1", "expected-k-clipped"),
      named("expected-k-threshold",
            "a random choice of which k are expected, certain above a threshold, summed exactly by whatever is "
            "cheapest",
            "Wangni et al. 2018, greedy algorithm", "expected-k-threshold"),
  };
  for (std::size_t of_vectors = all.size(), i = 0; i < of_vectors; ++i) all.push_back(per_bucket(all[i]));
  return all;
}

}  // namespace dsop::topk
