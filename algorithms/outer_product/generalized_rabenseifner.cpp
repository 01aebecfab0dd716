// Generalized Rabenseifner: the contribution of the DSOP paper (Enderlin et al. 2021).
//
//   1. Ring allgather of all factors.
//   2. Rank r makes its block of rows of G, sizes differing by at most one row.
//   3. Ring allgather of the blocks of rows.
//
// An element is computed by one rank and sent to the others. The rings keep the volume least for every P.
// Cost: 2 (P-1) messages; (P-1) k (n+m) + (P-1)/P n m words; 2 k n m flops.
#include "kernels/outer_product.hpp"
#include "outer_product/gather_factors.hpp"
#include "patterns/blocks.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const int r = call.transport.rank();
  const Blocks rows(G.rows, call.transport.size());
  const Factors<T> all = gather_factors(call);

  kernels::product<T>(all.a.column_range(rows.offset(r), rows.size(r)), all.b,
                      G.row_range(rows.offset(r), rows.size(r)), call.scale, false);
  patterns::ring_allgather(call.transport, r, [&](int owner) {
    return std::span<T>(G.row_range(rows.offset(owner), rows.size(owner)).data, rows.size(owner) * G.columns);
  });
}

Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine) {
  const std::size_t n = problem.rows;
  const std::size_t m = problem.columns;
  const int P = problem.ranks();
  const std::size_t K = problem.total_pairs();
  const Blocks rows(n, P);

  Cost cost;
  cost.flops = 2 * static_cast<double>(K) * static_cast<double>(rows.largest()) * static_cast<double>(m);
  cost.arithmetic_seconds = machine.product_seconds(static_cast<double>(rows.largest()), static_cast<double>(m),
                                                    static_cast<double>(K), problem.type);
  if (P == 1) return cost;
  cost.messages = 2 * static_cast<std::size_t>(P - 1);
  std::size_t most_elements = 0;  // rank r - 1 keeps back the pairs and the rows of rank r
  for (int r = 0; r < P; ++r)
    most_elements =
        std::max(most_elements, (K - problem.pairs[static_cast<std::size_t>(r)]) * (n + m) + (n - rows.size(r)) * m);
  cost.bytes = most_elements * bytes_of(problem.type);
  cost.communication_seconds =
      (P - 1) * (machine.message_seconds(problem.largest_pairs() * (n + m) * bytes_of(problem.type)) +
                 machine.message_seconds(rows.largest() * m * bytes_of(problem.type)));
  return cost;
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner() {
  return {.name = "generalized-rabenseifner",
          .summary = "everybody gets all factors, makes its rows of G, and sends them round",
          .source = "Enderlin et al. 2021 (DSOP), the paper's contribution",
          .cost = cost,
          .workspace_elements = [](const OuterProductAlgorithm&,
                                   const Problem& problem) { return gathered_elements(problem); },
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::outer_product
