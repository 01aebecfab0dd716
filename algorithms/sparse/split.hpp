// The step with which several algorithms begin: the vector's regions are shared out among ranks, and everybody gets
// what the others hold of its own.
#pragma once

#include <algorithm>

#include "algorithms/sparse/expected.hpp"
#include "patterns/all_to_all.hpp"
#include "sparse/running_sum.hpp"

namespace dsop::sparse {

inline Region region_of(const Blocks& blocks, int rank) {
  return {blocks.offset(rank), blocks.size(rank)};
}

/// Vectors that are cut into regions, one for each of `ranks`.
struct SplitProblem {
  std::size_t elements;
  std::size_t largest_region;
  std::size_t most_held;  ///< the most elements of a vector, or Sparsity::dense
  int ranks;
  Wire wire;
};

/// Into regions of N/P elements.
inline SplitProblem split_of(const SparseProblem& problem, int ranks, std::size_t most_held) {
  return {problem.elements, largest_region(problem, ranks), most_held, ranks, problem.wire};
}

/// What a split works in.
template <class T>
struct SplitMemory {
  SplitMemory(Arena& arena, const SplitProblem& problem)
      : parts(arena.take<SparseVectorView<T>>(
            static_cast<std::size_t>(std::min(problem.ranks, patterns::steps_ahead + 1)))),
        sent_bounds(arena.take<std::size_t>(static_cast<std::size_t>(problem.ranks) + 1)),
        received_lengths(arena.take<std::size_t>(static_cast<std::size_t>(problem.ranks))),
        sent(arena.take<std::byte>(
            packed_parts_bytes(problem.elements, problem.most_held, data_type<T>, problem.wire, problem.ranks))),
        most_part_bytes(packed_bytes<T>(problem.largest_region, problem.most_held, problem.wire)),
        received(arena.take<std::byte>(static_cast<std::size_t>(patterns::most_received_at_once(problem.ranks)) *
                                       most_part_bytes)),
        widened(arena.take<T>(parts.size() * most_widened(problem.largest_region, problem.most_held, problem.wire))) {}

  std::span<SparseVectorView<T>> parts;     ///< those that are added at a time, with the own
  std::span<std::size_t> sent_bounds;       ///< one of each rank, and one more
  std::span<std::size_t> received_lengths;  ///< one of each rank
  std::span<std::byte> sent;                ///< all parts
  std::size_t most_part_bytes;              ///< a multiple of 8
  std::span<std::byte> received;            ///< those that come before the first is added
  std::span<T> widened;                     ///< for values that travel as bf16, of those that are added at a time
};

/// Adds what all ranks of `transport` hold of this rank's region, region(rank), to `sum`: its own, then the others' in
/// the order of `steps`, in which they come, the first while later ones travel.
template <class T, class RegionOfRank>
void split(Transport& transport, const RegionOfRank& region, Wire wire, const SparseVectorView<T>& own,
           const SplitMemory<T>& memory, RunningSum<T>& sum, const patterns::Steps& steps = {}) {
  const int P = transport.size();
  const int r = transport.rank();
  const std::span<std::size_t> sent_bounds = memory.sent_bounds;

  sent_bounds[0] = 0;
  for (int q = 0; q < P; ++q) {
    const auto place = static_cast<std::size_t>(q);
    sent_bounds[place + 1] = sent_bounds[place] + packed_bytes(own, region(q), wire);
  }
  const auto packed = [&](int q) {
    return pack(own, region(q), memory.sent.subspan(sent_bounds[static_cast<std::size_t>(q)]), wire);
  };
  const auto slot = [&](int q) {
    const auto number = static_cast<std::size_t>(steps.step_of(r, q, P) % patterns::most_received_at_once(P));
    return memory.received.subspan(number * memory.most_part_bytes, memory.most_part_bytes);
  };
  const auto came = [&](int q) { return slot(q).first(memory.received_lengths[static_cast<std::size_t>(q)]); };
  const auto add = [&](int first, int last) {  // of steps first .. last - 1
    std::span<T> widened = memory.widened;
    const std::span<SparseVectorView<T>> parts = memory.parts.first(static_cast<std::size_t>(last - first));
    for (int s = first; s < last; ++s) {
      const int q = steps.source(r, s, P);
      parts[static_cast<std::size_t>(s - first)] = unpack<T>(q == r ? packed(q) : came(q), region(r), wire, widened);
    }
    sum.add(parts);
  };
  patterns::staggered_all_to_all(
      transport, packed, slot, [&](int first, int last) { add(first == 1 ? 0 : first, last); },
      patterns::EmptyMessages::travel, steps, memory.received_lengths);
}

/// The same with regions of N/P elements; `transport` has some or all of the problem's ranks.
template <class T>
void split(Transport& transport, const SparseProblem& problem, const SparseVectorView<T>& own,
           const SplitMemory<T>& memory, RunningSum<T>& sum) {
  const Blocks blocks(problem.elements, transport.size());
  split(
      transport, [&](int q) { return region_of(blocks, q); }, problem.wire, own, memory, sum);
}

}  // namespace dsop::sparse
