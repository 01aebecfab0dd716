// Loops that take turns on one thread of control, so that what else the machine does hits all alike.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dsop::bench {

struct Loop {
  std::string name;
  std::function<void()> run;
  std::size_t calls_per_sample = 1;
  std::vector<double> seconds = {};  ///< a call, one for each round
};

/// Fills `seconds`. The loops take turns in an order drawn anew each round; each sample lasts a millisecond at least
/// and follows an untimed call of the same loop, so that memory is where that loop leaves it.
void measure_rounds(std::vector<Loop>& loops, std::size_t rounds);

}  // namespace dsop::bench
