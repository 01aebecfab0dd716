// Memory, messages and time of a split of vectors among ranks.
#pragma once

#include <algorithm>

#include "algorithms/sparse/expected.hpp"
#include "algorithms/sparse/unknown_length.hpp"
#include "patterns/all_to_all.hpp"
#include "patterns/blocks.hpp"
#include "sparse/room.hpp"

namespace dsop::sparse {

using patterns::Blocks;

inline std::size_t largest_region(const SparseProblem& problem, int parts) {
  return Blocks(problem.elements, parts).largest();
}

/// Room for the elements of one.
inline std::size_t region_bytes(const SparseProblem& problem, int parts) {
  return Room::bytes<std::byte>(largest_region(problem, parts) * bytes_of(problem.type));
}

// Here `most_held` is the most elements of a vector that is split, or Sparsity::dense.
inline std::size_t most_sent_bytes(const SparseProblem& problem, int parts, std::size_t most_held) {
  return packed_parts_bytes(problem, most_held, parts);
}

inline std::size_t most_part_bytes(const SparseProblem& problem, int parts, std::size_t most_held) {
  return packed_bytes(problem, largest_region(problem, parts), most_held);
}

/// Room for the parts of others, of so many bytes each at most, that come before the first is added.
inline std::size_t slots_bytes(std::size_t most_part_bytes, int parts) {
  return static_cast<std::size_t>(patterns::most_received_at_once(parts)) * most_part_bytes;
}

/// Parts, with the own.
inline std::size_t most_added_at_once(int parts) {
  return static_cast<std::size_t>(std::min(parts, patterns::steps_ahead + 1));
}

inline std::size_t most_widened(const SparseProblem& problem, int parts, std::size_t most_held) {
  const std::size_t most = std::min(largest_region(problem, parts), 3 * std::min(most_held, problem.elements));
  return widened_elements(problem, most_added_at_once(parts) * most);
}

inline std::size_t split_bytes(const SparseProblem& problem, int parts, std::size_t most_held) {
  const auto ranks = static_cast<std::size_t>(parts);
  return Room::bytes<Stream<double>>(most_added_at_once(parts)) + 2 * Room::bytes<std::size_t>(ranks + 1) +
         Room::bytes<std::byte>(most_sent_bytes(problem, parts, most_held)) +
         Room::bytes<std::byte>(slots_bytes(most_part_bytes(problem, parts, most_held), parts)) +
         Room::bytes<float>(most_widened(problem, parts, most_held));
}

/// What a rank holds of a region, as expected.
inline std::size_t expected_part(const SparseProblem& problem, int parts) {
  return whole(problem.expected_union(1) / parts);
}

/// Elements that are not zero in the sum of a region, as expected.
inline std::size_t expected_in_region(const SparseProblem& problem) {
  return whole(problem.expected_union(problem.ranks()) / problem.ranks());
}

/// Two rounds of P - 1 messages: of lengths, and of what all P that take part hold of the region, `part` elements each
/// or Sparsity::dense.
inline Cost split_cost(const SparseProblem& problem, const Machine& machine, int P, std::size_t part) {
  if (P == 1) return {};
  const auto others = static_cast<std::size_t>(P - 1);
  const std::size_t region = largest_region(problem, P);
  const std::size_t part_bytes = packed_bytes(problem, region, part);
  const std::size_t bytes = others * part_bytes;
  Cost cost;
  cost.messages = 2 * others;
  cost.bytes = others * length_bytes + bytes;
  cost.flops = P * stored(part, region);
  cost.communication_seconds =
      machine.message_seconds(others * length_bytes, others) + machine.message_seconds(bytes, others);
  cost.arithmetic_seconds = P * adding_seconds(problem, machine, region, part) +
                            packing_seconds(machine, bytes + part_bytes, bytes + part_bytes) +
                            conversion_seconds(problem, machine, cost.flops, cost.flops);
  return cost;
}

}  // namespace dsop::sparse
