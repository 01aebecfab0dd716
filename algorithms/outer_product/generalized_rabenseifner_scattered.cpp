// Generalized Rabenseifner in which a rank gets only the parts of the factors that it needs: the "all-scatter" of the
// DSOP paper's future work (Enderlin et al. 2021), with owners in a grid of p_r x p_c = P blocks of G.
//
//   1. Rank (i, j) gets the columns of block i of all A, and those of block j of all B, straight from their ranks.
//   2. It computes its block of G.
//   3. Allgather of the blocks. Where they are not whole rows (p_c > 1) they are made, and travel, packed.
//   4. Packed blocks are copied to their places in G.
//
// An element is computed by one rank and sent to the others.
// Cost: P - 1 messages and those of the allgather; about k (P-1) (n/p_r + m/p_c) + (P-1)/P n m words; 2 k n m flops.
#include "algorithms/outer_product/scatter_factors.hpp"
#include "kernels/copy.hpp"
#include "kernels/outer_product.hpp"

namespace dsop::outer_product {
namespace {

Grid grid_of(const Problem& problem, double p_r) {
  return {problem.rows, problem.columns, problem.ranks(), static_cast<int>(p_r)};
}

std::size_t packed_elements(const Problem& problem, const Grid& grid) {
  return grid.width() > 1 ? problem.rows * problem.columns : 0;
}

template <class T>
struct Memory {
  Memory(Arena& arena, const Problem& problem, double p_r)
      : scattered(arena, problem, grid_of(problem, p_r)),
        packed(arena.take<T>(packed_elements(problem, grid_of(problem, p_r)))),
        wire(wire_memory(arena, problem.wire, problem.rows * problem.columns)) {}
  ScatteredFactors<T> scattered;
  std::span<T> packed;
  std::span<kernels::Bf16> wire;
};

template <class T>
void run(OuterProductCall<T>& call, double p_r) {
  const Problem& problem = call.plan.problem;
  const MatrixView<T> G = call.gradient;
  const Grid grid = grid_of(problem, p_r);
  const Memory<T> memory(call.memory, problem, p_r);
  const bool packed = !memory.packed.empty();
  const std::span<T> parts = packed ? memory.packed : std::span<T>(G.data, G.rows * G.columns);
  const auto part = [&](int r) {
    const std::size_t offset =
        call.plan.gradient.problem.bounds_bytes[static_cast<std::size_t>(r)] / bytes_on_wire(problem);
    return MatrixView<T>(parts.data() + offset, grid.rows(r), grid.columns(r));
  };

  const Factors<T> needed = scatter_factors(call, grid, memory.scattered);
  kernels::product<T>(needed.a, needed.b, part(call.transport.rank()), call.scale, 0);
  share_parts(call.transport, call.plan.gradient, parts, memory.wire);
  for (int r = 0; packed && r < problem.ranks(); ++r)
    kernels::copy<T>(part(r),
                     G.row_range(grid.first_row(r), grid.rows(r)).column_range(grid.first_column(r), grid.columns(r)));
}

Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double p_r) {
  const Grid grid = grid_of(problem, p_r);
  const auto part_bytes = [&](int r) { return grid.rows(r) * grid.columns(r) * bytes_on_wire(problem); };
  return {.gradient = exchange_of_parts(self, blocks_of(problem.group, problem.ranks(), part_bytes), machine)};
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double p_r,
          const Exchanges& exchanges) {
  const Grid grid = grid_of(problem, p_r);
  const auto K = static_cast<double>(problem.total_pairs());
  const auto rows = static_cast<double>(grid.most_rows());
  const auto columns = static_cast<double>(grid.most_columns());
  const auto copied_bytes = static_cast<double>(packed_elements(problem, grid) * bytes_of(problem.type));

  Cost cost;
  for (int r = 0; r < problem.ranks(); ++r)
    cost.raise_to(scattered_by(problem, grid, r) + sent_by(r, exchanges.gradient));
  cost.flops = 2 * K * rows * columns;
  cost.communication_seconds = scatter_seconds(problem, grid, machine) + seconds(exchanges.gradient, machine);
  cost.arithmetic_seconds =
      machine.product_seconds(rows, columns, K, problem.type) + machine.memory_seconds(2 * copied_bytes) +
      scatter_conversion_seconds(problem, grid, machine) + parts_conversion_seconds(problem, exchanges, machine);
  return cost;
}

std::vector<double> values(const OuterProductAlgorithm&, const Problem& problem) {
  return divisors_of(problem.ranks());
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner_scattered() {
  return {.name = "generalized-rabenseifner-scattered",
          .summary = "the same in a grid of owners, each of which gets only the parts of the factors that it needs",
          .source = "Enderlin et al. 2021 (DSOP), future work (all-scatter)",
          .sends_bf16 = true,
          .parameter = {.name = "rows of the grid of owners", .values = values, .expected = expected_divisor},
          .exchanges = exchanges,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call, call.plan.parameter); }};
}

}  // namespace dsop::outer_product
