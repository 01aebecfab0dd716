// One item of each rank, known to all, for what is agreed or measured beside the calls.
#pragma once

#include <algorithm>
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

}  // namespace dsop::patterns
