// What reaches into Ok-Topk's sum: Li and Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (PPoPP
// 2022), section 3.1.3.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>

#include "topk/balance_and_allgatherv.hpp"
#include "topk/split_and_reduce.hpp"

namespace dsop::topk {

using kernels::Key;
using selection::Cut;

/// Magnitudes round a threshold, from about 0.7 of it to 1.5 times it, each 0.4 to 0.8 % above the one below: fine,
/// since most sums are little larger than the least that a rank chose.
template <class T>
class Ladder {
 public:
  static constexpr std::size_t rungs = 128;

  explicit Ladder(Key<T> threshold) : lowest_(std::max(threshold, below) - below + 1) {}

  Key<T> key(std::size_t rung) const { return lowest_ + static_cast<Key<T>>(rung) * rise; }
  /// counts[j]: how many values are at least as large as rung j.
  void count(std::span<const T> values, std::span<double> counts) const {
    std::fill(counts.begin(), counts.end(), 0.0);
    for (const T value : values) {
      const Key<T> above = kernels::key_of(value) - lowest_;
      if (above >= 0) ++counts[std::min(static_cast<std::size_t>(above / rise), rungs - 1)];
    }
    std::partial_sum(counts.rbegin(), counts.rend(), counts.rbegin());
  }

 private:
  static constexpr Key<T> rise = Key<T>{1} << (std::numeric_limits<T>::digits - 1 - 7);  // 128 from 1 to 2
  static constexpr Key<T> below = rungs / 2 * rise;

  Key<T> lowest_;
};

inline std::size_t adjustment_bytes(int ranks) {
  constexpr std::size_t rungs = Ladder<double>::rungs;
  return Room::bytes<double>(rungs) + SumOfNumbers(rungs, ranks).bytes();
}

/// The rung of the ladder round the state's threshold at which what all sums have above it comes nearest to k; it
/// becomes that threshold. Takes adjustment_bytes() of `room`. Cost: an allreduce of 128 numbers, whole ones, so exact.
template <class T>
Cut<T> th_adjust(TopKCall<T>& call, const Stream<T>& reduced, Room room) {
  const Ladder<T> ladder(kernels::key_of(static_cast<T>(call.state.global_threshold)));
  const std::span<double> counts = room.take<double>(ladder.rungs);
  ladder.count(reduced.values, counts);
  SumOfNumbers(counts.size(), call.transport.size()).run(call.transport, counts, room);
  const auto k = static_cast<double>(call.plan.problem.k);
  const auto nearest = std::min_element(counts.begin(), counts.end(),
                                        [k](double l, double r) { return std::abs(l - k) < std::abs(r - k); });
  const Cut<T> cut{.key =
                       std::min(ladder.key(static_cast<std::size_t>(nearest - counts.begin())), kernels::nan_key<T>)};
  call.state.global_threshold = kernels::magnitude_of<T>(cut.key);
  return cut;
}

/// The cut that leaves k of all sums, or all if they are fewer, but no zeros; its magnitude, or 0 in the second case,
/// becomes the state's global threshold. Values are numbered in the order of regions: rank q's are bounds[q] ..
/// bounds[q + 1]. `memory` is room for them all, reduced_bytes().
template <class T>
Cut<T> th_re_evaluate(TopKCall<T>& call, const Stream<T>& reduced, std::span<std::size_t> bounds, std::span<T> memory) {
  number(call.transport, reduced.values.size(), bounds);
  if (bounds.back() > memory.size()) sparse::refuse_length(bounds.back() * sizeof(T), memory.size_bytes());
  const std::span<T> values = memory.first(bounds.back());
  for (std::size_t b = 0; b < bounds.size(); ++b) call.blocks.bounds_bytes[b] = bounds[b] * sizeof(T);
  AllgatherCall exchange{call.transport, std::as_writable_bytes(values), call.blocks};
  std::copy(reduced.values.begin(), reduced.values.end(),
            values.subspan(bounds[static_cast<std::size_t>(call.transport.rank())]).begin());
  call.plan.exchange->run(exchange);
  const std::size_t k = call.plan.problem.k;
  Cut<T> cut{.key = 0};
  if (k <= values.size()) cut = selection::find_cut<T>(values, k, call.memory);
  call.state.global_threshold = kernels::magnitude_of<T>(cut.key);
  return cut.key > 0 ? cut : Cut<T>{.key = 1};
}

}  // namespace dsop::topk
