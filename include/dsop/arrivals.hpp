// Which rank the others wait for.
#pragma once

#include <cstdint>
#include <vector>

namespace dsop {

/// How late each rank came to the calls on a communicator, the agreements of steps among them. In each call the ranks
/// tell how long they waited for each other in the one before, within 3.2 %; so the last call is not counted yet.
/// Before that all are 0.
struct Arrivals {
  std::uint64_t calls = 0;                    ///< that are counted
  std::vector<double> last_seconds = {};      ///< by rank: how long after the first it came to the last of them
  std::vector<double> mean_seconds = {};      ///< by rank: the mean over all
  std::vector<std::uint64_t> came_last = {};  ///< by rank: to how many it came after all others, as far as told
};

}  // namespace dsop
