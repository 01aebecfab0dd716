// Into how many segments a pipelined algorithm may cut what it sends.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace dsop {

inline constexpr int most_segments = 64;

/// 2, 4, 8, ... as long as none of the segments of `bytes` is shorter than a cache line; at least 2.
inline std::vector<double> segment_counts(std::size_t bytes, int most = most_segments) {
  constexpr std::size_t shortest_bytes = 64;
  std::vector<double> counts{2};
  for (int count = 4; count <= most && bytes / static_cast<std::size_t>(count) >= shortest_bytes; count *= 2)
    counts.push_back(count);
  return counts;
}

template <int most, class... Subject>
std::string expected_segments(double count, const Subject&...) {
  const bool good = count >= 1 && count <= most && count == std::floor(count);
  return good ? "" : "a whole number of segments from 1 to " + std::to_string(most);
}

}  // namespace dsop
