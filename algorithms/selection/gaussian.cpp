// A threshold from mean and standard deviation, as if values were normal: GaussianK of Shi et al., "Understanding top-k
// sparsification in distributed deep learning" (2019), scaled as Li and Hoefler ran it ("Near-optimal sparse allreduce
// for distributed deep learning", PPoPP 2022): until at least 3k/4 are chosen.
//
//   1. mu, sigma of all finite values; th = |mu| + sigma z, where a normal value lies beyond z with probability k / 2N.
//   2. All that is at least th. Zeros are never chosen so.
//   3. Fewer than 3k/4: th becomes the largest that gives 3k/4. More than there is room for: the one that gives k.
//
// Instead of trying one scale after the other, 3. finds where that would end. It is needed often: of a mixture of
// narrow and wide, th chooses more than k where k is a small share of N, fewer where it is a large one. How many 2.
// would give is told too, estimated where there is no room for all. Cost: two reads of all N, and that of exact if 3.
// is needed.
#include <algorithm>
#include <cmath>

#include "algorithms/selection/collect.hpp"
#include "kernels/magnitude_sums.hpp"

namespace dsop::selection {
namespace {

/// The z beyond which a standard normal value lies with probability `tail`, at most 1/2.
double normal_quantile(double tail) {
  double low = 0;
  double high = 40;  // no double is as small as what lies beyond
  for (int half = 0; half < 60; ++half) {
    const double z = (low + high) / 2;
    (std::erfc(z / std::sqrt(2.0)) / 2 > tail ? low : high) = z;
  }
  return high;
}

/// About how many are beyond the cut: by the first sixteenth of each part.
template <class T>
std::size_t estimate_beyond(std::span<const T> values, Cut<T> cut) {
  return sum_over(values, [cut](std::span<const T> part) {
    constexpr std::size_t least = 512;
    const std::size_t looked_at = std::min(part.size(), std::max(least, part.size() / 16));
    std::size_t count = 0;
    kernels::Picked<T> picked;
    for_blocks(part, 0, looked_at, [&](std::span<const T> block, std::size_t first) {
      count += those_inside(block, first, {.low = cut.key}, picked).size();
      return true;
    });
    return count * part.size() / looked_at;
  });
}

template <class T>
void run(SelectionCall<T>& call) {
  const auto N = static_cast<double>(call.values.size());
  const auto k = static_cast<double>(call.k);
  const kernels::Moments moments = sum_over(call.values, kernels::moments<T>);
  const double count = std::max(moments.count, 1.0);
  const double mu = moments.sum / count;
  const double sigma = std::sqrt(std::max(moments.squares / count - mu * mu, 0.0));
  const T th = static_cast<T>(std::abs(mu) + sigma * normal_quantile(k / (2 * N)));

  const Cut<T> at_least_th{.key = std::max<kernels::Key<T>>(kernels::key_of(th), 1)};
  const Collected collected = take(call, at_least_th);
  call.predicted = collected == Collected::all ? call.count : estimate_beyond(call.values, at_least_th);
  const std::size_t enough = (3 * call.k + 3) / 4;
  if (collected == Collected::as_many_as_fit)
    take(call, find_cut(call.values, call.k, call.memory));
  else if (call.count < enough)
    take(call, find_cut(call.values, enough, call.memory));
}

}  // namespace

SelectionAlgorithm gaussian() {
  return {.name = "gaussian",
          .summary = "what reaches the threshold that would choose k of normal values, at least 3k/4",
          .source = "Shi et al. 2019 (GaussianK), as run by Li and Hoefler 2022",
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::selection
