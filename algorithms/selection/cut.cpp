#include "algorithms/selection/cut.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>

#include <dsop/types.hpp>

#include "algorithms/selection/ranges.hpp"
#include "base/mix.hpp"
#include "kernels/ranked_key.hpp"
#include "kernels/threads.hpp"

namespace dsop::selection {
namespace {

using kernels::Key;
using kernels::KeyRange;
using kernels::Picked;
using sparse::Index;

// Below, a sample is not much smaller than all.
constexpr std::size_t sampled_elements = 1 << 16;

constexpr unsigned digit_bits = 12;
constexpr std::size_t digits = 1 << digit_bits;

/// Candidates for the k-th largest of `values` that are gathered rather than narrowed down further.
std::size_t few_of(std::size_t values) {
  return std::max(small_vector, values / 32);
}

/// The memory's counts that narrow() takes for so many values.
std::size_t counts_for(std::size_t values) {
  return threads_for(values) * digits;
}

/// Where a sample puts the k-th largest of sampled_elements or more, rightly in all but one of ten thousand cases.
template <class T>
KeyRange<T> guess(std::span<const T> values, std::size_t k, Memory<T>& memory) {
  const std::span<Key<T>> sample = memory.keys.at_least(std::max(small_vector, values.size() / 256));
  const std::size_t stride = values.size() / sample.size();
  for (std::size_t s = 0; s < sample.size(); ++s)  // not at equal distances, as the values may have a period
    sample[s] = kernels::key_of(values[s * stride + mix(s) % stride]);
  const auto size = static_cast<double>(sample.size());
  const double share = static_cast<double>(k) / static_cast<double>(values.size());
  const double spread = 4 * std::sqrt(share * (1 - share) * size) + 4;
  const double high = std::floor(share * size - spread);
  const double low = std::ceil(share * size + spread);
  KeyRange<T> range;
  if (high >= 1) range.high = kernels::ranked_key<Key<T>>(sample, static_cast<std::size_t>(high));
  if (low <= size) range.low = kernels::ranked_key<Key<T>>(sample, static_cast<std::size_t>(low));
  return range;
}

/// Elements in a range, and above it.
struct Counts {
  std::size_t inside = 0;
  std::size_t above = 0;
};

/// Writes the keys within `range` to `keys`, in any order. If there are more than fit, it stops early and `inside` is
/// more than keys.size().
template <class T>
Counts gather(std::span<const T> values, KeyRange<T> range, std::span<Key<T>> keys) {
  std::atomic<std::size_t> inside = 0;
  std::atomic<std::size_t> above = 0;
  const std::size_t N = values.size();
  kernels::on_threads(threads_for(N), [&](std::size_t t, std::size_t team) {
    Picked<T> picked;
    std::array<Key<T>, kernels::compact_block> own;
    std::size_t own_above = 0;
    for_blocks(values, N * t / team, N * (t + 1) / team, [&](std::span<const T> block, std::size_t first) {
      const std::span<const T> found = those_inside(block, first, {.low = range.low}, picked);
      std::size_t count = 0;
      for (const T value : found) {
        own[count] = kernels::key_of(value);
        count += own[count] <= range.high ? 1 : 0;
      }
      own_above += found.size() - count;
      const std::size_t place = count == 0 ? 0 : inside.fetch_add(count);
      if (place + count > keys.size()) return false;
      std::copy_n(own.begin(), count, keys.begin() + static_cast<std::ptrdiff_t>(place));
      return true;
    });
    above += own_above;
  });
  return {inside, above};
}

/// Where the k-th largest is, settled bit by bit: for vectors of many alike, whose samples say too little.
template <class T>
struct Neighbourhood {
  KeyRange<T> range = {};
  unsigned bits = kernels::key_bits<T>;  ///< of a key that the range leaves open
  std::size_t inside;                    ///< elements in the range
  std::size_t above = 0;
};

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

/// Settles up to twelve more bits of the key of the k-th largest. Cost: a read of all values.
template <class T>
void narrow(std::span<const T> values, std::size_t k, Neighbourhood<T>& near, Memory<T>& memory) {
  const unsigned shift = near.bits > digit_bits ? near.bits - digit_bits : 0;
  const std::span<std::size_t> counts = memory.counts.at_least(counts_for(values.size()));
  count_digits(values, near, shift, counts);
  std::size_t digit = digits - 1;
  for (; near.above + counts[digit] < k; --digit) near.above += counts[digit];
  near.inside = counts[digit];
  near.bits = shift;
  near.range.low += static_cast<Key<T>>(digit) << shift;
  near.range.high = std::min<Key<T>>(near.range.low + ((Key<T>{1} << shift) - 1), kernels::nan_key<T>);
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

template <class T>
Cut<T> find_small_cut(std::span<const T> values, std::size_t k) {
  std::array<Key<T>, small_vector> keys;
  std::transform(values.begin(), values.end(), keys.begin(), kernels::key_of<T>);
  return cut_among(values, k, std::span<const Key<T>>(keys.data(), values.size()), 0);
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
