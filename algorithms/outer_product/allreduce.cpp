// Allreduce of the gradient: what frameworks do, over any dense algorithm. DSOP paper, the allreduce baselines.
//
//   1. Every rank computes its own A_r^T B_r, at once or part by part when the sum needs them.
//   2. The matrices are summed as vectors of n m elements.
//
// Cost: that of the dense algorithm for n m elements, and 2 k n m flops.

#include "algorithms/outer_product/pairs.hpp"

namespace dsop::outer_product {
namespace {

DenseProblem vector_of(const Problem& problem) {
  return {.elements = problem.rows * problem.columns,
          .ranks = problem.ranks(),
          .type = problem.type,
          .group = problem.group,
          .wire = problem.wire};
}

// The elements of G that `x` covers: up to two parts of rows, and the whole rows between them.
template <class T>
void make_elements(const OuterProductCall<T>& call, std::span<T> x) {
  const MatrixView<T> G = call.gradient;
  const std::size_t m = G.columns;
  const auto begin = static_cast<std::size_t>(x.data() - G.data);
  for (std::size_t done = 0; done < x.size();) {
    const std::size_t row = (begin + done) / m;
    const std::size_t column = (begin + done) % m;
    const std::size_t left = x.size() - done;
    const bool is_whole = column == 0 && left >= m;
    const std::size_t rows = is_whole ? left / m : 1;
    const std::size_t columns = is_whole ? m : std::min(m - column, left);
    kernels::product<T>(call.own.a.column_range(row, rows), call.own.b.column_range(column, columns),
                        G.row_range(row, rows).column_range(column, columns), call.scale, 0);
    done += rows * columns;
  }
}

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const DenseAlgorithm& dense = *call.plan.algorithm->dense;
  const std::size_t phase = call.memory.mark();
  const OwnPairs<T> memory(call.memory, call.plan.problem);
  if (!dense.asks_for_elements) product<T>(call, own_pairs(call, memory), 0, G, 0);

  const auto make = [&](std::span<T> x) { make_elements(call, x); };
  DenseCall<T> sum{call.transport, std::span<T>(G.data, G.rows * G.columns), call.memory.rewind(phase),
                   call.plan.parameter, make};
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (call.plan.problem.wire == Wire::bf16) return dense.run_bf16(sum);
  dense.run(sum);
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double parameter,
          const Exchanges&) {
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
  if (self.dense->asks_for_elements) cost.hide(1 - 1 / parameter, seconds, machine);  // all but the first segment
  return cost;
}

std::size_t workspace_bytes(const OuterProductAlgorithm& self, const Problem& problem, double parameter) {
  return std::max(self.dense->workspace_bytes(vector_of(problem), parameter),
                  counted_bytes<OwnPairs>(problem.type, problem));
}

}  // namespace

OuterProductAlgorithm allreduce_over(const DenseAlgorithm& dense) {
  return {
      .name = "allreduce-" + dense.name,
      .summary = "own product, then " + dense.summary,
      .source = dense.source,
      .other_name = dense.other_name.empty() ? "" : "allreduce-" + dense.other_name,
      .dense = &dense,
      .sends_factors = false,
      .takes_sparse = !dense.asks_for_elements,
      .sends_bf16 = dense.run_bf16 != nullptr,
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
      .workspace_bytes = workspace_bytes,
      .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
