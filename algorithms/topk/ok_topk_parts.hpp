// What all forms of Ok-Topk have in common: their periods, exchange, cost, memory, and end.
#pragma once

#include <bit>
#include <cmath>

#include "algorithms/sparse/expected.hpp"
#include "algorithms/topk/global_threshold.hpp"
#include "algorithms/topk/residual.hpp"
#include "algorithms/topk/split_and_reduce.hpp"
#include "patterns/steps.hpp"

namespace dsop::topk {

inline bool is_multiple(std::uint64_t step, double period) {
  return std::fmod(static_cast<double>(step), period) == 0;
}

/// Everybody's share of the sum.
inline AllgatherProblem ok_topk_blocks(const TopKProblem& problem) {
  const patterns::Blocks shares(problem.k, problem.ranks);
  return blocks_of(problem.group, problem.ranks,
                   [&](int q) { return shares.size(q) * pair_bytes(problem.type, problem.wire); });
}

/// Of a call that reuses thresholds and regions, where all ranks have chosen the same k elements, evenly spread. Times
/// are those of rotated buckets: what leaving them out costs, where messages meet, is for measurements to say.
inline Cost ok_topk_cost(const TopKPlan& plan, const Machine& machine) {
  const auto& [N, k, P, type, group, wire] = plan.problem;
  const auto others = static_cast<std::size_t>(P - 1);
  const patterns::Blocks shares(k, P);
  const std::size_t part_bytes = sparse::packed_bytes(N / static_cast<std::size_t>(P), shares.largest(), type, wire);
  const auto rounds = static_cast<std::size_t>(std::bit_width(others));
  Cost cost = sparse::cost_of(plan.exchange, machine);
  cost.messages += others + rounds;
  cost.bytes += others * (part_bytes + sparse::length_bytes);
  cost.flops = static_cast<double>(k);
  const patterns::Network network(machine, group.nodes, P);
  cost.communication_seconds = patterns::all_to_all_step(network, part_bytes).seconds() +
                               patterns::bruck_seconds(network, sparse::length_bytes) + cost.communication_seconds;
  const double own_share = cost.flops / P;
  cost.arithmetic_seconds =
      sparse::summing_seconds(machine, 3 * cost.flops, type) +                     // packed, added, written
      sparse::conversion_seconds(plan.problem, machine, cost.flops, cost.flops) +  // split and reduce
      sparse::conversion_seconds(plan.problem, machine, own_share, cost.flops);    // allgatherv
  return cost;
}

template <class T>
struct OkTopKMemory {
  OkTopKMemory(Arena& arena, const TopKPlan& plan)
      : reduced(arena.take<T>(reduced_elements(plan))),
        other_reduced(arena.take<T>(reduced_elements(plan))),
        bounds(arena.take<std::size_t>(plan.chosen.size() + 1)),
        own(arena.take<Pair<T>>(most_in_sum(plan))),
        phase(arena.mark()),
        regions(arena, plan.chosen.size() - 1, plan.problem.ranks),
        split(arena.rewind(phase), split_of(plan)),
        counts(arena.rewind(phase), Ladder<T>::rungs, plan.problem.ranks),
        gathered(arena.rewind(phase).take<Pair<T>>(plan.problem.wire == Wire::full ? own.size() : 0)),
        gathered_bf16(arena.take<Pair<kernels::Bf16>>(plan.problem.wire == Wire::bf16 ? own.size() : 0)) {}
  std::span<T> reduced;  ///< the sum of the own region, made in the two by turns
  std::span<T> other_reduced;
  std::span<std::size_t> bounds;
  std::span<Pair<T>> own;  ///< what is selected of that sum
  std::size_t phase;       ///< where the memory of each phase begins that follows
  SumOfNumbers regions;
  sparse::SplitMemory<T> split;
  SumOfNumbers counts;
  std::span<Pair<T>> gathered;
  std::span<Pair<kernels::Bf16>> gathered_bf16;
};

/// Balance and allgatherv of the first `count` of the memory's own pairs; the bounds number all ranks' pairs. What this
/// rank has chosen and the sum have in common is its part in it, the rest stays its residual.
template <class T>
void gather_sum(TopKCall<T>& call, const OkTopKMemory<T>& memory, std::size_t count, Balancing balancing) {
  const Wire wire = call.plan.problem.wire;
  const std::span<const Pair<T>> own = memory.own.first(count);
  call.sum = wire == Wire::full ? balance_and_allgatherv(call, own, balancing, memory.bounds, memory.gathered)
                                : balance_and_allgatherv(call, own, balancing, memory.bounds, memory.gathered_bf16);
  call.took_part = intersect(call.took_part, call.sum);
  leave_out(call.values, call.took_part, wire);
  if (wire == Wire::bf16)
    for (const Pair<T>& pair : own) {
      // Nobody took part in what is so small that it is 0 in a dense sum: all keep theirs.
      const bool is_gone = call.sum.dense() && call.sum.values[pair.index] == T{0};
      if (!is_gone) call.values[pair.index] += rounded_off<T>(pair.value, wire);
    }
}

}  // namespace dsop::topk
