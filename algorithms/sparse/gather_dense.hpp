// The step with which several algorithms end: every rank has summed its block, and everybody gets all of them, dense.
#pragma once

#include "algorithms/sparse/expected.hpp"
#include "kernels/bf16.hpp"

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
  const SparseProblem& problem = call.plan.problem;
  const std::span<T> result = call.result.first(problem.elements);
  const auto gather = [&](std::span<std::byte> data) {
    AllgatherCall blocks{call.transport, data, call.exchange.problem};
    call.exchange.algorithm->run(blocks);
  };
  call.sum = {result.size(), {}, result};
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (problem.wire == Wire::bf16) {
      const int r = call.transport.rank();
      const std::size_t first = call.exchange.problem.bounds_bytes[static_cast<std::size_t>(r)] / sizeof(kernels::Bf16);
      const std::size_t size = call.exchange.problem.bytes(r) / sizeof(kernels::Bf16);
      kernels::round_to_bf16(wire.subspan(first, size), result.subspan(first, size));
      gather(std::as_writable_bytes(wire));
      return kernels::widen(result, wire);
    }
  gather(std::as_writable_bytes(result));
}

}  // namespace dsop::sparse
