#pragma once

#include <cstddef>
#include <cstdint>

#include "learn/data/digits.hpp"

namespace dsop::learn {

/// Digits for runs without data: `count` pictures of 28 x 28: the digits 0 to 9 in random order, each moved, scaled and
/// slanted a little, in ink of varying strength, under noise. The same bits for the same seed.
Digits draw_digits(std::size_t count, std::uint32_t seed);

}  // namespace dsop::learn
