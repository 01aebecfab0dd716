#include "algorithms/selection/candidates.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include <dsop/types.hpp>

#include "algorithms/selection/cut.hpp"
#include "algorithms/selection/ranges.hpp"
#include "base/mix.hpp"
#include "kernels/ranked_key.hpp"
#include "kernels/threads.hpp"

namespace dsop::selection {

using kernels::Key;
using kernels::KeyRange;
using kernels::Picked;

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

#define INSTANTIATE(T)                                                     \
  template KeyRange<T> guess(std::span<const T>, std::size_t, Memory<T>&); \
  template Counts gather(std::span<const T>, KeyRange<T>, std::span<Key<T>>);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::selection
