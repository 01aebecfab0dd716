#include "selection/cut.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "kernels/ranked_key.hpp"
#include "kernels/threads.hpp"
#include "selection/ranges.hpp"

namespace dsop::selection {
namespace {

using kernels::Key;
using kernels::KeyRange;
using kernels::Picked;
using sparse::Index;

constexpr unsigned digit_bits = 12;
constexpr std::size_t digits = 1 << digit_bits;

/// Where the k-th largest lies.
template <class T>
struct Neighbourhood {
  KeyRange<T> range = {};
  unsigned bits = kernels::key_bits<T>;  ///< of a key that the range leaves open
  std::size_t inside;                    ///< elements in the range
  std::size_t above = 0;
};

template <class T>
std::span<const T> those_inside(std::span<const T> block, std::size_t first, KeyRange<T> range, Picked<T>& picked) {
  const kernels::Compact<T> compact = kernels::compactor<T>(best_instruction_set());
  return {picked.values, compact(block, static_cast<Index>(first), range, picked)};
}

/// Adds the numbers of elements of `near` by the first digit that is open, on element t of `digits` each for thread t.
template <class T>
void count_digits(std::span<const T> values, const Neighbourhood<T>& near, unsigned shift,
                  std::span<std::size_t> counts) {
  std::fill(counts.begin(), counts.end(), std::size_t{0});
  const std::size_t N = values.size();
  kernels::on_threads(counts.size() / digits, [&](std::size_t t, std::size_t team) {
    // Neighbours tend to be alike: one counter would wait for itself.
    std::array<std::array<std::uint32_t, digits>, 4> turns{};
    Picked<T> picked;
    for_blocks(values, N * t / team, N * (t + 1) / team, [&](std::span<const T> block, std::size_t first) {
      if (near.inside < N) block = those_inside(block, first, near.range, picked);
      for (std::size_t i = 0; i < block.size(); ++i)
        ++turns[i % 4][static_cast<std::size_t>((kernels::key_of(block[i]) - near.range.low) >> shift)];
      return true;
    });
    for (const auto& turn : turns)
      for (std::size_t digit = 0; digit < digits; ++digit) counts[t * digits + digit] += turn[digit];
  });
  for (std::size_t i = digits; i < counts.size(); ++i) counts[i % digits] += counts[i];
}

template <class T>
void narrow(std::span<const T> values, std::size_t k, Neighbourhood<T>& near, Memory<T>& memory) {
  const unsigned shift = near.bits > digit_bits ? near.bits - digit_bits : 0;
  const std::span<std::size_t> counts = memory.counts.at_least(threads_for(values.size()) * digits);
  count_digits(values, near, shift, counts);
  std::size_t digit = digits - 1;
  for (; near.above + counts[digit] < k; --digit) near.above += counts[digit];
  near.inside = counts[digit];
  near.bits = shift;
  near.range.low += static_cast<Key<T>>(digit) << shift;
  near.range.high = std::min<Key<T>>(near.range.low + ((Key<T>{1} << shift) - 1), kernels::nan_key<T>);
}

/// The keys of the neighbourhood, in any order.
template <class T>
std::span<const Key<T>> gather(std::span<const T> values, const Neighbourhood<T>& near, Memory<T>& memory) {
  const std::span<Key<T>> keys = memory.keys.at_least(near.inside);
  std::atomic<std::size_t> count = 0;
  const std::size_t N = values.size();
  kernels::on_threads(threads_for(N), [&](std::size_t t, std::size_t team) {
    Picked<T> picked;
    for_blocks(values, N * t / team, N * (t + 1) / team, [&](std::span<const T> block, std::size_t first) {
      const std::span<const T> found = those_inside(block, first, near.range, picked);
      if (!found.empty())
        std::transform(found.begin(), found.end(), keys.data() + count.fetch_add(found.size()), kernels::key_of<T>);
      return true;
    });
  });
  return keys;
}

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

}  // namespace

template <class T>
Cut<T> find_cut(std::span<const T> values, std::size_t k, Memory<T>& memory) {
  const std::size_t few = std::max(small_vector, values.size() / 64);
  Neighbourhood<T> near{.inside = values.size()};
  while (near.inside > few && near.bits > 0) narrow(values, k, near, memory);
  if (near.bits == 0) return cut_at(values, near.range.low, k - near.above, near.inside);
  return cut_among(values, k, gather(values, near, memory), near.above);
}

template <class T>
Cut<T> find_small_cut(std::span<const T> values, std::size_t k) {
  std::array<Key<T>, small_vector> keys;
  std::transform(values.begin(), values.end(), keys.begin(), kernels::key_of<T>);
  return cut_among(values, k, std::span<const Key<T>>(keys.data(), values.size()), 0);
}

template Cut<float> find_cut(std::span<const float>, std::size_t, Memory<float>&);
template Cut<double> find_cut(std::span<const double>, std::size_t, Memory<double>&);
template Cut<float> find_small_cut(std::span<const float>, std::size_t);
template Cut<double> find_small_cut(std::span<const double>, std::size_t);

}  // namespace dsop::selection
