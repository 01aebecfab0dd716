// What the linear pipelines have in common: the blocks of the vector, and how many of them are under way.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "algorithms/dense/algorithm.hpp"
#include "algorithms/dense/from_root.hpp"
#include "patterns/blocks.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {

/// So many blocks of each stream are under way at once: one comes, one is there and is added, one is sent.
inline constexpr int blocks_ahead = 3;

inline constexpr double most_blocks = 1 << 20;

inline double blocks_of(std::size_t elements, DataType type, double block_kib) {
  return std::ceil(static_cast<double>(elements * bytes_of(type)) / (1024 * block_kib));
}

/// Equal blocks of about `block_kib`; none has less than an element, but for that of no elements.
inline int count_blocks(std::size_t elements, DataType type, double block_kib) {
  const double most = static_cast<double>(elements);
  return static_cast<int>(std::max(1.0, std::min(blocks_of(elements, type, block_kib), most)));
}

/// The vector in equal blocks, of which the first is cut at a third. The first three messages of a link begin together
/// and share it. Equal ones would end together too, as would the next three and all after them, each time with a
/// latency between; a third, two thirds and a whole end one after the other.
class PipelineBlocks {
 public:
  PipelineBlocks(std::size_t elements, DataType type, double block_kib)
      : equal_count_(count_blocks(elements, type, block_kib)),
        equal_(elements, equal_count_),
        cut_(equal_count_ > 1 ? equal_.largest() / blocks_ahead : 0) {}

  int count() const { return cut_ > 0 ? equal_count_ + 1 : equal_count_; }
  std::size_t largest() const { return equal_.largest(); }
  std::size_t size(int i) const { return offset(i + 1) - offset(i); }

  template <class T>
  std::span<T> of(std::span<T> data, int i) const {
    return data.subspan(offset(i), size(i));
  }

 private:
  std::size_t offset(int i) const {
    if (cut_ == 0 || i == 0) return equal_.offset(i);
    return i == 1 ? cut_ : equal_.offset(i - 1);
  }

  int equal_count_;
  patterns::Blocks equal_;
  std::size_t cut_;
};

/// While the pipe fills, blocks close behind one another share each link: of two that do, the later stays as close all
/// along the chain, so that each hop takes as long as two blocks.
inline constexpr std::size_t blocks_on_a_link = 2;

/// The number that the linear pipelines leave open, b: powers of two until one holds all of the vector. Blocks smaller
/// than 16 KiB only if there are few of them: how much of the latency three on the way hide is then less certain.
inline Parameter<DenseProblem> block_size() {
  return {.name = "KiB of a block",
          .values =
              [](const DenseProblem& problem) {
                constexpr double usual_kib = 16;
                constexpr double largest_kib = 4096;
                constexpr double few_blocks = 128;
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

/// Which way blocks go along the chain.
enum class Route : unsigned char { one_way, there_and_back };

/// What the busiest rank pays, of two ways at once where blocks come back. Two ranks have one way each, and the pipe is
/// filled by one message.
inline Cost pipeline_cost(const DenseProblem& problem, const Machine& machine, double block_kib, Route route) {
  if (problem.ranks == 1) return {};
  const PipelineBlocks blocks(problem.elements, problem.type, block_kib);
  const auto count = static_cast<std::size_t>(blocks.count());
  const std::size_t vector_bytes = problem.elements * bytes_of(problem.type);
  const std::size_t filling_bytes = blocks_on_a_link * blocks.largest() * bytes_of(problem.type);
  const bool comes_back = route == Route::there_and_back;
  const bool both_ways = comes_back && problem.ranks > 2;
  const std::size_t ways = both_ways ? 2 : 1;
  Cost cost;
  cost.messages = ways * count;
  cost.bytes = ways * vector_bytes;
  const patterns::Network network = network_from_root(problem, machine);
  cost.communication_seconds = patterns::chain_step(network, both_ways, vector_bytes, count).seconds() +
                               static_cast<double>(ways) * patterns::chain_fill_seconds(network, filling_bytes);
  // No more than blocks_ahead are on a link while one of them travels.
  const patterns::Step block = patterns::chain_step(network, both_ways, blocks.largest() * bytes_of(problem.type));
  cost.communication_seconds +=
      static_cast<double>(count) * std::max(0.0, block.seconds() / blocks_ahead - block.seconds_but_latency());
  if (comes_back && !both_ways)
    cost.communication_seconds += patterns::chain_step(network, false, filling_bytes).seconds();
  return cost;
}

/// The same where each rank adds the vector once, all but a block of it while blocks travel; while the pipe fills each
/// of the P - 2 ranks on the way to rank 0 adds a block before it passes it on.
inline Cost adding_pipeline_cost(const DenseProblem& problem, const Machine& machine, double block_kib, Route route) {
  if (problem.ranks == 1) return {};
  Cost cost = pipeline_cost(problem, machine, block_kib, route);
  cost.flops = static_cast<double>(problem.elements);
  cost.arithmetic_seconds = machine.addition_seconds(cost.flops, problem.type);
  const int equal_blocks = count_blocks(problem.elements, problem.type, block_kib);
  cost.hide(1 - 1.0 / equal_blocks, cost.arithmetic_seconds, machine);
  cost.arithmetic_seconds += std::max(0, problem.ranks - 2) * cost.arithmetic_seconds / equal_blocks;
  return cost;
}

/// Memory for the blocks that are received and not yet added.
template <class T>
struct BlocksAhead {
  BlocksAhead(Arena& arena, const DenseProblem& problem, double block_kib) {
    const PipelineBlocks blocks(problem.elements, problem.type, block_kib);
    for (std::span<T>& block : of) block = arena.take<T>(blocks.largest());
  }
  std::array<std::span<T>, blocks_ahead> of;
};

}  // namespace dsop::dense
