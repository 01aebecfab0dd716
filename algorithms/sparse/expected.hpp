// What the messages and sums of sparse algorithms are expected to be.
#pragma once

#include <cmath>
#include <string>
#include <utility>

#include <dsop/errors.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "patterns/blocks.hpp"
#include "patterns/steps.hpp"
#include "sparse/wire.hpp"

namespace dsop::sparse {

using patterns::Blocks;

/// The memory of so many pairs of index and value, counted in values.
inline std::size_t values_for_pairs(std::size_t pairs, DataType type) {
  return pairs + (pairs * sizeof(Index) + bytes_of(type) - 1) / bytes_of(type);
}

inline std::size_t most_indices(std::size_t size, DataType type, Wire wire) {
  return visit(type, [&]<class T>(T) { return most_indices<T>(size, wire); });
}

/// The most pairs of index and value of vectors whose sum is sparse: it is no larger so, in memory and on its way, and
/// no slower to make and send.
inline std::size_t most_summed(const SparseProblem& problem, std::size_t size) {
  return std::min(most_indices(size, problem.type, problem.wire),
                  static_cast<std::size_t>(problem.sparse_share * static_cast<double>(size)));
}

inline std::size_t packed_bytes(std::size_t size, std::size_t elements, DataType type, Wire wire = Wire::full) {
  return visit(type, [&]<class T>(T) { return packed_bytes<T>(size, elements, wire); });
}

inline std::size_t packed_bytes(const SparseProblem& problem, std::size_t size, std::size_t elements) {
  return packed_bytes(size, elements, problem.type, problem.wire);
}

/// The most bytes of a vector that is cut into `parts` regions, each of them packed. Of its `size` elements `elements`,
/// or Sparsity::dense, are stored.
inline std::size_t packed_parts_bytes(std::size_t size, std::size_t elements, DataType type, Wire wire, int parts) {
  return packed_bytes(size, elements, type, wire) +
         static_cast<std::size_t>(parts) * (header_bytes + most_padding_bytes);
}

/// The values to be widened: all of them if they travel as bf16, else none.
inline std::size_t widened_elements(const SparseProblem& problem, std::size_t values) {
  return problem.wire == Wire::bf16 ? values : 0;
}

/// Room for the values of a message with so many elements of `size`, which may be dense, if they travelled as bf16.
inline std::size_t most_widened(std::size_t size, std::size_t elements, Wire wire) {
  return wire == Wire::bf16 ? std::min(size, 3 * std::min(elements, size)) : 0;
}

/// Seconds for rounding and widening so many values of a SparseProblem or a TopKProblem: six bytes each, read and
/// written.
template <class AnyProblem>
double conversion_seconds(const AnyProblem& problem, const Machine& machine, double rounded, double widened) {
  return problem.wire == Wire::bf16 ? machine.memory_seconds(6 * (rounded + widened)) : 0;
}

/// Of a length that is told before blocks are gathered: an allgather puts each in its place, which lengths alone tell.
inline constexpr std::size_t length_bytes = sizeof(std::size_t);

[[noreturn]] inline void refuse_length(std::size_t bytes, std::size_t most_bytes) {
  throw TransportError("messages of " + std::to_string(bytes) + " bytes were announced, expected at most " +
                       std::to_string(most_bytes));
}

inline std::size_t whole(double elements) {
  return static_cast<std::size_t>(std::llround(elements));
}

/// Elements of the sum of two vectors, or Sparsity::dense, if it has `in_union` where it is sparse: as sum() decides.
inline std::size_t elements_of_sum(const SparseProblem& problem, std::size_t left, std::size_t right, double in_union) {
  const std::size_t most = most_summed(problem, problem.elements);
  return left > most || right > most || left + right > most ? Sparsity::dense : whole(in_union);
}

/// Elements that a packed vector has.
inline double stored(std::size_t elements, std::size_t size) {
  return static_cast<double>(elements == Sparsity::dense ? size : elements);
}

/// Seconds to add so many elements with their indices.
inline double summing_seconds(const Machine& machine, double elements, DataType type) {
  return machine.addition_seconds(machine.indexed_addition_factor * elements, type);
}

/// Seconds to add a vector of `size` elements that travels with so many of them, or Sparsity::dense.
inline double adding_seconds(const SparseProblem& problem, const Machine& machine, std::size_t size,
                             std::size_t elements) {
  if (elements == Sparsity::dense || elements > most_indices(size, problem.type, problem.wire))
    return machine.addition_seconds(static_cast<double>(size), problem.type);
  return summing_seconds(machine, static_cast<double>(elements), problem.type);
}

/// Seconds to write so many bytes of messages, and to look through the indices of so many that came.
inline double packing_seconds(const Machine& machine, std::size_t packed_bytes, std::size_t unpacked_bytes) {
  return machine.memory_seconds(2 * static_cast<double>(packed_bytes) + static_cast<double>(unpacked_bytes) / 2);
}

inline Exchange cheapest(AllgatherProblem problem, const Machine& machine) {
  const AllgatherAlgorithm& algorithm = cheapest_allgather(problem, machine);
  return {&algorithm, std::move(problem)};
}

/// Of an exchange: what the rank that sends the most sends, and its time.
inline Cost cost_of(const Exchange& exchange, const Machine& machine) {
  Cost cost;
  for (int r = 0; r < exchange.problem.ranks(); ++r) cost.raise_to(exchange.algorithm->sent(exchange.problem, r));
  cost.communication_seconds = exchange.algorithm->seconds(exchange.problem, machine);
  return cost;
}

inline Cost one_after_the_other(const Cost& left, const Cost& right) {
  return {.messages = left.messages + right.messages,
          .bytes = left.bytes + right.bytes,
          .flops = left.flops + right.flops,
          .communication_seconds = left.communication_seconds + right.communication_seconds,
          .arithmetic_seconds = left.arithmetic_seconds + right.arithmetic_seconds};
}

inline std::size_t largest_region(const SparseProblem& problem, int parts) {
  return Blocks(problem.elements, parts).largest();
}

/// What a rank holds of a region, as expected.
inline std::size_t expected_part(const SparseProblem& problem, int parts) {
  return whole(problem.expected_union(1) / parts);
}

/// Elements that are not zero in the sum of a region, as expected.
inline std::size_t expected_in_region(const SparseProblem& problem) {
  return whole(problem.expected_union(problem.ranks()) / problem.ranks());
}

inline patterns::Network network_of(const SparseProblem& problem, const Machine& machine) {
  return {machine, problem.group.nodes, problem.ranks()};
}

/// P - 1 messages among the network's P: what all hold of the region, `part` elements each or Sparsity::dense.
inline Cost split_cost(const SparseProblem& problem, const patterns::Network& network, std::size_t part) {
  const int P = network.ranks();
  const Machine& machine = network.machine();
  if (P == 1) return {};
  const auto others = static_cast<std::size_t>(P - 1);
  const std::size_t region = largest_region(problem, P);
  const std::size_t part_bytes = packed_bytes(problem, region, part);
  const std::size_t bytes = others * part_bytes;
  Cost cost;
  cost.messages = others;
  cost.bytes = bytes;
  cost.flops = P * stored(part, region);
  cost.communication_seconds = patterns::all_to_all_step(network, part_bytes).seconds();
  cost.arithmetic_seconds = P * adding_seconds(problem, machine, region, part) +
                            packing_seconds(machine, bytes + part_bytes, bytes + part_bytes) +
                            conversion_seconds(problem, machine, cost.flops, cost.flops);
  return cost;
}

/// The same among all ranks, as expected.
inline Cost split_cost(const SparseProblem& problem, const Machine& machine) {
  return split_cost(problem, network_of(problem, machine), expected_part(problem, problem.ranks()));
}

}  // namespace dsop::sparse
