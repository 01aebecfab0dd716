// Generalized Rabenseifner: the contribution of the DSOP paper (Enderlin et al. 2021).
//
//   1. Allgather of all factors.
//   2. Rank r computes its block of rows of G, sizes differing by at most one row.
//   3. Allgather of the blocks of rows.
//
// An element is computed by one rank and sent to the others. The paper calls MPI_Allgather twice, which was neighbor
// exchange in all its runs; here factors are gathered in the cheapest way, rows of G round the ring unless another is
// surely faster.
// Cost: that of two allgathers, (P-1) k (n+m) + (P-1)/P n m words; 2 k n m flops.
#include "algorithms/outer_product/pairs.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

template <class T>
struct Memory {
  Memory(Arena& arena, const Problem& problem, double = 0)
      : pairs(arena, problem, Blocks(problem.rows, problem.ranks()).largest()),
        wire(wire_memory(arena, problem.wire, problem.rows * problem.columns)) {}
  GatheredPairs<T> pairs;
  std::span<kernels::Bf16> wire;
};

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const int r = call.transport.rank();
  const Blocks rows(G.rows, call.transport.size());
  const Memory<T> memory(call.memory, call.plan.problem);
  const Pairs<T> all = gather_pairs(call, memory.pairs);

  product<T>(call, all, rows.offset(r), G.row_range(rows.offset(r), rows.size(r)), 0);
  share_parts(call.transport, call.plan.gradient, std::span<T>(G.data, G.rows * G.columns), memory.wire);
}

Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double) {
  Exchanges made;
  made.factors = exchange_of_factors(self, factor_blocks(problem), machine);
  made.gradient = exchange_of_parts(self, row_blocks(problem, problem.rows, problem.ranks()), machine);
  return made;
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double,
          const Exchanges& exchanges) {
  return cost_of_rows(problem, machine, exchanges, Blocks(problem.rows, problem.ranks()).largest());
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner() {
  return {.name = "generalized-rabenseifner",
          .summary = "everybody gets all factors, computes its rows of G, and sends them round",
          .source = "Enderlin et al. 2021 (DSOP), the paper's contribution",
          .takes_sparse = true,
          .sends_bf16 = true,
          .exchanges = exchanges,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
