// Split within groups, dense from there: Renggli, "Efficient Sparse AllReduce For Scalable Machine Learning" (2017),
// section 3.3.4 (early switching).
//
//   1. Split within C groups of g ranks, C a power of two: each rank gets what the group holds of its region of N/g
//      elements, and adds it as dsar-split-allgather does. Each of the P - gC ranks beyond has handed its vector to one
//      of theirs before, which has added it to its own.
//   2. Reduce-scatter by recursive halving among the C ranks, one a group, that have the same region: partners at
//      distance C/2, ..., 1 swap the halves of what they still hold and add.
//   3. Dense allgather of all blocks of N/gC elements, each at its place in the result, among all P.
//
// Fewer messages than a split among all ranks, which is g = P. Cost, k elements of each rank: g - 1 messages, log2 C
// and the allgather's; 2 k (g-1)/g words in step 1, N/g (1 - 1/C) in step 2, N (P-1)/gC in step 3. Where there are
// ranks beyond, a wait for 2 k words before, and up to twice as many in step 1.
//
// As bf16 an element is rounded in step 1, up to log2 C times in step 2, and in step 3; from a rank beyond once more.
#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/dense/halving_cost.hpp"
#include "algorithms/sparse/fold.hpp"
#include "algorithms/sparse/gather_dense.hpp"
#include "algorithms/sparse/split.hpp"
#include "patterns/recursive_halving.hpp"
#include "transport/subset.hpp"

namespace dsop::sparse {
namespace {

/// C groups of g ranks, C the largest power of two that P has room for; the ranks beyond are their extras. Each rank of
/// a group has a region of N/g elements, and of that a block of N/gC: the first C ranks have the first region, and so
/// on, so that blocks lie in the order of ranks. Extras have none.
struct Groups {
  /// Groups of more ranks than there are: one of all.
  Groups(const SparseProblem& problem, double ranks_a_group)
      : P(problem.ranks()),
        g(static_cast<int>(std::min<double>(ranks_a_group, P))),
        C(patterns::Hypercube(0, P / g).corners),
        regions(problem.elements, g) {}

  patterns::Corners corners(int rank) const { return {rank, P, g * C}; }
  int extras() const { return P - g * C; }
  int position(int rank) const { return rank / C; }  ///< in its group, and of its region
  int group(int rank) const { return rank % C; }
  patterns::Blocks blocks(int position) const { return {regions.size(position), C}; }
  /// Each rank's node, group by group, and region by region, as patterns::Network takes teams; `nodes` as in Problem.
  std::vector<int> nodes_by_group(const std::vector<int>& nodes) const {
    std::vector<int> sorted;
    for (int c = 0; c < C; ++c)
      for (int i = 0; i < g; ++i) sorted.push_back(node(nodes, i * C + c));
    return sorted;
  }
  std::vector<int> nodes_by_region(const std::vector<int>& nodes) const {
    std::vector<int> sorted;
    for (int r = 0; r < g * C; ++r) sorted.push_back(node(nodes, r));
    return sorted;
  }
  /// Of a rank's block, in elements; for P all.
  std::size_t offset(int rank) const {
    if (rank >= g * C) return regions.offset(g);
    return regions.offset(position(rank)) + blocks(position(rank)).offset(group(rank));
  }

  int P;
  int g;
  int C;
  patterns::Blocks regions;

