#include <dsop/problem.hpp>

#include <algorithm>
#include <numeric>

namespace dsop {

std::size_t Problem::total_pairs() const {
  return std::accumulate(pairs.begin(), pairs.end(), std::size_t{0});
}

std::size_t Problem::largest_pairs() const {
  return pairs.empty() ? 0 : *std::max_element(pairs.begin(), pairs.end());
}

std::size_t AllgatherProblem::largest_bytes() const {
  std::size_t largest = 0;
  for (int r = 0; r < ranks(); ++r) largest = std::max(largest, bytes(r));
  return largest;
}

}  // namespace dsop
