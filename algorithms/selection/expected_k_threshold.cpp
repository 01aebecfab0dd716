// A random choice of which k elements are expected. Element i is chosen with probability min(1, |x_i| / th), by itself,
// where th makes these sum to k.
//
// As Renggli's choice (see expected_k.cpp), the larger the likelier, and k are expected; but here all that is above th
// is certain and zeros are never chosen: of fewer than k that are not zero, all are. What is not finite is chosen in
// any case, and counts among the k. Dividing what was chosen by its probability gives a sparse vector whose expectation
// is all of x: th is reported as the threshold (infinity if all that is chosen is not finite, or th is beyond all
// doubles). The greedy algorithm of Wangni, Wang, Liu and Zhang, "Gradient Sparsification for Communication-Efficient
// Distributed Optimization" (NeurIPS 2018), comes to the same probabilities, for which that vector's variance is least.
// Cost: two reads of all N, and one more each time that some |x_i| turns out to be above th, so that th falls.
#include "algorithms/selection/draw.hpp"

namespace dsop::selection {
namespace {

/// What `scale` times a magnitude is compared with.
struct Threshold {
  double th = infinity;
  double scale = 1;
};

// All that are not below th are certain. Each round adds to them what lies above the next th, until nothing more does.
// Where a sum is beyond all doubles, it is made of smaller numbers; the smallest, which then are zero, don't matter.
template <class T>
Threshold find_th(std::span<const T> x, std::size_t k) {
  Threshold threshold;
  auto& [th, scale] = threshold;
  for (;;) {
    kernels::Below below = sum_below(x, th, scale);
    if (below.sum == infinity) below = sum_below(x, th, scale = 0x1p-64);
    const double certain = static_cast<double>(x.size()) - below.count;
    if (certain >= static_cast<double>(k) || below.sum == 0) return threshold;
    const double next = below.sum / (static_cast<double>(k) - certain);
    if (next >= th) return threshold;
    th = std::max(next, std::numeric_limits<double>::denorm_min());  // not 0, by which nothing can be divided
  }
}

template <class T>
void run(SelectionCall<T>& call) {
  const auto [th, scale] = find_th(call.values, call.k);
  call.threshold = th / scale;
  draw(call, [th = th, scale = scale](double x_i) { return x_i * scale / th; });
}

}  // namespace

SelectionAlgorithm expected_k_threshold() {
  return {.name = "expected-k-threshold",
          .summary = "a random choice of which k are expected, as likely as large up to a threshold, certain above it",
          .source = "Wangni et al. 2018, greedy algorithm",
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::selection
