// How a plan's exchange is made: of elements as they are, or as bf16.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <dsop/plan.hpp>
#include <dsop/transport.hpp>
#include <dsop/types.hpp>

#include "algorithms/dense/allgather.hpp"
#include "kernels/bf16.hpp"

namespace dsop {

/// Has `exchange`, a function of std::span<Element>, write this rank's share and get the others', of all elements as
/// they travel: in `elements` or, where `wire` has room for as many, there. As bf16 every rank, the owner too, ends
/// with the rounded values.
template <class T, class Exchanging>
void as_they_travel(std::span<T> elements, std::span<kernels::Bf16> wire, const Exchanging& exchange) {
  if constexpr (can_travel_as(Wire::bf16, data_type<T>))
    if (!wire.empty()) {
      wire = wire.first(elements.size());
      exchange(wire);
      kernels::widen(elements, wire);
      return;
    }
  exchange(elements);
}

/// Copies `count` elements as they travel. Returns where the next go.
template <class T>
T* pack(const T* from, std::size_t count, T* to) {
  return std::copy_n(from, count, to);
}
inline kernels::Bf16* pack(const float* from, std::size_t count, kernels::Bf16* to) {
  kernels::round_to_bf16({to, count}, {from, count});
  return to + count;
}

/// Makes one of the plan's exchanges: every rank's block of `data` is on all ranks afterwards.
template <class T>
void allgather(Transport& transport, const Exchange& exchange, std::span<T> data) {
  AllgatherCall call{transport, std::as_writable_bytes(data), exchange.problem};
  exchange.algorithm->run(call);
}

/// The exchange of the owners' parts of a dense sum, which stand one after the other; in `wire`, if that is not empty.
template <class T>
void share_parts(Transport& transport, const Exchange& exchange, std::span<T> parts, std::span<kernels::Bf16> wire) {
  as_they_travel(parts, wire, [&]<class Element>(std::span<Element> all) {
    if constexpr (!std::is_same_v<Element, T>) {
      const int r = transport.rank();
      const std::size_t first = exchange.problem.bounds_bytes[static_cast<std::size_t>(r)] / sizeof(Element);
      pack(parts.data() + first, exchange.problem.bytes(r) / sizeof(Element), all.data() + first);
    }
    allgather(transport, exchange, all);
  });
}

}  // namespace dsop
