// Factors that ride in the agreement which opens a call, in place of an allgather of their own.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <variant>

#include <dsop/counting.hpp>

#include "algorithms/outer_product/gather_factors.hpp"
#include "algorithms/outer_product/operation.hpp"
#include "call/call.hpp"

namespace dsop::outer_product {

/// Puts this rank's pairs, as they travel, behind its record, [a_p | b_p] one after the other, if there is room and
/// both are dense.
template <class T>
void piggyback(Call& call, const SparseFactors<T>& factors, Wire wire) {
  const auto* const a = std::get_if<MatrixView<const T>>(&factors.a);
  const auto* const b = std::get_if<MatrixView<const T>>(&factors.b);
  if (call.has_error() || a == nullptr || b == nullptr || call.record().sparsity() != Sparsity{}) return;
  const std::size_t n = a->columns;
  const std::size_t m = b->columns;
  const std::span<std::byte> slot = call.piggyback(a->rows * (n + m) * bytes_on_wire(wire, data_type<T>));
  const auto put = [&]<class Element>(Element* elements) {
    if (!slot.empty()) pack_pairs<T>({*a, *b}, MatrixView<Element>(elements, a->rows, n + m), 0);
  };
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (wire == Wire::bf16) return put(reinterpret_cast<kernels::Bf16*>(slot.data()));
  put(reinterpret_cast<T*>(slot.data()));
}

/// What a rank sends when factors ride: no message more, and to each other rank as many bytes as the largest rank's
/// factors need.
inline Traffic piggybacked_traffic(const Problem& problem) {
  const std::size_t room = SlotLengths::with_record(piggyback_bytes(problem)) - sizeof(Record);
  return {0, static_cast<std::size_t>(problem.ranks() - 1) * room};
}

/// Copies all ranks' factors from the slots to `factors`, one pair after the other: [a_p | b_p].
template <class T>
void unpack_piggybacked(const Call& call, const Plan& plan, std::span<T> factors) {
  call.count_piggybacked(piggybacked_traffic(plan.problem).bytes);
  const std::size_t pair = plan.problem.rows + plan.problem.columns;
  for (int r = 0; r < plan.problem.ranks(); ++r) {
    const auto rank = static_cast<std::size_t>(r);
    const std::span<T> own = factors.subspan(plan.pair_bounds[rank] * pair, plan.problem.pairs[rank] * pair);
    const std::byte* const slot = call.piggybacked(r).data();
    if (own.empty()) continue;  // where no rank has any, `factors` is null
    if constexpr (can_travel_as(Wire::bf16, data_type<T>))
      if (plan.problem.factor_wire == Wire::bf16) {
        kernels::widen(own, {reinterpret_cast<const kernels::Bf16*>(slot), own.size()});
        continue;
      }
    std::memcpy(own.data(), slot, own.size_bytes());
  }
}

}  // namespace dsop::outer_product
