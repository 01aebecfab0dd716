// Allreduce of the gradient: what frameworks do, over any dense algorithm. DSOP paper, the allreduce baselines.
//
//   1. Every rank makes its own A_r^T B_r.
//   2. The matrices are summed as vectors of n m elements.
//
// Cost: that of the dense algorithm for n m elements, and 2 k n m flops.
#include "kernels/outer_product.hpp"
#include "outer_product/algorithm.hpp"

namespace dsop::outer_product {
namespace {

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  kernels::product<T>(call.own.a, call.own.b, G, call.scale, false);
  DenseCall<T> sum{call.transport, std::span<T>(G.data, G.rows * G.columns), call.workspace, call.plan.parameter};
  call.plan.algorithm->dense->run(sum);
}

DenseProblem vector_of(const Problem& problem) {
  return {problem.rows * problem.columns, problem.ranks(), problem.type, problem.native_collectives};
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double parameter) {
  const auto n = static_cast<double>(problem.rows);
  const auto m = static_cast<double>(problem.columns);
  const auto k = static_cast<double>(problem.largest_pairs());
  Cost cost = self.dense->cost(vector_of(problem), machine, parameter);
  cost.flops += 2 * k * n * m;
  cost.arithmetic_seconds += machine.product_seconds(n, m, k, problem.type);
  return cost;
}

}  // namespace

OuterProductAlgorithm allreduce_over(const DenseAlgorithm& dense) {
  return {
      .name = "allreduce-" + dense.name,
      .summary = "own product, then " + dense.summary,
      .source = dense.source,
      .dense = &dense,
      .unsupported = [](const OuterProductAlgorithm& self,
                        const Problem& problem) { return self.dense->unsupported(vector_of(problem)); },
      .parameter = {.name = dense.parameter.name,
                    .values = [](const OuterProductAlgorithm& self,
                                 const Problem& problem) { return self.dense->parameter.values(vector_of(problem)); },
                    .expected =
                        [](double value, const OuterProductAlgorithm& self, const Problem& problem) {
                          return self.dense->parameter.expected(value, vector_of(problem));
                        }},
      .cost = cost,
      .workspace_elements =
          [](const OuterProductAlgorithm& self, const Problem& problem, double parameter) {
            return self.dense->workspace_elements(vector_of(problem), parameter);
          },
      .run = {run<float>, run<double>}};
}

}  // namespace dsop::outer_product
