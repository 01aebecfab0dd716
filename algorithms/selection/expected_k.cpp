// A random choice of which k elements are expected: Renggli, "Efficient Sparse AllReduce For Scalable Machine Learning"
// (master's thesis, ETH Zurich 2017), section 2.4.1. Element i of v is chosen with probability p_i, by itself:
//
//   expected-k           p_i = k |v_i| / norm1                     where norminf <= norm1 / k, else
//                        p_i = k (|v_i| + eps) / (norm1 + N eps)   with eps = (k norminf - norm1) / (N - k)
//   expected-k-clipped   p_i = min(1, k |v_i| / norm1)
//
// The first form's p_i sum to k. Its eps, of which the thesis asks for at least as much, makes the largest element
// certain and all others likelier, zeros too: so of fewer than k that are not zero some are left out. The second form's
// sum to k at most, zeros are never chosen, and norminf is not needed. Beyond the thesis: what is not finite is chosen
// in any case and counts among the k, and v is what remains; where k = N, all are; where all are zero, none.
// Dividing what was chosen by its p_i gives a sparse vector whose expectation is v. The reported threshold is norm1 /
// k, or 0 where zeros may be chosen. Cost: three reads of all N, the second form two.
#include <algorithm>
#include <cmath>

#include "algorithms/selection/draw.hpp"

namespace dsop::selection {
namespace {

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

}  // namespace dsop::selection
