// SparCML's dynamic sparse allreduce, as it is a rival of Ok-Topk ("TopkDSA"): Li and Hoefler, "Near-Optimal Sparse
// Allreduce for Distributed Deep Learning" (2022), sections 2 and 5.
//
//   1. Split: every rank gets what all hold of its region of N/P elements, and adds it in the order of ranks, from its
//      own on and round, while later parts travel.
//   2. Every rank looks which form of its sum is smaller; everybody gets the sums of all regions.
//
// Unlike ssar-split-allgather, what a sum holds decides, not what its parts could have held. Cost, k elements of each
// rank: P - 1 messages, log2 P with lengths and the allgather's; 2 k (P-1)/P words in step 1, and in step 2 from
// 2 k (P-1)/P, if all indices are the same, to N (P-1)/P.
#include "algorithms/sparse/gather_regions.hpp"

namespace dsop::sparse {
namespace {

AllgatherProblem blocks(const SparseProblem& problem, double) {
  return region_blocks(problem, expected_in_region(problem));
}

template <class T>
SparseVectorView<T> smaller_form(const SparseVectorView<T>& x, std::span<T> memory) {
  const std::size_t count = x.dense() ? count_nonzeros(x.values) : 0;
  if (!x.dense() || count > most_indices<T>(x.dimension)) return x;
  return compress(x.values, reinterpret_cast<Index*>(memory.data() + count), memory.data());
}

template <class T>
void run(SparseCall<T>& call) {
  const SparseProblem& problem = call.plan.problem;
  const SplitAndGatherMemory<T> memory(call.memory, problem);
  RunningSum<T> own_region = sum_of_own_region(call, memory);
  split(call.transport, problem, call.own, memory.split, own_region);
  gather_regions(call, smaller_form(own_region.sum(), own_region.other()), memory.gather);
}

Cost cost(const SparseAlgorithm&, const SparseProblem& problem, const Machine& machine, double) {
  return one_after_the_other(split_cost(problem, network_of(problem, machine), expected_part(problem, problem.ranks())),
                             gather_regions_cost(problem, machine, expected_in_region(problem)));
}

}  // namespace

SparseAlgorithm topk_dsa() {
  return {.name = "topk-dsa",
          .summary = "everybody sums a region, then allgather of each sum in the form that turns out smaller",
          .source = "Li and Hoefler 2022 (Ok-Topk), TopkDSA; Renggli 2017 (SparCML), section 3.3",
          .sends_bf16 = true,
          .cost = cost,
          .blocks = blocks,
          .workspace_bytes = counted<SplitAndGatherMemory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sparse
