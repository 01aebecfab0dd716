// Digits drawn by the program itself, for runs without data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "learn/data/digits.hpp"

namespace examples {

/// `count` pictures of 28 x 28: the digits 0 to 9 in random order, each moved, scaled and slanted a little, in ink of
/// varying strength, under noise. The same bits for the same seed.
dsop::learn::Digits draw_digits(std::size_t count, std::uint32_t seed);

}  // namespace examples
