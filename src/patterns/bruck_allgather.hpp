// Allgather of one small item a rank, in few messages.
#pragma once

#include <algorithm>
#include <span>

#include <dsop/transport.hpp>

namespace dsop::patterns {

/// Every rank gives items[rank] and ends with the items of all P. Bruck et al., "Efficient Algorithms for All-to-All
/// Communications in Multiport Message-Passing Systems" (1997), section 4: after round j a rank has the items of
/// 2^(j+1) ranks from its own upwards. Messages ceil(log2 P); sends P - 1 items.
template <class Item>
void bruck_allgather(Transport& transport, std::span<Item> items, Tag tag) {
  const int P = transport.size();
  const int r = transport.rank();
  std::rotate(items.begin(), items.begin() + r, items.end());
  for (int have = 1; have < P; have *= 2) {
    const auto count = static_cast<std::size_t>(std::min(have, P - have));
    transport.sendrecv(items.first(count), (r - have + P) % P, items.subspan(static_cast<std::size_t>(have), count),
                       (r + have) % P, tag);
  }
  std::rotate(items.begin(), items.end() - r, items.end());
}

}  // namespace dsop::patterns
