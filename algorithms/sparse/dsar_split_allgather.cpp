// Split and dense allgather: Renggli, "SparCML: High-Performance Sparse Communication for Machine Learning" (2017),
// section 3.3 (DSAR_Split_allgather).
//
//   1. Split: every rank gets what all hold of its region of N/P elements, and adds it, dense, in the order of ranks,
//      from its own on and round, while later parts travel.
//   2. Dense allgather of the regions, each at its place in the result.
//
// Cost, k elements of each rank: 2 (P-1) messages, half of them lengths, and the allgather's; 2 k (P-1)/P words in step
// 1, N (P-1)/P in step 2.
#include "kernels/bf16.hpp"
#include "sparse/gather_regions.hpp"

namespace dsop::sparse {
namespace {

AllgatherProblem blocks(const SparseProblem& problem, double) {
  const Blocks regions(problem.elements, problem.ranks());
  AllgatherProblem blocks{{0}, problem.native_collectives};
  for (int q = 0; q < problem.ranks(); ++q)
    blocks.bounds_bytes.push_back(regions.offset(q + 1) * bytes_on_wire(problem));
  return blocks;
}

template <class X>
void gather(const SparseCall<X>& call, std::span<std::byte> regions) {
  AllgatherCall exchange{call.transport, regions, call.blocks};
  call.plan.exchange->run(exchange);
}

// As bf16 every rank, the region's owner too, ends with the rounded values.
void gather_bf16(const SparseCall<float>& call, std::span<float> result, const Blocks& regions) {
  const std::span<kernels::Bf16> wire = Room(call.workspace).take<kernels::Bf16>(result.size());
  const int r = call.transport.rank();
  kernels::round_to_bf16(regions.of(wire, r), regions.of(std::span<const float>(result), r));
  gather(call, std::as_writable_bytes(wire));
  kernels::widen(result, wire);
}

template <class T>
void run(SparseCall<T>& call) {
  const SparseProblem& problem = call.plan.problem;
  const int P = call.transport.size();
  const Blocks regions(problem.elements, P);
  for (int q = 0; q <= P; ++q)
    call.blocks.bounds_bytes[static_cast<std::size_t>(q)] = regions.offset(q) * bytes_on_wire(problem);
  const std::span<T> result = call.result.first(problem.elements);
  const std::span<T> x = regions.of(result, call.transport.rank());
  RunningSum<T> own_region(x.size(), 0, x, {});
  split(call.transport, problem, call.own, Room(call.workspace), own_region);
  call.sum = {result.size(), {}, result};
  if constexpr (std::is_same_v<T, float>)
    if (problem.wire == Wire::bf16) return gather_bf16(call, result, regions);
  gather(call, std::as_writable_bytes(result));
}

Cost cost(const SparseAlgorithm&, const SparseProblem& problem, const Machine& machine, double) {
  const AllgatherProblem regions = blocks(problem, 0);
  const AllgatherAlgorithm& exchange = cheapest_allgather(regions, machine);
  Cost gather;
  for (int r = 0; r < problem.ranks(); ++r) gather.raise_to(exchange.sent(regions, r));
  gather.communication_seconds = exchange.seconds(regions, machine);
  gather.arithmetic_seconds =
      machine.memory_seconds(static_cast<double>(largest_region(problem, problem.ranks()) * bytes_of(problem.type))) +
      conversion_seconds(problem, machine, 0, static_cast<double>(problem.elements));
  return one_after_the_other(split_cost(problem, machine, problem.ranks()), gather);
}

}  // namespace

SparseAlgorithm dsar_split_allgather() {
  return {.name = "dsar-split-allgather",
          .summary = "everybody sums a region, then dense allgather; for sums that become dense",
          .source = "Renggli 2017 (SparCML), section 3.3",
          .makes_dense = true,
          .sends_bf16 = true,
          .cost = cost,
          .blocks = blocks,
          .workspace_bytes =
              [](const SparseAlgorithm&, const SparseProblem& problem, double) {
                return std::max(split_bytes(problem, problem.ranks()),
                                Room::bytes<kernels::Bf16>(widened_elements(problem, problem.elements)));
              },
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::sparse
