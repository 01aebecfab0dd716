// Split and dense allgather: Renggli, "Efficient Sparse AllReduce For Scalable Machine Learning" (2017),
// section 3.3 (DSAR_Split_allgather).
//
//   1. Split: every rank gets what all hold of its region of N/P elements, and adds it, dense, in the order of ranks,
//      from its own on and round, while later parts travel.
//   2. Dense allgather of the regions, each at its place in the result.
//
// Cost, k elements of each rank: P - 1 messages and the allgather's; 2 k (P-1)/P words in step 1, N (P-1)/P in step 2.
#include "algorithms/sparse/gather_dense.hpp"
#include "algorithms/sparse/split.hpp"

namespace dsop::sparse {
namespace {

AllgatherProblem blocks(const SparseProblem& problem, double) {
  const Blocks regions(problem.elements, problem.ranks());
  return dense_blocks(problem, [&](int q) { return regions.offset(q); });
}

template <class T>
struct Memory {
  Memory(Arena& arena, const SparseProblem& problem, double = 0)
      : phase(arena.mark()),
        split(arena, split_of(problem, problem.ranks(), problem.largest_nonzeros())),
        gather(gather_dense_memory(arena.rewind(phase), problem)) {}
  std::size_t phase;  ///< where the memory of each phase begins that follows
  SplitMemory<T> split;
  std::span<kernels::Bf16> gather;
};

template <class T>
void run(SparseCall<T>& call) {
  const SparseProblem& problem = call.plan.problem;
  const Memory<T> memory(call.memory, problem);
  const Blocks regions(problem.elements, call.transport.size());
  const std::span<T> x = regions.of(call.result.first(problem.elements), call.transport.rank());
  RunningSum<T> own_region(x.size(), 0, x, {});
  split(call.transport, problem, call.own, memory.split, own_region);
  gather_dense(call, memory.gather);
}

Cost cost(const SparsePlan& plan, const Machine& machine) {
  const SparseProblem& problem = plan.problem;
  Cost gather = cost_of(plan.exchange, machine);
  gather.arithmetic_seconds =
      machine.memory_seconds(static_cast<double>(largest_region(problem, problem.ranks()) * bytes_of(problem.type))) +
      conversion_seconds(problem, machine, 0, static_cast<double>(problem.elements));
  return one_after_the_other(split_cost(problem, machine), gather);
}

}  // namespace

SparseAlgorithm dsar_split_allgather() {
  return {.name = "dsar-split-allgather",
          .summary = "everybody sums a region, then dense allgather; for sums that become dense",
          .source = "Renggli 2017 (SparCML), section 3.3",
          .makes_dense = true,
          .sends_bf16 = true,
          .exchange = blocks,
          .cost = cost,
          .workspace_bytes = counted<Memory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sparse
