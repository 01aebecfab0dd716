// Allreduce of the gradient: what frameworks do, over any dense algorithm. DSOP paper, the allreduce baselines.
//
//   1. Every rank makes its own A_r^T B_r.
//   2. The matrices are summed as vectors of n m elements.
//
// Cost: that of the dense algorithm for n m elements, and 2 k n m flops.
#include <type_traits>

#include "outer_product/pairs.hpp"

namespace dsop::outer_product {
namespace {

DenseProblem vector_of(const Problem& problem) {
  return {problem.rows * problem.columns, problem.ranks(), problem.type, problem.native_collectives, problem.wire};
}

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  product<T>(call, own_pairs(call), 0, G, false);
  const DenseAlgorithm& dense = *call.plan.algorithm->dense;
  const std::size_t elements = dense.workspace_elements(vector_of(call.plan.problem), call.plan.parameter);
  DenseCall<T> sum{call.transport, std::span<T>(G.data, G.rows * G.columns), call.workspace.first(elements),
                   call.plan.parameter};
  if constexpr (std::is_same_v<T, float>)
    if (call.plan.problem.wire == Wire::bf16) return dense.run_bf16(sum);
  dense.run(sum);
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double parameter) {
  double flops = 0;
  double seconds = 0;
  for (int r = 0; r < problem.ranks(); ++r) {
    const LocalProduct product(problem, r, 1);
    flops = std::max(flops, product.flops(problem.rows));
    seconds = std::max(seconds, product.seconds(machine, problem.rows));
  }
  Cost cost = self.dense->cost(vector_of(problem), machine, parameter);
  cost.flops += flops;
  cost.arithmetic_seconds += seconds;
  return cost;
}

// The streams' memory is free again when the sum begins.
std::size_t workspace_elements(const OuterProductAlgorithm& self, const Problem& problem, double parameter) {
  std::size_t elements = self.dense->workspace_elements(vector_of(problem), parameter);
  for (int r = 0; r < problem.ranks() && !problem.sparsity.empty(); ++r)
    elements = std::max(elements, LocalProduct(problem, r, 1).workspace_elements(problem.rows));
  return elements;
}

}  // namespace

OuterProductAlgorithm allreduce_over(const DenseAlgorithm& dense) {
  return {
      .name = "allreduce-" + dense.name,
      .summary = "own product, then " + dense.summary,
      .source = dense.source,
      .dense = &dense,
      .takes_sparse = true,
      .sends_bf16 = dense.run_bf16 != nullptr,
      .unsupported = [](const OuterProductAlgorithm& self,
                        const Problem& problem) { return self.dense->unsupported(vector_of(problem)); },
      .parameter = {
          .name = dense.parameter.name,
          .values = [](const OuterProductAlgorithm& self,
                       const Problem& problem) { return self.dense->parameter.values(vector_of(problem)); },
          .expected = [](double value, const OuterProductAlgorithm& self,
                         const Problem& problem) { return self.dense->parameter.expected(value, vector_of(problem)); }},
      .cost = cost,
      .workspace_elements = workspace_elements,
      .run = {run<float>, run<double>}};
}

}  // namespace dsop::outer_product
