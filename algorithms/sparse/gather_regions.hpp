// The step with which several algorithms end: every rank has the sum of its region, and everybody gets all of them.
#pragma once

#include <bit>

#include "algorithms/sparse/split.hpp"
#include "patterns/bruck_allgather.hpp"

namespace dsop::sparse {

/// Whether all pairs of index and value together are so few that no region becomes dense.
inline bool stays_sparse(const SparseProblem& problem) {
  const std::size_t smallest = problem.elements / problem.nonzeros.size();
  const std::size_t most = most_summed(problem, smallest);
  return most > 0 && problem.total_nonzeros() <= most;
}

inline std::size_t most_gathered_bytes(const SparseProblem& problem) {
  return packed_parts_bytes(problem, stays_sparse(problem) ? problem.total_nonzeros() : Sparsity::dense,
                            problem.ranks());
}

inline std::size_t most_widened(const SparseProblem& problem) {
  return widened_elements(problem, stays_sparse(problem) ? problem.total_nonzeros() : problem.elements);
}

inline std::size_t gather_regions_bytes(const SparseProblem& problem) {
  return Room::bytes<Stream<double>>(problem.nonzeros.size()) + Room::bytes<std::size_t>(problem.nonzeros.size()) +
         Room::bytes<std::byte>(most_gathered_bytes(problem)) + Room::bytes<float>(most_widened(problem));
}

/// Memory for the sum of a region, in elements: for all of it, or for all pairs where it stays sparse.
inline std::size_t region_sum_elements(const SparseProblem& problem) {
  if (!stays_sparse(problem)) return largest_region(problem, problem.ranks());
  return values_for_pairs(problem.total_nonzeros(), problem.type);
}

inline std::size_t region_sum_bytes(const SparseProblem& problem) {
  return 2 * Room::bytes<std::byte>(region_sum_elements(problem) * bytes_of(problem.type));
}

/// To be filled by split(): sparse where its parts together are no larger and no slower to add so. Takes
/// region_sum_bytes() of `room`.
template <class T>
RunningSum<T> sum_of_own_region(const SparseCall<T>& call, Room& room) {
  const SparseProblem& problem = call.plan.problem;
  const std::size_t size = Blocks(problem.elements, problem.ranks()).size(call.transport.rank());
  const std::span<T> memory = room.take<T>(region_sum_elements(problem));
  const std::span<T> other = room.take<T>(region_sum_elements(problem));
  return {size, most_summed(problem, size), memory, other};
}

/// What split() and gather_regions() take between them, with the sum of the own region.
inline std::size_t split_and_gather_bytes(const SparseProblem& problem) {
  return region_sum_bytes(problem) +
         std::max(split_bytes(problem, problem.ranks(), problem.largest_nonzeros()), gather_regions_bytes(problem));
}

/// Makes the call's sum of all ranks' regions, each in whichever form it has. Takes gather_regions_bytes() of `room`.
template <class T>
void gather_regions(SparseCall<T>& call, const Stream<T>& own_region, Room room) {
  const SparseProblem& problem = call.plan.problem;
  const int P = call.transport.size();
  const auto ranks = static_cast<std::size_t>(P);
  const Blocks regions(call.own.dimension, P);
  const auto from_its_first = [&](int q) { return Region{0, regions.size(q)}; };
  const std::span<Stream<T>> parts = room.take<Stream<T>>(ranks);
  const std::span<std::size_t> lengths = room.take<std::size_t>(ranks);
  const std::span<std::byte> gathered = room.take<std::byte>(most_gathered_bytes(problem));
  std::span<T> widened = room.take<T>(most_widened(problem));

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
  AllgatherProblem blocks{{0}, problem.native_collectives};
  for (int q = 0; q < problem.ranks(); ++q) blocks.bounds_bytes.push_back(blocks.total_bytes() + bytes);
  return blocks;
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
  cost.communication_seconds = exchange.seconds(blocks, machine);
  for (int have = 1; have < P; have *= 2)
    cost.communication_seconds +=
        machine.exchange_seconds(static_cast<std::size_t>(std::min(have, P - have)) * length_bytes);
  const double each = stored(elements, largest_region(problem, P));
  cost.arithmetic_seconds = machine.memory_seconds(4 * static_cast<double>(blocks.total_bytes())) +  // copied twice
                            conversion_seconds(problem, machine, each, P * each);
  return cost;
}

}  // namespace dsop::sparse
