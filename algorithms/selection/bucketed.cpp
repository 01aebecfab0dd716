// The largest magnitudes of each bucket of b elements, so that no part of the vector goes without: SparCML (Renggli et
// al., SC'19), whose experiments take them from buckets of 512.
//
//   Bucket j has the elements from j b on; of the k in all it gets what is due up to its end less what was due up to
//   its begin, floor(k end / N) - floor(k begin / N). It chooses them as exact does.
//
// Where they go is known beforehand: buckets share nothing.
// Cost: one read of all N, each bucket gone through in the cache once for each bit of a magnitude. Buckets of more than
// 4096 are made one after the other, each as exact does. Chooses k.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "algorithms/selection/collect.hpp"

namespace dsop::selection {
namespace {

using kernels::Key;
using sparse::Index;

/// Bucket j's elements and those it chooses, by number.
struct Bucket {
  std::size_t first, last;
  std::size_t first_chosen, last_chosen;

  Bucket(std::size_t j, std::size_t b, std::size_t N, std::size_t k)
      : first(j * b),
        last(N - first < b ? N : first + b),
        first_chosen(due(first, N, k)),
        last_chosen(due(last, N, k)) {}

 private:
  static std::size_t due(std::size_t end, std::size_t N, std::size_t k) {
    return k == N ? end : k * end / N;  // below 2^64, as k < 2^32
  }
};

template <class T>
void choose(SelectionCall<T>& call, const Bucket& bucket, Cut<T> cut) {
  if (cut.last != Cut<T>{}.last) cut.last += static_cast<Index>(bucket.first);
  const Beyond<T> beyond(cut);
  kernels::Picked<T> picked;
  std::size_t e = bucket.first_chosen;
  for_blocks(call.values, bucket.first, bucket.last, [&](std::span<const T> block, std::size_t first) {
    const std::size_t found = beyond(block, static_cast<Index>(first), picked);
    std::copy_n(picked.indices, found, call.indices.data() + e);
    std::copy_n(picked.values, found, call.chosen.data() + e);
    e += found;
    return true;
  });
}

template <class T>
void run(SelectionCall<T>& call) {
  const std::size_t N = call.values.size();
  const std::size_t b = call.parameter < static_cast<double>(N) ? static_cast<std::size_t>(call.parameter) : N;
  const std::size_t buckets = (N + b - 1) / b;
  const std::size_t threads = b > small_vector ? 1 : std::min(buckets, threads_for(N));
  std::atomic<Key<T>> lowest = kernels::nan_key<T>;
  kernels::on_threads(threads, [&](std::size_t t, std::size_t team) {
    for (std::size_t j = buckets * t / team; j < buckets * (t + 1) / team; ++j) {
      const Bucket bucket(j, b, N, call.k);
      const std::span<const T> values = call.values.subspan(bucket.first, bucket.last - bucket.first);
      const std::size_t k = bucket.last_chosen - bucket.first_chosen;
      if (k == 0) continue;
      const Cut<T> cut = b > small_vector ? find_cut(values, k, call.memory) : find_small_cut(values, k);
      choose(call, bucket, cut);
      for (Key<T> seen = lowest; cut.key < seen && !lowest.compare_exchange_weak(seen, cut.key);) {
      }
    }
  });
  call.count = call.k;
  call.threshold = kernels::magnitude_of<T>(lowest);
}

}  // namespace

SelectionAlgorithm bucketed() {
  return {.name = "bucketed",
          .summary = "the largest magnitudes of each bucket of so many elements, k in all",
          .source = "Renggli et al. 2019 (SparCML), experiments",
          .parameter = {.name = "elements a bucket",
                        .values = [] { return std::vector<double>{512}; },
                        .expected = whole_number},
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::selection
