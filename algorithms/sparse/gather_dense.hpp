// The step with which several algorithms end: every rank has summed its block, and everybody gets all of them, dense.
#pragma once

#include "algorithms/dense/exchange.hpp"
#include "algorithms/sparse/expected.hpp"

namespace dsop::sparse {

/// Rank r has elements offset(r) .. offset(r + 1) - 1; offset(P) is N.
template <class Offset>
AllgatherProblem dense_blocks(const SparseProblem& problem, Offset offset) {
  AllgatherProblem blocks{{}, problem.group};
  for (int q = 0; q <= problem.ranks(); ++q) blocks.bounds_bytes.push_back(offset(q) * bytes_on_wire(problem));
  return blocks;
}

/// What gather_dense() works in: all elements as they travel.
inline std::span<kernels::Bf16> gather_dense_memory(Arena& arena, const SparseProblem& problem) {
  return arena.take<kernels::Bf16>(widened_elements(problem, problem.elements));
}

/// Makes the call's sum of such blocks, as planned, which lie in `result`. As bf16 every rank, the block's owner too,
/// ends with the rounded values.
template <class T>
void gather_dense(SparseCall<T>& call, std::span<kernels::Bf16> wire) {
  const std::span<T> result = call.result.first(call.plan.problem.elements);
  call.sum = {result.size(), {}, result};
  share_parts(call.transport, call.exchange, result, wire);
}

}  // namespace dsop::sparse
