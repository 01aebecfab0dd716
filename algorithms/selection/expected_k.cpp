// Random choices of which k elements are expected, each element i of v by itself with probability p_i:
//
//   expected-k            p_i = k |v_i| / norm1                     where norminf <= norm1 / k, else
//                         p_i = k (|v_i| + eps) / (norm1 + N eps)   with eps = (k norminf - norm1) / (N - k)
//   expected-k-clipped    p_i = min(1, k |v_i| / norm1)
//   expected-k-threshold  p_i = min(1, |v_i| / th)                  with the th that makes these sum to k
//   uniform               p_i = k / N
//
// What is not finite is chosen in any case, and counts among the k. Dividing what was chosen by its p_i gives a sparse
// vector whose expectation is v.
//
// The first two are those of Renggli, "Efficient Sparse AllReduce For Scalable Machine Learning" (master's thesis, ETH
// Zurich 2017), section 2.4.1. The first form's p_i sum to k. Its eps, of which the thesis asks for at least as much,
// makes the largest element certain and all others likelier, zeros too: so of fewer than k that are not zero some are
// left out. The second form's sum to k at most, zeros are never chosen, and norminf is not needed. Where k = N, all are
// chosen; where all are zero, none. The reported threshold is norm1 / k, or 0 where zeros may be chosen. Cost: three
// reads of all N, the second form two.
//
// With the third all that is above th is certain and zeros are never chosen: of fewer than k that are not zero, all
// are. th is the reported threshold (infinity if all that is chosen is not finite, or th is beyond all doubles). The
// greedy algorithm of Wangni, Wang, Liu and Zhang, "Gradient Sparsification for Communication-Efficient Distributed
// Optimization" (NeurIPS 2018), comes to the same probabilities, for which the variance of that vector is least. Cost:
// two reads of all N, and one more each time that some |v_i| turns out to be above th, so that th falls.
//
// The last is what the choices that prefer large elements are compared with. Random-k in the literature (Stich,
// Cordonnier and Jaggi, "Sparsified SGD with Memory", NeurIPS 2018, definition 2.2) draws exactly k. Reports 0 as the
// threshold. Cost: two reads of all N.
#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/selection/collect.hpp"
#include "base/mix.hpp"
#include "kernels/magnitude_sums.hpp"

namespace dsop::selection {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Number and sum of the magnitudes, times `scale`, that are below `th`.
template <class T>
kernels::Below sum_below(std::span<const T> x, double th, double scale = 1) {
  return sum_over(x, [th, scale](std::span<const T> part) { return kernels::sum_below(part, th, scale); });
}

/// How many of the call's k are left for the `finite` values once all others are chosen.
template <class T>
double left_of_k(const SelectionCall<T>& call, double finite) {
  const double others = static_cast<double>(call.values.size()) - finite;
  return std::max(static_cast<double>(call.k) - others, 0.0);
}

/// Chooses element i unless a number drawn from [0, 1), a function of the seed, the step and i, is at least
/// probability(|x_i|). That must be NaN, or at least 1, of what is not finite, since all such is chosen, and a number
/// of all else. More than there is room for: those of the lowest indices.
template <class T, class Probability>
void draw(SelectionCall<T>& call, const Probability& probability) {
  const std::uint64_t stream = mix(mix(call.state.seed) + call.state.step);
  const Collected collected =
      collect(call, [&](std::span<const T> block, sparse::Index first, kernels::Picked<T>& picked) {
        std::size_t count = 0;
        for (std::size_t e = 0; e < block.size(); ++e) {
          const sparse::Index i = first + static_cast<sparse::Index>(e);
          picked.indices[count] = i;
          picked.values[count] = block[e];
          const double drawn = static_cast<double>(mix(stream + i) >> 11) * 0x1p-53;
          count += drawn >= probability(std::abs(static_cast<double>(block[e]))) ? 0 : 1;
        }
        return count;
      });
  call.has_all_not_finite = collected == Collected::all;
}

/// As `Sum` of sum_over().
template <class T>
struct Largest {
  kernels::Key<T> key = 0;
  Largest& operator+=(const Largest& other) {
    key = std::max(key, other.key);
    return *this;
  }
};

template <class T>
double largest_finite(std::span<const T> x) {
  const Largest<T> largest = sum_over(x, [](std::span<const T> part) {
    Largest<T> of_part;
    for (const T x_i : part) {
      const kernels::Key<T> key = kernels::key_of(x_i);
      of_part.key = std::max(of_part.key, key < kernels::infinity_key<T> ? key : 0);
    }
    return of_part;
  });
  return static_cast<double>(kernels::magnitude_of<T>(largest.key));
}

/// A power of two that makes `largest` about 1, so that no sum of magnitudes overflows or is subnormal.
double scale_to_one(double largest) {
  return std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000));
}

