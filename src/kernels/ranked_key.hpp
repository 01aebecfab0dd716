// Which of a few numbers is the k-th largest.
#pragma once

#include <cstddef>
#include <span>

namespace dsop::kernels {

/// The largest key that at least `rank` (1 .. keys.size()) of `keys` reach, none of which is negative: one bit of it a
/// pass, until no other number would do. Cost: at most as many passes over the keys as the largest has bits, without a
/// branch, so less than nth_element for what fits into a cache.
template <class Number>
Number ranked_key(std::span<const Number> keys, std::size_t rank);

}  // namespace dsop::kernels
