// Ranks in words.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace dsop {

/// "rank 3", "ranks 0-2, 5"; ranks in rising order.
inline std::string list_ranks(const std::vector<int>& ranks) {
  std::string list;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!list.empty()) list += ", ";
    list += std::to_string(ranks[i]);
    if (last > i) list.append("-").append(std::to_string(ranks[last]));
    i = last + 1;
  }
  return std::string(ranks.size() == 1 ? "rank " : "ranks ").append(list);
}

/// Which ranks have which value; value_of(rank) is a text.
template <class ValueOf>
std::map<std::string, std::vector<int>> ranks_by_value(int ranks, ValueOf value_of) {
  std::map<std::string, std::vector<int>> groups;
  for (int rank = 0; rank < ranks; ++rank) groups[value_of(rank)].push_back(rank);
  return groups;
}

}  // namespace dsop
