// What the linear pipelines have in common: the blocks of the vector, and how many of them are under way.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dense/algorithm.hpp"
#include "patterns/blocks.hpp"

namespace dsop::dense {

/// So many blocks of each stream are under way at once: one comes, one is there and is added, one is sent.
inline constexpr int blocks_ahead = 3;

inline constexpr double most_blocks = 1 << 20;

inline double blocks_of(std::size_t elements, DataType type, double block_kib) {
  return std::ceil(static_cast<double>(elements * bytes_of(type)) / (1024 * block_kib));
}

/// The vector in blocks of at most `block_kib` (or an element), as equal as can be.
inline int count_blocks(std::size_t elements, DataType type, double block_kib) {
  const double most = static_cast<double>(elements);
  return static_cast<int>(std::max(1.0, std::min(blocks_of(elements, type, block_kib), most)));
}

/// The number that the linear pipelines leave open, b: powers of two until one holds all of the vector. Blocks smaller
/// than the paper's 64 KiB only if there are few of them: a message costs the processor more than the formula knows.
inline Parameter<DenseProblem> block_size() {
  return {.name = "KiB of a block",
          .values =
              [](const DenseProblem& problem) {
                constexpr double usual_kib = 64;
                constexpr double largest_kib = 4096;
                constexpr double few_blocks = 64;
                std::vector<double> sizes;
                for (double kib = 1;; kib *= 2) {
                  const double blocks = blocks_of(problem.elements, problem.type, kib);
                  if (kib >= usual_kib || blocks <= few_blocks) sizes.push_back(kib);
                  if (kib == largest_kib || blocks <= 1) return sizes;
                }
              },
          .expected = [](double block_kib, const DenseProblem& problem) -> std::string {
            const bool good = block_kib > 0 && blocks_of(problem.elements, problem.type, block_kib) <= most_blocks;
            return good ? "" : "a number of KiB above 0 that makes at most 1048576 blocks";
          }};
}

/// The vector of a problem, so cut.
struct Pipeline {
  Pipeline(const DenseProblem& problem, double block_kib)
      : bytes(problem.elements * bytes_of(problem.type)),
        blocks(count_blocks(problem.elements, problem.type, block_kib)),
        block_elements(patterns::Blocks(problem.elements, blocks).largest()),
        block_bytes(block_elements * bytes_of(problem.type)) {}

  std::size_t bytes;           ///< n
  int blocks;                  ///< n / b
  std::size_t block_elements;  ///< of the largest
  std::size_t block_bytes;     ///< b
};

/// Of a rank that sends all blocks `ways` times, in a pipe that is full once `fill` blocks have gone by.
inline Cost pipeline_cost(const DenseProblem& problem, const Machine& machine, double block_kib, std::size_t ways,
                          int fill) {
  if (problem.ranks == 1) return {};
  const Pipeline pipeline(problem, block_kib);
  Cost cost;
  cost.messages = ways * static_cast<std::size_t>(pipeline.blocks);
  cost.bytes = ways * pipeline.bytes;
  cost.communication_seconds =
      machine.message_seconds(cost.bytes, cost.messages) + fill * machine.message_seconds(pipeline.block_bytes);
  return cost;
}

/// The same where each rank adds the vector once, all but a block of it while blocks travel.
inline Cost adding_pipeline_cost(const DenseProblem& problem, const Machine& machine, double block_kib,
                                 std::size_t ways, int fill) {
  if (problem.ranks == 1) return {};
  Cost cost = pipeline_cost(problem, machine, block_kib, ways, fill);
  cost.flops = static_cast<double>(problem.elements);
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  cost.hide(1 - 1.0 / Pipeline(problem, block_kib).blocks, cost.arithmetic_seconds, machine);
  return cost;
}

/// Workspace for the blocks that are received and not yet added.
inline std::size_t pipeline_rooms(const DenseProblem& problem, double block_kib) {
  return blocks_ahead * Pipeline(problem, block_kib).block_elements;
}

}  // namespace dsop::dense
