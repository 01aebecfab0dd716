// Ok-Topk's second half: everybody gets what all have selected of their sums. Li and Hoefler, "Near-Optimal Sparse
// Allreduce for Distributed Deep Learning" (PPoPP 2022), section 3.1.2.
#pragma once

#include <numeric>

#include <dsop/errors.hpp>

#include "algorithms/dense/exchange.hpp"
#include "algorithms/sparse/expected.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/residual.hpp"
#include "patterns/all_to_all.hpp"
#include "patterns/blocks.hpp"
#include "patterns/bruck_allgather.hpp"

namespace dsop::topk {

/// Gives bounds[q] .. bounds[q + 1] to the `count` things of each rank q. Blocks that are gathered need them, and the
/// total decides what follows: so counts travel before.
inline void gather_offsets(Transport& transport, std::size_t count, std::span<std::size_t> bounds) {
  bounds[0] = 0;
  bounds[static_cast<std::size_t>(transport.rank()) + 1] = count;
  patterns::bruck_allgather(transport, bounds.subspan(1), Tag::payload);
  std::partial_sum(bounds.begin(), bounds.end(), bounds.begin());
}

/// Whether some rank holds more than so many times the mean.
inline bool is_uneven(std::span<const std::size_t> bounds, std::size_t times) {
  std::size_t largest = 0;
  for (std::size_t b = 1; b < bounds.size(); ++b) largest = std::max(largest, bounds[b] - bounds[b - 1]);
  return largest * (bounds.size() - 1) > times * bounds.back();
}

/// Rank q holds the items bounds[q] .. bounds[q + 1] of `all`. Those that hold more than their share of N/P give it to
/// those that hold less, without changing the order; `bounds` become those of the shares.
template <class Item>
void balance(Transport& transport, std::span<Item> all, std::span<std::size_t> bounds) {
  const int r = transport.rank();
  const patterns::Blocks shares(all.size(), transport.size());
  const auto held_by_due_to = [&](int holder, int owner) {
    const auto q = static_cast<std::size_t>(holder);
    const std::size_t first = std::max(bounds[q], shares.offset(owner));
    const std::size_t last = std::min(bounds[q + 1], shares.offset(owner + 1));
    return all.subspan(std::min(first, all.size()), first < last ? last - first : 0);
  };
  patterns::staggered_all_to_all(
      transport, [&](int q) { return held_by_due_to(r, q); }, [&](int q) { return held_by_due_to(q, r); },
      [](int, int) {}, patterns::EmptyMessages::are_left_out);
  for (std::size_t b = 0; b < bounds.size(); ++b) bounds[b] = shares.offset(static_cast<int>(b));
}

/// The vector that has these elements, in the form that is smaller, in `memory`. Throws TransportError if their indices
/// do not rise or lie outside.
template <class Value, class T>
SparseVectorView<T> vector_of(std::span<const Pair<Value>> pairs, std::size_t dimension, std::span<T> memory) {
  for (std::size_t e = 0; e < pairs.size(); ++e)
    if (pairs[e].index >= dimension || (e > 0 && pairs[e].index <= pairs[e - 1].index))
      throw TransportError("elements of a sum that were received are malformed: index " + std::to_string(e) + " is " +
                           std::to_string(pairs[e].index) + ", expected one that rises, below " +
                           std::to_string(dimension));
  if (pairs.size() > sparse::most_indices<T>(dimension)) {
    const std::span<T> dense = memory.first(dimension);
    std::fill(dense.begin(), dense.end(), T{0});
    for (const Pair<Value>& pair : pairs) dense[pair.index] = value_as<T>(pair.value);
    return {dimension, {}, dense};
  }
  sparse::Index* const indices = reinterpret_cast<sparse::Index*>(memory.data() + pairs.size());
  for (std::size_t e = 0; e < pairs.size(); ++e) {
    memory[e] = value_as<T>(pairs[e].value);
    indices[e] = pairs[e].index;
  }
  return {dimension, {indices, pairs.size()}, memory.first(pairs.size())};
}

/// Balances first if some rank holds more than four times the mean.
enum class Balancing : unsigned char { where_uneven, never };

/// The sum that has all ranks' pairs, in the order of ranks; their values travel as `Value`. `all` has
/// room for as many as may travel.
template <class Value, class T>
SparseVectorView<T> balance_and_allgatherv(TopKCall<T>& call, std::span<const Pair<T>> own, Balancing balancing,
                                           std::span<std::size_t> bounds, std::span<Pair<Value>> all) {
  if (bounds.back() > all.size()) sparse::refuse_length(bounds.back() * sizeof(Pair<Value>), all.size_bytes());
  const std::span<Pair<Value>> pairs = all.first(bounds.back());
  const std::size_t first = bounds[static_cast<std::size_t>(call.transport.rank())];
  for (std::size_t e = 0; e < own.size(); ++e) pairs[first + e] = {value_as<Value>(own[e].value), own[e].index};
  if (balancing == Balancing::where_uneven && is_uneven(bounds, 4)) balance(call.transport, pairs, bounds);
  for (std::size_t b = 0; b < bounds.size(); ++b)
    call.exchange.problem.bounds_bytes[b] = bounds[b] * sizeof(Pair<Value>);
  allgather(call.transport, call.exchange, pairs);
  return vector_of<Value>(pairs, call.values.size(), call.result);
}

}  // namespace dsop::topk
