// Sweeps that are too wide to run whole every time.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace dsop::tests {

/// One in `every` numbers; all of them with DSOP_TEST_ALL set (scripts/check).
inline bool takes_turn(std::size_t number, std::size_t every) {
  return std::getenv("DSOP_TEST_ALL") != nullptr || number % every == 0;
}

}  // namespace dsop::tests
