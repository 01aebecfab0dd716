// Allgather of one small item a rank, in few messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <dsop/transport.hpp>

namespace dsop::patterns {

/// The rounds of bruck_allgather(): item i of `items`, of `item_bytes` each, is that of rank r + i, counted round; the
/// calling rank r's own is the first.
inline void bruck_rounds(Transport& transport, std::span<std::byte> items, std::size_t item_bytes, Tag tag) {
  const int P = transport.size();
  const int r = transport.rank();
  for (int have = 1; have < P; have *= 2) {
    const std::size_t bytes = static_cast<std::size_t>(std::min(have, P - have)) * item_bytes;
    transport.sendrecv(items.first(bytes), (r - have + P) % P,
                       items.subspan(static_cast<std::size_t>(have) * item_bytes, bytes), (r + have) % P, tag);
  }
}

/// Every rank gives items[rank] and ends with the items of all P. Bruck et al., "Efficient Algorithms for All-to-All
/// Communications in Multiport Message-Passing Systems" (1997), section 4: after round j a rank has the items of
/// 2^(j+1) ranks from its own upwards. Messages ceil(log2 P); sends P - 1 items.
template <class Item>
void bruck_allgather(Transport& transport, std::span<Item> items, Tag tag) {
  const int r = transport.rank();
  std::rotate(items.begin(), items.begin() + r, items.end());
  bruck_rounds(transport, std::as_writable_bytes(items), sizeof(Item), tag);
  std::rotate(items.begin(), items.end() - r, items.end());
}

}  // namespace dsop::patterns
