// What reaches into Ok-Topk's sum: Li and Hoefler, "Near-Optimal Sparse Allreduce for Distributed Deep Learning" (PPoPP
// 2022), section 3.1.3.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>

#include "algorithms/topk/balance_and_allgatherv.hpp"
#include "algorithms/topk/split_and_reduce.hpp"

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

/// Moves the state's threshold to the rung of its ladder above which all ranks' sums have most nearly k values. Returns
/// the cut there. `sum` has a number for each rung. Cost: an allreduce of these, which is exact: they are whole.
template <class T>
Cut<T> th_adjust(TopKCall<T>& call, const SparseVectorView<T>& reduced, const SumOfNumbers& sum) {
  const Ladder<T> ladder(kernels::key_of(static_cast<T>(call.state.global_threshold)));
  const std::span<double> counts = sum.numbers;
  ladder.count(reduced.values, counts);
  sum.run(call.transport);
  const auto k = static_cast<double>(call.plan.problem.k);
  const auto nearest = std::min_element(counts.begin(), counts.end(),
                                        [k](double l, double r) { return std::abs(l - k) < std::abs(r - k); });
  const Cut<T> cut{.key =
                       std::min(ladder.key(static_cast<std::size_t>(nearest - counts.begin())), kernels::nan_key<T>)};
  call.state.global_threshold = kernels::magnitude_of<T>(cut.key);
  return cut;
}

/// Calls visit(e) for those of the values, counted from 0, that are not zero.
template <class T, class Visit>
void for_each_nonzero(std::span<const T> values, const Visit& visit) {
  for_each_beyond(values, Cut<T>{.key = 1}, 0, visit);
}

/// `last` counts the values that are not zero, from `first` on. Returns that value's number among all values, or the
/// highest number if there are fewer.
template <class T>
sparse::Index last_of_all(std::span<const T> values, std::size_t first, sparse::Index last) {
  sparse::Index found = Cut<T>{0}.last;
  std::size_t number = first;
  for_each_nonzero(values, [&](std::size_t e) {
    if (number++ == last) found = static_cast<sparse::Index>(first + e);
  });
  return found;
}

/// The cut that leaves k of all sums, or all if they are fewer, but no zeros; its magnitude, or 0 in the second case,
/// becomes the state's global threshold. bounds[q] .. bounds[q + 1] become the numbers of rank q's values, of which
/// zeros are none, in the order of regions; the cut counts all values of this rank's region from its first number on.
/// `memory` is room for them all, reduced_bytes(). Where some rank holds more than twice the mean they are shared out
/// first, so that nobody sends more than twice as many as all ranks have: allgathers may send a block log2 P times.
template <class T>
Cut<T> th_re_evaluate(TopKCall<T>& call, const SparseVectorView<T>& reduced, std::span<std::size_t> bounds,
                      std::span<T> memory) {
  const std::span<const T> own = reduced.values;
  std::size_t count = 0;
  for_each_nonzero(own, [&](std::size_t) { ++count; });
  gather_offsets(call.transport, count, bounds);
  if (bounds.back() > memory.size()) sparse::refuse_length(bounds.back() * sizeof(T), memory.size_bytes());
  const std::span<T> values = memory.first(bounds.back());
  const std::size_t first = bounds[static_cast<std::size_t>(call.transport.rank())];
  std::size_t next = first;
  for_each_nonzero(own, [&](std::size_t e) { values[next++] = own[e]; });

  const std::span<std::size_t> shares(call.exchange.problem.bounds_bytes);
  std::copy(bounds.begin(), bounds.end(), shares.begin());
  if (is_uneven(shares, 2)) balance(call.transport, values, shares);
  for (std::size_t& bound : shares) bound *= sizeof(T);
  allgather(call.transport, call.exchange, values);

  const std::size_t k = call.plan.problem.k;
  Cut<T> cut{.key = 0};
  if (k <= values.size()) cut = selection::find_cut<T>(values, k, call.selection);
  call.state.global_threshold = kernels::magnitude_of<T>(cut.key);
  if (cut.key == 0) return {.key = 1};
  if (cut.last >= first) cut.last = last_of_all(own, first, cut.last);
  return cut;
}

}  // namespace dsop::topk
