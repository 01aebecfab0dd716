// The step with which several algorithms end: every owner's part of G goes to everybody.
#pragma once

#include <span>

#include "algorithms/outer_product/gather_factors.hpp"
#include "kernels/bf16.hpp"

namespace dsop::outer_product {

/// What share_parts() works in: parts of `elements` in all, as they travel.
inline std::span<kernels::Bf16> share_parts_memory(Arena& arena, const Problem& problem, std::size_t elements) {
  return arena.take<kernels::Bf16>(problem.wire == Wire::bf16 ? elements : 0);
}

/// Seconds for rounding the elements of the own part and widening all: six bytes an element, read and written.
inline double conversion_seconds(const Problem& problem, const Machine& machine, std::size_t own, std::size_t all) {
  return problem.wire == Wire::bf16 ? machine.memory_seconds(6 * static_cast<double>(own + all)) : 0;
}

/// Allgather of `parts`, the owners' parts one after the other, by the plan's gradient exchange. As bf16 every rank,
/// the owner too, ends with the rounded values.
template <class T>
void share_parts(const OuterProductCall<T>& call, Transport& transport, std::span<T> parts,
                 std::span<kernels::Bf16> wire) {
  const Exchange& exchange = call.plan.gradient;
  if constexpr (can_travel_as(Wire::bf16, data_type<T>)) {
    if (call.plan.problem.wire == Wire::bf16) {
      const int r = transport.rank();
      const std::size_t first = exchange.problem.bounds_bytes[static_cast<std::size_t>(r)] / sizeof(kernels::Bf16);
      const std::size_t count = exchange.problem.bytes(r) / sizeof(kernels::Bf16);
      kernels::round_to_bf16(wire.subspan(first, count), parts.subspan(first, count));
      allgather(transport, exchange, wire);
      kernels::widen(parts, wire);
      return;
    }
  }
  allgather(transport, exchange, parts);
}

}  // namespace dsop::outer_product
