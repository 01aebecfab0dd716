// Sums over a vector by which thresholds are set. The same bits with every instruction set: eight sums side by side, no
// fused multiply-add.
#pragma once

#include <span>

namespace dsop::kernels {

/// Power sums of the finite values.
struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;

  Moments& operator+=(const Moments& other);
};
template <class T>
Moments moments(std::span<const T> values);

/// Counts and sums the magnitudes, times a scale, that are below a threshold. NaN is not below it.
struct Below {
  double count = 0;
  double sum = 0;

  Below& operator+=(const Below& other);
};
template <class T>
Below sum_below(std::span<const T> values, double threshold, double scale = 1);

}  // namespace dsop::kernels
