#include <dsop/problem.hpp>

#include <algorithm>
#include <numeric>
#include <set>

namespace dsop {

std::size_t Problem::total_pairs() const {
  return std::accumulate(pairs.begin(), pairs.end(), std::size_t{0});
}

std::size_t Problem::largest_pairs() const {
  return pairs.empty() ? 0 : *std::max_element(pairs.begin(), pairs.end());
}

std::vector<int> shared_nodes(std::vector<int> node_of_each) {
  if (std::set(node_of_each.begin(), node_of_each.end()).size() == node_of_each.size()) node_of_each.clear();
  return node_of_each;
}

std::size_t AllgatherProblem::largest_bytes() const {
  std::size_t largest = 0;
  for (int r = 0; r < ranks(); ++r) largest = std::max(largest, bytes(r));
  return largest;
}

}  // namespace dsop
