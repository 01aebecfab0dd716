// Dense allreduce of a sparse vector, zeros too: what pays when most elements are there. Over any dense algorithm.
//
//   1. Every rank writes out its vector.
//   2. The vectors are summed as dense ones.
//
// Where the dense algorithm asks for it, a rank writes out only what it sends first, and adds its elements, without the
// zeros, to what comes. Cost: that of the dense algorithm for N elements, and one pass over them, or over N/P.
#include <algorithm>

#include "algorithms/sparse/expected.hpp"
#include "kernels/add.hpp"

namespace dsop::sparse {
namespace {

DenseProblem vector_of(const SparseProblem& problem) {
  return {.elements = problem.elements,
          .ranks = problem.ranks(),
          .type = problem.type,
          .group = problem.group,
          .wire = problem.wire};
}

bool asks_for_sums(const SparsePlan& plan) {
  return plan.algorithm->dense->asks_for_sums && plan.problem.wire == Wire::full;
}

template <class T>
void run(SparseCall<T>& call) {
  const SparsePlan& plan = call.plan;
  const std::span<T> x = call.result.first(call.own.dimension);
  const auto add = [&](std::span<T> to) {
    const SparseVectorView<T> own = part(call.own, {static_cast<std::size_t>(to.data() - x.data()), to.size()});
    if (own.dense()) return kernels::add<T>(to, to, own.values);
    add_scaled<T>(x, T{1}, {x.size(), own.indices, own.values});
  };
  const auto make = [&](std::span<T> to) {
    std::fill(to.begin(), to.end(), T{0});
    add(to);
  };
  DenseCall<T> sum{call.transport, x, call.memory, plan.parameter};
  if (asks_for_sums(plan)) {
    sum.make = make;
    sum.add = add;
  } else {
    expand(call.own, x);
  }
  call.sum = {x.size(), {}, x};
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (plan.problem.wire == Wire::bf16) return plan.algorithm->dense->run_bf16(sum);
  plan.algorithm->dense->run(sum);
}

Cost cost(const SparsePlan& plan, const Machine& machine) {
  const SparseProblem& problem = plan.problem;
  Cost cost = plan.algorithm->dense->cost(vector_of(problem), machine, plan.parameter);
  const std::size_t parts = asks_for_sums(plan) ? problem.nonzeros.size() : 1;
  cost.arithmetic_seconds +=
      machine.memory_seconds(static_cast<double>(problem.elements / parts * bytes_of(problem.type)));
  return cost;
}

std::size_t workspace_bytes(const SparsePlan& plan) {
  return plan.algorithm->dense->workspace_bytes(vector_of(plan.problem), plan.parameter);
}

}  // namespace

SparseAlgorithm dense_over(const DenseAlgorithm& dense) {
  return {.name = "dense-" + dense.name,
          .summary = "written out with all zeros, then " + dense.summary,
          .source = dense.source,
          .other_name = dense.other_name.empty() ? "" : "dense-" + dense.other_name,
          .dense = &dense,
          .makes_dense = true,
          .needed_lead = dense.needed_lead,
          .sends_bf16 = dense.run_bf16 != nullptr,
          .unsupported = [](const SparseAlgorithm& self,
                            const SparseProblem& problem) { return self.dense->unsupported(vector_of(problem)); },
          .parameter = {.name = dense.parameter.name,
                        .values =
                            [](const SparseAlgorithm& self, const SparseProblem& problem) {
                              return self.dense->parameter.values(vector_of(problem));
                            },
                        .expected =
                            [](double value, const SparseAlgorithm& self, const SparseProblem& problem) {
                              return self.dense->parameter.expected(value, vector_of(problem));
                            }},
          .cost = cost,
          .workspace_bytes = workspace_bytes,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sparse