/// By p_i = k |v_i| / norm1, and 0 where all are zero.
template <class T>
void draw_by_norm1(SelectionCall<T>& call, double k, double scale, double norm1) {
  draw(call, [k, scale, norm1 = norm1 > 0 ? norm1 : 1](double v_i) { return k * (scale * v_i) / norm1; });
}

template <class T>
void run(SelectionCall<T>& call) {
  const double largest = largest_finite(call.values);
  const double scale = scale_to_one(largest);
  const double norminf = scale * largest;
  const kernels::Below all = sum_below(call.values, infinity, scale);
  const double N = all.count, norm1 = all.sum;
  const double k = left_of_k(call, N);
  call.threshold = norm1 > 0 ? norm1 / k / scale : infinity;
  if (!(norminf > norm1 / k)) return draw_by_norm1(call, k, scale, norm1);  // 0 / 0 too, where zeros are left alone
  call.threshold = 0;
  if (k == N) return draw(call, [](double) { return 1.0; });
  const double eps = (k * norminf - norm1) / (N - k);
  draw(call, [&](double v_i) { return k * (scale * v_i + eps) / (norm1 + N * eps); });
}

template <class T>
void run_clipped(SelectionCall<T>& call) {
  double scale = 1;
  kernels::Below all = sum_below(call.values, infinity);
  if (all.sum == infinity) all = sum_below(call.values, infinity, scale = 0x1p-64);
  const double norm1 = all.sum;
  const double k = left_of_k(call, all.count);
  call.threshold = norm1 > 0 ? norm1 / k / scale : infinity;
  draw_by_norm1(call, k, scale, norm1);  // what is drawn is below 1
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
    th = std::max(next, std::numeric_limits<double>::denorm_min());  // not 0, by which nothing can be divided
  }
}

template <class T>
void run_threshold(SelectionCall<T>& call) {
  const Threshold found = find_th(call.values, call.k);
  call.threshold = found.th / found.scale;
  draw(call, [found](double x_i) { return x_i * found.scale / found.th; });
}

template <class T>
void run_uniform(SelectionCall<T>& call) {
  const double N = sum_below(call.values, infinity).count;
  const double k = left_of_k(call, N);
  call.threshold = 0;
  draw(call, [p = k / N](double x_i) { return p + 0 * x_i; });  // NaN where x_i is not finite
}

}  // namespace

SelectionAlgorithm expected_k() {
  return {.name = "expected-k",
          .summary = "a random choice of which k are expected, the larger the likelier",
          .source = "Renggli 2017 (SparCML's thesis), section 2.4.1",
          .run = [](auto& call) { run(call); }};
}

SelectionAlgorithm expected_k_clipped() {
  return {.name = "expected-k-clipped",
          .summary = "a random choice of which at most k are expected, by k times an element's share of the norm",
          .source = "Renggli 2017 (SparCML's thesis), section 2.4.1",
          .run = [](auto& call) { run_clipped(call); }};
}

SelectionAlgorithm expected_k_threshold() {
  return {.name = "expected-k-threshold",
          .summary = "a random choice of which k are expected, as likely as large up to a threshold, certain above it",
          .source = "Wangni et al. 2018, greedy algorithm",
          .run = [](auto& call) { run_threshold(call); }};
}

SelectionAlgorithm uniform() {
  return {.name = "uniform",
          .summary = "a random choice of which k are expected, each as likely as all",
          .source = "after Stich et al. 2018 (random-k), definition 2.2",
          .run = [](auto& call) { run_uniform(call); }};
}

}  // namespace dsop::selection
