// Split and sparse allgather: Renggli, "Efficient Sparse AllReduce For Scalable Machine Learning" (2017),
// section 3.3 (SSAR_Split_allgather).
//
//   1. Split: every rank gets what all hold of its region of N/P elements, and adds it in the order of ranks, from its
//      own on and round, while later parts travel.
//   2. Sparse allgather: everybody gets the sums of all regions, as many bytes of each as there are.
//
// A region's sum is dense where its parts together are larger than that. Cost, k elements of each rank: P - 1
// messages, log2 P with lengths and the allgather's; 2 k (P-1)/P words in step 1, and in step 2 as many if all indices
// are the same, 2 k (P-1) if none are.
#include "algorithms/sparse/gather_regions.hpp"

namespace dsop::sparse {
namespace {

// Elements of a region's sum, as expected: dense where the parts may be too many, whatever they have in common.
std::size_t expected_elements(const SparseProblem& problem) {
  const std::size_t region = largest_region(problem, problem.ranks());
  const std::size_t part = expected_part(problem, problem.ranks());
  const bool sparse = problem.nonzeros.size() * part <= most_summed(problem, region);
  return sparse ? expected_in_region(problem) : Sparsity::dense;
}

AllgatherProblem blocks(const SparseProblem& problem, double) {
  return region_blocks(problem, expected_elements(problem));
}

template <class T>
void run(SparseCall<T>& call) {
  const SparseProblem& problem = call.plan.problem;
  const SplitAndGatherMemory<T> memory(call.memory, problem);
  RunningSum<T> own_region = sum_of_own_region(call, memory);
  split(call.transport, problem, call.own, memory.split, own_region);
  gather_regions(call, own_region.sum(), memory.gather);
}

Cost cost(const SparseAlgorithm&, const SparseProblem& problem, const Machine& machine, double) {
  return one_after_the_other(split_cost(problem, network_of(problem, machine), expected_part(problem, problem.ranks())),
                             gather_regions_cost(problem, machine, expected_elements(problem)));
}

}  // namespace

SparseAlgorithm ssar_split_allgather() {
  return {.name = "ssar-split-allgather",
          .summary = "everybody sums a region, then sparse allgather of the sums; for sums that stay sparse",
          .source = "Renggli 2017 (SparCML), section 3.3",
          .sends_bf16 = true,
          .cost = cost,
          .blocks = blocks,
          .workspace_bytes = counted<SplitAndGatherMemory>,
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::sparse
