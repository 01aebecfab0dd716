// The step with which several algorithms end: every rank has the sum of its region, and everybody gets all of them.
#pragma once

#include <bit>
#include <numeric>

#include "algorithms/sparse/split.hpp"
#include "algorithms/sparse/unknown_length.hpp"
#include "patterns/bruck_allgather.hpp"
#include "patterns/steps.hpp"

namespace dsop::sparse {

/// Whether all pairs of index and value together are so few that no region becomes dense.
inline bool stays_sparse(const SparseProblem& problem) {
  const std::size_t smallest = problem.elements / problem.nonzeros.size();
  const std::size_t most = most_summed(problem, smallest);
  return most > 0 && problem.total_nonzeros() <= most;
}

inline std::size_t most_gathered_bytes(const SparseProblem& problem) {
  return packed_parts_bytes(problem.elements, stays_sparse(problem) ? problem.total_nonzeros() : Sparsity::dense,
                            problem.type, problem.wire, problem.ranks());
}

inline std::size_t most_widened(const SparseProblem& problem) {
  return widened_elements(problem, stays_sparse(problem) ? problem.total_nonzeros() : problem.elements);
}

template <class T>
struct GatherRegionsMemory {
  GatherRegionsMemory(Arena& arena, const SparseProblem& problem)
      : parts(arena.take<SparseVectorView<T>>(problem.nonzeros.size())),
        lengths(arena.take<std::size_t>(problem.nonzeros.size())),
        gathered(arena.take<std::byte>(most_gathered_bytes(problem))),
        widened(arena.take<T>(most_widened(problem))) {}
  std::span<SparseVectorView<T>> parts;
  std::span<std::size_t> lengths;
  std::span<std::byte> gathered;
  std::span<T> widened;
};

/// Memory for the sum of a region, in elements: for all of it, or for all pairs where it stays sparse.
inline std::size_t region_sum_elements(const SparseProblem& problem) {
  if (!stays_sparse(problem)) return largest_region(problem, problem.ranks());
  return values_for_pairs(problem.total_nonzeros(), problem.type);
}

/// Of an algorithm that splits, sums its region and gathers the sums.
template <class T>
struct SplitAndGatherMemory {
  SplitAndGatherMemory(Arena& arena, const SparseProblem& problem, double = 0)
      : sum(arena.take<T>(region_sum_elements(problem))),
        other_sum(arena.take<T>(region_sum_elements(problem))),
        phase(arena.mark()),
        split(arena, split_of(problem, problem.ranks(), problem.largest_nonzeros())),
        gather(arena.rewind(phase), problem) {}
  std::span<T> sum;  ///< of the own region, made in the two by turns
  std::span<T> other_sum;
  std::size_t phase;  ///< where the memory of each phase begins that follows
  SplitMemory<T> split;
  GatherRegionsMemory<T> gather;
};

/// To be filled by split(): sparse where its parts together are no larger and no slower to add so.
template <class T>
RunningSum<T> sum_of_own_region(const SparseCall<T>& call, const SplitAndGatherMemory<T>& memory) {
  const SparseProblem& problem = call.plan.problem;
  const std::size_t size = Blocks(problem.elements, problem.ranks()).size(call.transport.rank());
  return {size, most_summed(problem, size), memory.sum, memory.other_sum};
}

/// Makes the call's sum of all ranks' regions, each in whichever form it has.
template <class T>
void gather_regions(SparseCall<T>& call, const SparseVectorView<T>& own_region, GatherRegionsMemory<T> memory) {
  const SparseProblem& problem = call.plan.problem;
  const int P = call.transport.size();
  const Blocks regions(call.own.dimension, P);
  const auto from_its_first = [&](int q) { return Region{0, regions.size(q)}; };
  auto& [parts, lengths, gathered, widened] = memory;

  const int r = call.transport.rank();
  lengths[static_cast<std::size_t>(r)] = packed_bytes(own_region, from_its_first(r), problem.wire);
  patterns::bruck_allgather(call.transport, lengths, Tag::payload);
  std::partial_sum(lengths.begin(), lengths.end(), call.blocks.bounds_bytes.begin() + 1);
  const std::size_t total = call.blocks.total_bytes();
  if (total > gathered.size()) refuse_length(total, gathered.size());

  AllgatherCall exchange{call.transport, gathered.first(total), call.blocks};
  pack(own_region, from_its_first(r), exchange.blocks(r), problem.wire);
  call.plan.exchange->run(exchange);
  for (int q = 0; q < P; ++q)
    parts[static_cast<std::size_t>(q)] = unpack<T>(exchange.blocks(q), from_its_first(q), problem.wire, widened);
  call.sum = concatenate<T>(parts, call.result);
}

/// Blocks of P ranks of so many bytes each.
inline AllgatherProblem equal_blocks(const SparseProblem& problem, std::size_t bytes) {
  return blocks_of(problem.group, problem.ranks(), [&](int) { return bytes; });
}

/// Of regions that have so many elements each, or Sparsity::dense.
inline AllgatherProblem region_blocks(const SparseProblem& problem, std::size_t elements) {
  return equal_blocks(problem, packed_bytes(problem, largest_region(problem, problem.ranks()), elements));
}

/// ceil(log2 P) messages with lengths, and the allgather.
inline Cost gather_regions_cost(const SparseProblem& problem, const Machine& machine, std::size_t elements) {
  const int P = problem.ranks();
  const AllgatherProblem blocks = region_blocks(problem, elements);
  const AllgatherAlgorithm& exchange = cheapest_allgather(blocks, machine);
  const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(P - 1)));
  Cost cost;
  for (int r = 0; r < P; ++r)
    cost.raise_to(exchange.sent(blocks, r) + Traffic{rounds, static_cast<std::size_t>(P - 1) * length_bytes});
  cost.communication_seconds =
      patterns::bruck_seconds(network_of(problem, machine), length_bytes) + exchange.seconds(blocks, machine);
  const double each = stored(elements, largest_region(problem, P));
  cost.arithmetic_seconds = machine.memory_seconds(4 * static_cast<double>(blocks.total_bytes())) +  // copied twice
                            conversion_seconds(problem, machine, each, P * each);
  return cost;
}

}  // namespace dsop::sparse
