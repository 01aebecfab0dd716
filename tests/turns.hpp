// Sweeps that are too wide to run whole every time.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace dsop::tests {

/// Set by scripts/check.
inline bool all_are_asked_for() {
  return std::getenv("DSOP_TEST_ALL") != nullptr;
}

/// One in `every` numbers; all of them where all are asked for.
inline bool takes_turn(std::size_t number, std::size_t every) {
  return all_are_asked_for() || number % every == 0;
}

}  // namespace dsop::tests