 private:
  static int node(const std::vector<int>& nodes, int rank) {
    return nodes.empty() ? rank : nodes[static_cast<std::size_t>(rank)];
  }
};

// The most elements of a vector that is split, or Sparsity::dense.
std::size_t most_held(const SparseProblem& problem, const Groups& groups) {
  return groups.extras() > 0 ? most_folded(problem) : problem.largest_nonzeros();
}

template <class T>
struct Memory {
  Memory(Arena& arena, const SparseProblem& problem, double ranks_a_group)
      : Memory(arena, problem, Groups(problem, ranks_a_group)) {}
  Memory(Arena& arena, const SparseProblem& problem, const Groups& groups)
      : folded(arena.take<T>(groups.extras() > 0 ? folded_elements(problem) : 0)),
        phase(arena.mark()),
        fold(arena, problem),
        split(arena.rewind(phase), split_of(problem, groups.g, most_held(problem, groups))),
        halving(arena.rewind(phase).take<T>(problem.wire == Wire::full ? groups.regions.largest() : 0)),
        halving_bf16(arena.take<kernels::Bf16>(widened_elements(problem, groups.regions.largest()))),
        gather(gather_dense_memory(arena.rewind(phase), problem)) {}
  std::span<T> folded;
  std::size_t phase;  ///< where the memory of each phase begins that follows
  FoldMemory<T> fold;
  SplitMemory<T> split;
  std::span<T> halving;
  std::span<kernels::Bf16> halving_bf16;
  std::span<kernels::Bf16> gather;
};

template <class T>
void sum_own_block(SparseCall<T>& call, const Groups& groups, const SparseVectorView<T>& own, const Memory<T>& memory) {
  const SparseProblem& problem = call.plan.problem;
  const int position = groups.position(call.transport.rank());
  const int group = groups.group(call.transport.rank());
  const std::span<T> x = groups.regions.of(call.result.first(problem.elements), position);

  Subset members(call.transport, position, groups.g, [&](int i) { return i * groups.C + group; });
  RunningSum<T> own_region(x.size(), 0, x, {});
  if (groups.g == 1)
    expand(own, x);
  else
    split(members, problem, own, memory.split, own_region);

  Subset peers(call.transport, group, groups.C, [&](int i) { return position * groups.C + i; });
  const Blocks blocks = groups.blocks(position);
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (problem.wire == Wire::bf16)
      return patterns::recursive_halving_bf16(peers, groups.C, blocks, x, memory.halving_bf16);
  patterns::recursive_halving(peers, groups.C, blocks, x, memory.halving);
}

template <class T>
void run(SparseCall<T>& call) {
  const SparseProblem& problem = call.plan.problem;
  const Groups groups(problem, call.plan.parameter);
  const patterns::Corners rank = groups.corners(call.transport.rank());
  const Memory<T> memory(call.memory, problem, groups);
  const SparseVectorView<T> own = fold(call, rank, memory.fold, memory.folded);
  if (!rank.is_extra()) sum_own_block(call, groups, own, memory);
  gather_dense(call, memory.gather);
}

AllgatherProblem blocks(const SparseProblem& problem, double ranks_a_group) {
  const Groups groups(problem, ranks_a_group);
  return dense_blocks(problem, [&](int q) { return groups.offset(q); });
}

Cost cost(const SparsePlan& plan, const Machine& machine) {
  const SparseProblem& problem = plan.problem;
  const Groups groups(problem, plan.parameter);
  const patterns::Network within_groups(machine, groups.nodes_by_group(problem.group.nodes), groups.g);
  const patterns::Network between_groups(machine, groups.nodes_by_region(problem.group.nodes), groups.C);
  const auto split_of = [&](std::size_t held) {
    const std::size_t part = held == Sparsity::dense ? held : whole(static_cast<double>(held) / groups.g);
    return split_cost(problem, within_groups, part);
  };
  const std::size_t k = whole(problem.expected_union(1));
  const Cost without_extra = split_of(k);
  const bool folds = groups.extras() > 0;
  const Cost with_extra = folds ? split_of(expected_folded(problem)) : without_extra;
  const dense::HalvingCost halving{groups.blocks(0), groups.C, bytes_on_wire(problem)};

  Cost cost = folds ? fold_cost(problem, machine, groups.g * groups.C) : Cost();
  for (int r = 0; r < groups.P; ++r) {
    const patterns::Corners rank = groups.corners(r);
    const Cost& own_split = rank.has_extra() ? with_extra : without_extra;
    const Traffic before = rank.is_extra()
                               ? Traffic{1, packed_bytes(problem, problem.elements, k)}
                               : Traffic{own_split.messages, own_split.bytes} + halving.sent(groups.group(r));
    cost.raise_to(before + plan.exchange.algorithm->sent(plan.exchange.problem, r));
  }
  // The share of the first group's ranks that have extras.
  const double share = std::ceil(static_cast<double>(groups.extras()) / groups.C) / groups.g;
  cost.flops += std::lerp(without_extra.flops, with_extra.flops, share) + halving.additions();
  cost.communication_seconds += with_extra.communication_seconds + halving.communication_seconds(between_groups) +
                                plan.exchange.algorithm->seconds(plan.exchange.problem, machine);
  cost.arithmetic_seconds +=
      std::lerp(without_extra.arithmetic_seconds, with_extra.arithmetic_seconds, share) +
      machine.addition_seconds(halving.additions(), problem.type) +
      machine.memory_seconds(static_cast<double>(groups.regions.largest() * bytes_of(problem.type))) +
      conversion_seconds(problem, machine, halving.additions(),
                         halving.additions() + static_cast<double>(problem.elements));
  return cost;
}

// The largest for each number of groups.
std::vector<double> values(const SparseAlgorithm&, const SparseProblem& problem) {
  std::vector<double> sizes{static_cast<double>(problem.ranks())};
  for (int C = 2; problem.ranks() / C > 1; C *= 2) sizes.push_back(problem.ranks() / C);
  return sizes;
}

}  // namespace

SparseAlgorithm dsar_early_switch() {
  return {.name = "dsar-early-switch",
          .summary = "the same within groups, then recursive halving between them; fewer messages",
          .source = "Renggli 2017 (SparCML), section 3.3.4",
          .makes_dense = true,
          .sends_bf16 = true,
          .parameter = {.name = "ranks a group", .values = values, .expected = whole_number},
          .exchange = blocks,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sparse
