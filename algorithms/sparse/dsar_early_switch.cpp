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
#include "algorithms/sparse/early_switch_cost.hpp"
#include "algorithms/sparse/split.hpp"
#include "patterns/recursive_halving.hpp"
#include "transport/subset.hpp"

namespace dsop::sparse {
namespace {

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
  gather_dense(
      call, [&](int q) { return groups.offset(q); }, memory.gather);
}

AllgatherProblem blocks(const SparseProblem& problem, double ranks_a_group) {
  const Groups groups(problem, ranks_a_group);
  return dense_blocks(problem, [&](int q) { return groups.offset(q); });
}

Cost cost(const SparseAlgorithm&, const SparseProblem& problem, const Machine& machine, double ranks_a_group) {
  return early_switch_cost(problem, machine, Groups(problem, ranks_a_group), blocks(problem, ranks_a_group));
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
          .cost = cost,
          .blocks = blocks,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sparse
