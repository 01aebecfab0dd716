#include "algorithms/selection/cut.hpp"

#include <algorithm>
#include <array>

#include <dsop/types.hpp>

#include "algorithms/selection/candidates.hpp"
#include "algorithms/selection/neighbourhood.hpp"
#include "algorithms/selection/ranges.hpp"
#include "kernels/ranked_key.hpp"

namespace dsop::selection {
namespace {

using kernels::Key;
using kernels::Picked;
using sparse::Index;

/// The index of the number `rank` (from 1) of those at `key`.
template <class T>
Index index_at(std::span<const T> values, Key<T> key, std::size_t rank) {
  Index index = 0;
  Picked<T> picked;
  for_blocks(values, 0, values.size(), [&](std::span<const T> block, std::size_t first) {
    const std::size_t found = those_inside(block, first, {key, key}, picked).size();
    if (rank <= found) index = picked.indices[rank - 1];
    rank -= std::min(rank, found);
    return rank > 0;
  });
  return index;
}

template <class T>
Cut<T> cut_at(std::span<const T> values, Key<T> key, std::size_t wanted, std::size_t equal) {
  if (wanted == equal) return {.key = key};
  return {.key = key, .last = index_at(values, key, wanted)};
}

/// Of `keys`, those of the neighbourhood, the one that the k-th largest has.
template <class T>
Cut<T> cut_among(std::span<const T> values, std::size_t k, std::span<const Key<T>> keys, std::size_t above) {
  const Key<T> key = kernels::ranked_key(keys, k - above);
  std::size_t equal = 0;
  for (const Key<T> other : keys) {
    above += other > key ? 1 : 0;
    equal += other == key ? 1 : 0;
  }
  return cut_at(values, key, k - above, equal);
}

template <class T>
Cut<T> find_small_cut(std::span<const T> values, std::size_t k) {
  std::array<Key<T>, small_vector> keys;
  std::transform(values.begin(), values.end(), keys.begin(), kernels::key_of<T>);
  return cut_among(values, k, std::span<const Key<T>>(keys.data(), values.size()), 0);
}

/// Candidates for the k-th largest of `values` that are gathered rather than narrowed down further.
std::size_t few_of(std::size_t values) {
  return std::max(small_vector, values / 32);
}

}  // namespace

template <class T>
void reserve_cut(std::size_t most_values, Memory<T>& memory) {
  memory.keys.at_least(few_of(most_values));
  memory.counts.at_least(counts_for(most_values));
}

template <class T>
Cut<T> find_cut(std::span<const T> values, std::size_t k, Memory<T>& memory) {
  if (values.size() <= small_vector) return find_small_cut(values, k);
  const std::size_t few = few_of(values.size());
  const std::span<Key<T>> keys = memory.keys.at_least(few);
  const auto among = [&](Counts counts) {
    return cut_among(values, k, std::span<const Key<T>>(keys.first(counts.inside)), counts.above);
  };
  if (values.size() >= sampled_elements) {
    const Counts counts = gather(values, guess(values, k, memory), keys);
    if (counts.inside <= few && counts.above < k && k <= counts.above + counts.inside) return among(counts);
  }
  Neighbourhood<T> near{.inside = values.size()};
  while (near.inside > few && near.bits > 0) narrow(values, k, near, memory);
  if (near.bits == 0) return cut_at(values, near.range.low, k - near.above, near.inside);
  return among(gather(values, near.range, keys));
}

#define INSTANTIATE(T)                                \
  template void reserve_cut(std::size_t, Memory<T>&); \
  template Cut<T> find_cut(std::span<const T>, std::size_t, Memory<T>&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::selection
