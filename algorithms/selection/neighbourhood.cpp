#include "algorithms/selection/neighbourhood.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <dsop/types.hpp>

#include "algorithms/selection/candidates.hpp"
#include "algorithms/selection/ranges.hpp"
#include "kernels/threads.hpp"

namespace dsop::selection {
namespace {

constexpr unsigned digit_bits = 12;
constexpr std::size_t digits = 1 << digit_bits;

/// Adds the numbers of elements of `near` by the first digit that is open, on element t of `digits` each for thread t.
template <class T>
void count_digits(std::span<const T> values, const Neighbourhood<T>& near, unsigned shift,
                  std::span<std::size_t> counts) {
  std::fill(counts.begin(), counts.end(), std::size_t{0});
  const std::size_t N = values.size();
  kernels::on_threads(counts.size() / digits, [&](std::size_t t, std::size_t team) {
    // Neighbours tend to be alike: one counter would wait for itself.
    std::array<std::array<std::uint32_t, digits>, 4> turns{};
    kernels::Picked<T> picked;
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

}  // namespace

std::size_t counts_for(std::size_t values) {
  return threads_for(values) * digits;
}

template <class T>
void narrow(std::span<const T> values, std::size_t k, Neighbourhood<T>& near, Memory<T>& memory) {
  const unsigned shift = near.bits > digit_bits ? near.bits - digit_bits : 0;
  const std::span<std::size_t> counts = memory.counts.at_least(counts_for(values.size()));
  count_digits(values, near, shift, counts);
  std::size_t digit = digits - 1;
  for (; near.above + counts[digit] < k; --digit) near.above += counts[digit];
  near.inside = counts[digit];
  near.bits = shift;
  near.range.low += static_cast<kernels::Key<T>>(digit) << shift;
  near.range.high =
      std::min<kernels::Key<T>>(near.range.low + ((kernels::Key<T>{1} << shift) - 1), kernels::nan_key<T>);
}

#define INSTANTIATE(T) template void narrow(std::span<const T>, std::size_t, Neighbourhood<T>&, Memory<T>&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::selection
