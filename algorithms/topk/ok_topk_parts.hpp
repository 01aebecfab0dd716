// What all forms of Ok-Topk have in common: their periods, their memory, their end.
#pragma once

#include <cmath>

#include "algorithms/topk/global_threshold.hpp"
#include "algorithms/topk/residual.hpp"
#include "algorithms/topk/split_and_reduce.hpp"

namespace dsop::topk {

/// Whether the number of the step is a multiple of `period`.
inline bool every(double period, const TopKState& state) {
  return std::fmod(static_cast<double>(state.selection.step), period) == 0;
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
  call.took_part = those_in(call.sum, call.took_part);
  leave_out(call.values, call.took_part, wire);
  if (wire == Wire::bf16)
    for (const Pair<T>& pair : own) {
      // Nobody took part in what is so small that it is 0 in a dense sum: all keep theirs.
      const bool is_gone = call.sum.dense() && call.sum.values[pair.index] == T{0};
      if (!is_gone) call.values[pair.index] += rounded_off<T>(pair.value, wire);
    }
}

}  // namespace dsop::topk
