// One item of each rank, known to all, for what is agreed or measured beside the calls.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <dsop/transport.hpp>

#include "patterns/bruck_allgather.hpp"

namespace dsop::patterns {

/// The ranks' items in the order of ranks, on every rank. All ranks must call it.
template <class Item>
std::vector<Item> of_all_ranks(Transport& transport, const Item& own) {
  std::vector<Item> all(static_cast<std::size_t>(transport.size()));
  all[static_cast<std::size_t>(transport.rank())] = own;
  bruck_allgather<Item>(transport, all, Tag::agreement);
  return all;
}

template <class Number>
Number largest_of_all_ranks(Transport& transport, Number own) {
  const std::vector<Number> all = of_all_ranks(transport, own);
  return *std::max_element(all.begin(), all.end());
}

/// Whether it is true on any rank. After step s a rank knows what the 2^s ranks up to itself said.
inline bool on_any_rank(Transport& transport, bool own) {
  const int P = transport.size();
  const int r = transport.rank();
  char any = own ? 1 : 0;
  for (int step = 1; step < P; step *= 2) {
    char theirs = 0;
    transport.sendrecv(std::span(&any, 1), (r + step) % P, std::span(&theirs, 1), (r - step + P) % P, Tag::agreement);
    any |= theirs;
  }
  return any != 0;
}

}  // namespace dsop::patterns
