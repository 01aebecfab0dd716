// A random choice of which k elements are expected: Renggli, "SparCML: High-Performance Sparse Communication for
// Machine Learning" (master's thesis, ETH 2017), section 2.4.1. Element i is chosen with probability p_i, by itself:
//
//   expected-k           p_i = min(1, |x_i| / th), where th makes them sum to k: the larger, the likelier
//   expected-k-uniform   p_i = k / N
//
// What is not finite is chosen in any case, and counts among the k. Dividing what was chosen by its p_i gives a sparse
// vector whose expectation is all of x: th is reported as the threshold (infinity if all that is chosen is not finite,
// or th is beyond all doubles; 0 for the uniform choice). Of fewer than k that are not zero, expected-k takes all.
// Element i's draw is a function of the seed, the step and i. More than there is room for: those of the lowest indices.
// Cost: expected-k two reads of all N, and one more each time that some |x_i| turns out to be above th, so that th
// falls; expected-k-uniform two.
#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/selection/collect.hpp"
#include "base/mix.hpp"
#include "kernels/magnitude_sums.hpp"

namespace dsop::selection {
namespace {

using sparse::Index;

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
kernels::Below sum_below(std::span<const T> x, double th, double scale = 1) {
  return sum_over(x, [th, scale](std::span<const T> part) { return kernels::sum_below(part, th, scale); });
}

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
    th = next;
  }
}

/// Chooses element i if a number drawn from [0, 1) is below probability(x_i), or that is NaN.
template <class T, class Probability>
void draw(SelectionCall<T>& call, const Probability& probability) {
  const std::uint64_t stream = mix(mix(call.state.seed) + call.state.step);
  const Collected collected = collect(call, [&](std::span<const T> block, Index first, kernels::Picked<T>& picked) {
    std::size_t count = 0;
    for (std::size_t e = 0; e < block.size(); ++e) {
      const Index i = first + static_cast<Index>(e);
      picked.indices[count] = i;
      picked.values[count] = block[e];
      const double drawn = static_cast<double>(mix(stream + i) >> 11) * 0x1p-53;
      count += drawn >= probability(block[e]) ? 0 : 1;
    }
    return count;
  });
  call.has_all_not_finite = collected == Collected::all;
}

template <class T>
void run(SelectionCall<T>& call) {
  const auto [th, scale] = find_th(call.values, call.k);
  call.threshold = th / scale;
  draw(call, [th = th, scale = scale](T x_i) { return std::abs(static_cast<double>(x_i)) * scale / th; });
}

template <class T>
void run_uniform(SelectionCall<T>& call) {
  const double finite = sum_below(call.values, infinity).count;
  const double certain = static_cast<double>(call.values.size()) - finite;
  const double p = std::max(static_cast<double>(call.k) - certain, 0.0) / std::max(finite, 1.0);
  draw(call, [p](T x_i) { return std::isfinite(x_i) ? p : 1; });
}

}  // namespace

SelectionAlgorithm expected_k() {
  return {.name = "expected-k",
          .summary = "a random choice of which k are expected, the larger the likelier",
          .source = "Renggli 2017 (SparCML's thesis), section 2.4.1",
          .run = [](auto& call) { run(call); }};
}

SelectionAlgorithm expected_k_uniform() {
  return {.name = "expected-k-uniform",
          .summary = "a random choice of which k are expected, each as likely as all",
          .source = "Renggli 2017 (SparCML's thesis), section 2.4.1",
          .run = [](auto& call) { run_uniform(call); }};
}

}  // namespace dsop::selection
