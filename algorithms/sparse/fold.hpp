// Extras, which take no part in a sum, first send their vectors to their corners.
#pragma once

#include "algorithms/sparse/expected.hpp"
#include "patterns/hypercube.hpp"
#include "patterns/steps.hpp"

namespace dsop::sparse {

/// The most elements of a corner's vector with its extra's, or Sparsity::dense.
inline std::size_t most_folded(const SparseProblem& problem) {
  const std::size_t pairs = 2 * std::min(problem.largest_nonzeros(), problem.elements);
  return pairs <= most_summed(problem, problem.elements) ? pairs : Sparsity::dense;
}

/// Memory for that sum, in elements.
inline std::size_t folded_elements(const SparseProblem& problem) {
  const std::size_t most = most_folded(problem);
  return most == Sparsity::dense ? problem.elements : values_for_pairs(most, problem.type);
}

template <class T>
struct FoldMemory {
  FoldMemory(Arena& arena, const SparseProblem& problem)
      : message(arena.take<std::byte>(packed_bytes(problem, problem.elements, problem.largest_nonzeros()))),
        widened(arena.take<T>(most_widened(problem.elements, problem.largest_nonzeros(), problem.wire))) {}
  std::span<std::byte> message;
  std::span<T> widened;
};

/// Extras hand their vectors to their corners. What this rank then holds: its own vector or, as a corner that has an
/// extra, the sum of both, made in `folded`, of folded_elements().
template <class T>
SparseVectorView<T> fold(const SparseCall<T>& call, const patterns::Corners& rank, FoldMemory<T> memory,
                         std::span<T> folded) {
  const SparseProblem& problem = call.plan.problem;
  const Region all{0, call.own.dimension};
  if (rank.is_extra()) call.transport.send(pack(call.own, all, memory.message, problem.wire), rank.proxy());
  if (!rank.has_extra()) return call.own;
  const std::size_t k = problem.nonzeros[static_cast<std::size_t>(rank.extra())];
  const std::span<std::byte> received = memory.message.first(packed_bytes<T>(all.size, k, problem.wire));
  call.transport.recv(received, rank.extra());
  const SparseVectorView<T> of_extra = unpack<T>(received, all, problem.wire, memory.widened);
  return sum(call.own, of_extra, folded, most_summed(problem, all.size));
}

/// How many elements the sum of a corner and its extra is expected to hold.
inline std::size_t expected_folded(const SparseProblem& problem) {
  const std::size_t k = whole(problem.expected_union(1));
  return elements_of_sum(problem, k, k, problem.expected_union(2));
}

/// What a corner with an extra pays: it receives and adds, and sends nothing. `corners` have one at the same time.
inline Cost fold_cost(const SparseProblem& problem, const Machine& machine, int corners) {
  const std::size_t N = problem.elements;
  const std::size_t k = whole(problem.expected_union(1));
  const std::size_t bytes = packed_bytes(problem, N, k);
  const double values = stored(k, N);
  Cost cost;
  cost.flops = values;
  cost.communication_seconds = patterns::fold_step(network_of(problem, machine), corners, bytes).seconds();
  cost.arithmetic_seconds = 2 * adding_seconds(problem, machine, N, k) + packing_seconds(machine, bytes, bytes) +
                            conversion_seconds(problem, machine, values, values);
  return cost;
}

}  // namespace dsop::sparse
