// Generalized Rabenseifner in groups: a variant that the DSOP paper (Enderlin et al. 2021) tried.
//
//   The P ranks form groups of g consecutive ones.
//   1. Allgather of all factors among all ranks.
//   2. Within a group, rank i of g makes block i of g of the rows of G. All groups do the same.
//   3. Allgather of the blocks of rows within the group.
//
// Less gradient travels, and not far, for more product: g = P is Generalized Rabenseifner, g = 1 the allgather of
// factors. P / g ranks compute the same element, in the same way (the plan's shared_method).
// Cost: that of two allgathers, (P-1) k (n+m) + (g-1)/g n m words; 2 P k n m / g flops.
#include <cmath>

#include "algorithms/outer_product/owners_cost.hpp"
#include "transport/subset.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

template <class T>
struct Memory : GatheredPairs<T> {
  Memory(Arena& arena, const Problem& problem, double g)
      : GatheredPairs<T>(arena, problem, Blocks(problem.rows, static_cast<int>(g)).largest()) {}
};

template <class T>
void run(OuterProductCall<T>& call) {
  const MatrixView<T> G = call.gradient;
  const auto g = static_cast<int>(call.plan.parameter);
  const int i = call.transport.rank() % g;
  const Blocks rows(G.rows, g);
  const Memory<T> memory(call.memory, call.plan.problem, call.plan.parameter);
  const Pairs<T> all = gather_pairs(call, memory);

  product<T>(call, all, rows.offset(i), G.row_range(rows.offset(i), rows.size(i)), 0, call.plan.shared_method);
  const int first = call.transport.rank() - i;
  Subset group(call.transport, i, g, [first](int rank) { return first + rank; });
  allgather(group, call.plan.gradient, std::span(G.data, G.rows * G.columns));
}

AllgatherProblem gradient_blocks(const Problem& problem, double g) {
  AllgatherProblem blocks = row_blocks(problem, problem.rows, static_cast<int>(g));
  blocks.native_collectives = false;  // MPI's own would be all ranks'
  return blocks;
}

Cost cost(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine, double g) {
  return owners_cost(self, problem, machine, static_cast<int>(g));
}

std::string expected(double g, const OuterProductAlgorithm&, const Problem& problem) {
  const bool divides = g >= 1 && g <= problem.ranks() && g == std::floor(g) && std::fmod(problem.ranks(), g) == 0;
  return divides ? "" : "a divisor of the number of ranks, " + std::to_string(problem.ranks());
}

// What lies between the allgather and Generalized Rabenseifner, or the latter where nothing does.
std::vector<double> values(const OuterProductAlgorithm&, const Problem& problem) {
  std::vector<double> sizes;
  for (int g = 2; g < problem.ranks(); ++g)
    if (problem.ranks() % g == 0) sizes.push_back(g);
  if (sizes.empty()) sizes.push_back(problem.ranks());
  return sizes;
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner_subgroup() {
  return {.name = "generalized-rabenseifner-subgroup",
          .summary = "the same, with owners in each group of ranks: less gradient travels, more is computed",
          .source = "Enderlin et al. 2021 (DSOP), subgroup variant",
          .takes_sparse = true,
          .parameter = {.name = "number of ranks in a group", .values = values, .expected = expected},
          .cost = cost,
          .gradient_blocks = gradient_blocks,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::outer_product
