// How factors and parts of G travel: in the plan's exchanges, as they are or as bf16.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "algorithms/outer_product/algorithm.hpp"
#include "kernels/bf16.hpp"

namespace dsop::outer_product {

/// Memory for so many elements as they travel; none where they travel as they are.
inline std::span<kernels::Bf16> wire_memory(Arena& arena, Wire wire, std::size_t elements) {
  return arena.take<kernels::Bf16>(wire == Wire::bf16 ? elements : 0);
}

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

/// The exchange of `parts` of G, the owners' parts one after the other; in `wire`, if that is not empty.
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

/// Seconds for rounding the elements of the own part and widening all: six bytes an element, read and written.
inline double conversion_seconds(Wire wire, const Machine& machine, std::size_t own, std::size_t all) {
  return wire == Wire::bf16 ? machine.memory_seconds(6 * static_cast<double>(own + all)) : 0;
}

/// How `algorithm` gathers factors: in its own way or the cheapest.
inline const AllgatherAlgorithm& exchange_of(const OuterProductAlgorithm& algorithm, const AllgatherProblem& blocks,
                                             const Machine& machine) {
  return algorithm.exchange != nullptr ? *algorithm.exchange : cheapest_allgather(blocks, machine);
}

/// How it gathers parts of G.
inline const AllgatherAlgorithm& gradient_exchange_of(const OuterProductAlgorithm& algorithm,
                                                      const AllgatherProblem& parts, const Machine& machine) {
  return algorithm.gradient_exchange != nullptr ? *algorithm.gradient_exchange
                                                : cheapest_allgather_out_of_step(parts, machine);
}

/// How it gathers segments, of either: ranks make products in between.
inline const AllgatherAlgorithm& segment_exchange_of(const OuterProductAlgorithm& algorithm,
                                                     const AllgatherProblem& segment, const Machine& machine) {
  return algorithm.exchange != nullptr ? *algorithm.exchange : cheapest_allgather_out_of_step(segment, machine);
}

/// The allgathers of S segments: segment s gathers blocks_of(size_of(s)). Equal ones that follow each other are taken
/// together.
template <class SizeOf, class BlocksOf>
std::vector<EqualAllgathers> segment_allgathers(int S, const SizeOf& size_of, const BlocksOf& blocks_of) {
  std::vector<EqualAllgathers> exchanges;
  for (int s = 0; s < S; ++s) {
    if (s == 0 || size_of(s) != size_of(s - 1)) exchanges.push_back({.one = blocks_of(size_of(s))});
    ++exchanges.back().count;
  }
  return exchanges;
}

/// What a rank sends in all of them.
inline Traffic sent_in_all(const AllgatherAlgorithm& algorithm, const std::vector<EqualAllgathers>& exchanges,
                           int rank) {
  Traffic all;
  for (const auto& [one, count] : exchanges) {
    const Traffic sent = algorithm.sent(one, rank);
    all = all + Traffic{count * sent.messages, count * sent.bytes};
  }
  return all;
}

inline double seconds_of_all(const AllgatherAlgorithm& algorithm, std::span<const EqualAllgathers> exchanges,
                             const Machine& machine) {
  double seconds = 0;
  for (const auto& [one, count] : exchanges) seconds += static_cast<double>(count) * algorithm.seconds(one, machine);
  return seconds;
}

}  // namespace dsop::outer_product
