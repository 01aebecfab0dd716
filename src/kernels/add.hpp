// Element-wise sum, the arithmetic of the reductions.
#pragma once

#include <span>

namespace dsop::kernels {

/// sum[i] = left[i] + right[i] on the calling thread. All three have the same length; `sum` may be `left` or `right`,
/// but may not overlap them otherwise.
template <class T>
void add(std::span<T> sum, std::span<const T> left, std::span<const T> right);

}  // namespace dsop::kernels
