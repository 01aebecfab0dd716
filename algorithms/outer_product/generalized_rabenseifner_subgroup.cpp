// Generalized Rabenseifner in groups: a variant that the authors of the DSOP paper (Enderlin et al. 2021) tried and
// left out of its text.
//
//   The P ranks form groups of g: consecutive ranks or, as in the authors' code, those that are alike modulo the number
//   of groups.
//   1. Allgather of all factors among all ranks.
//   2. Within a group, rank i of g computes block i of g of the rows of G. All groups do the same.
//   3. Allgather of the blocks of rows within the group.
//
// Less gradient travels, for more product: g = P is Generalized Rabenseifner, g = 1 the allgather of factors.
// Consecutive ranks are often near each other; then rows do not go far. P / g ranks compute the same element, in the
// same way (the plan's shared_method).
// Cost: that of two allgathers, (P-1) k (n+m) + (g-1)/g n m words; 2 P k n m / g flops.
#include "algorithms/outer_product/pairs.hpp"
#include "transport/subset.hpp"

namespace dsop::outer_product {
namespace {

using patterns::Blocks;

/// The groups that the ranks form: a group's ranks are `stride` apart.
struct Groups {
  int size;
  int stride;

  /// Rank r's number in its group.
  int place(int r) const { return r / stride % size; }
  int first(int r) const { return r - place(r) * stride; }
};

Groups of_consecutive_ranks(const Problem&, double size) {
  return {static_cast<int>(size), 1};
}

Groups of_ranks_modulo(const Problem& problem, double count) {
  return {problem.ranks() / static_cast<int>(count), static_cast<int>(count)};
}

using GroupsOf = Groups (*)(const Problem&, double parameter);

template <class T>
void run(OuterProductCall<T>& call, const Groups& groups) {
  const MatrixView<T> G = call.gradient;
  const int i = groups.place(call.transport.rank());
  const int first = groups.first(call.transport.rank());
  const Blocks rows(G.rows, groups.size);
  const GatheredPairs<T> memory(call.memory, call.plan.problem, rows.largest());
  const Pairs<T> all = gather_pairs(call, memory);

  product<T>(call, all, rows.offset(i), G.row_range(rows.offset(i), rows.size(i)), 0, call.plan.shared_method);
  Subset group(call.transport, i, groups.size, [&](int j) { return first + j * groups.stride; });
  allgather(group, call.plan.gradient, std::span(G.data, G.rows * G.columns));
}

template <GroupsOf groups_of>
Exchanges exchanges(const OuterProductAlgorithm& self, const Problem& problem, const Machine& machine,
                    double parameter) {
  const Groups groups = groups_of(problem, parameter);
  AllgatherProblem blocks = row_blocks(problem, problem.rows, groups.size);
  const std::vector<int>& nodes = problem.group.nodes;
  const auto node = [&](int r) { return nodes.empty() ? r : nodes[static_cast<std::size_t>(r)]; };
  blocks.group = {};  // MPI's own collectives would be all ranks'
  for (int r = 0; r < problem.ranks(); ++r)
    if (groups.place(r) == 0)
      for (int i = 0; i < groups.size; ++i) blocks.group.nodes.push_back(node(r + i * groups.stride));
  Exchanges made;
  made.factors = exchange_of_factors(self, factor_blocks(problem), machine);
  made.gradient = exchange_of_parts(self, std::move(blocks), machine);
  return made;
}

template <GroupsOf groups_of>
Cost cost(const OuterProductAlgorithm&, const Problem& problem, const Machine& machine, double parameter,
          const Exchanges& exchanges) {
  const Groups groups = groups_of(problem, parameter);
  return cost_of_rows(problem, machine, exchanges, Blocks(problem.rows, groups.size).largest(),
                      [&](int r) { return groups.place(r); });
}

// What lies between the allgather and Generalized Rabenseifner, or the latter where nothing does.
template <GroupsOf groups_of>
std::vector<double> values(const OuterProductAlgorithm&, const Problem& problem) {
  const std::vector<double> divisors = divisors_of(problem.ranks());
  if (divisors.size() > 2) return {divisors.begin() + 1, divisors.end() - 1};
  const bool one_group = groups_of(problem, 1).size == problem.ranks();
  return {one_group ? 1.0 : problem.ranks()};
}

template <GroupsOf groups_of>
std::size_t workspace_bytes(const OuterProductAlgorithm&, const Problem& problem, double parameter) {
  const int owners = groups_of(problem, parameter).size;
  return counted_bytes<GatheredPairs>(problem.type, problem, Blocks(problem.rows, owners).largest());
}

template <GroupsOf groups_of>
OuterProductAlgorithm in_groups(const char* name, const char* summary, const char* source, const char* parameter) {
  return {.name = name,
          .summary = summary,
          .source = source,
          .takes_sparse = true,
          .parameter = {.name = parameter, .values = values<groups_of>, .expected = expected_divisor},
          .exchanges = exchanges<groups_of>,
          .cost = cost<groups_of>,
          .workspace_bytes = workspace_bytes<groups_of>,
          .run = [](auto& call) { run(call, groups_of(call.plan.problem, call.plan.parameter)); }};
}

}  // namespace

OuterProductAlgorithm generalized_rabenseifner_subgroup() {
  return in_groups<of_consecutive_ranks>(
      "generalized-rabenseifner-subgroup",
      "the same, with owners in each group of consecutive ranks: less gradient travels, more is computed",
      "after Enderlin et al. 2021 (DSOP), the authors' subgroup variant", "number of ranks in a group");
}

OuterProductAlgorithm generalized_rabenseifner_strided_subgroup() {
  return in_groups<of_ranks_modulo>(
      "generalized-rabenseifner-strided-subgroup",
      "as generalized-rabenseifner-subgroup, a group being the ranks that are alike modulo the number of groups",
      "Enderlin et al. 2021 (DSOP), the authors' subgroup variant", "number of groups");
}

}  // namespace dsop::outer_product
