// What a benchmark needs beyond messages: everybody's numbers in one place, and seconds.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <dsop/transport.hpp>

#include "clock.hpp"
#include "patterns/bruck_allgather.hpp"

namespace dsop::bench {

/// One number of each rank, on every rank.
template <class Number>
std::vector<Number> of_all_ranks(Transport& transport, Number own) {
  std::vector<Number> all(static_cast<std::size_t>(transport.size()));
  all[static_cast<std::size_t>(transport.rank())] = own;
  patterns::bruck_allgather<Number>(transport, all, Tag::agreement);
  return all;
}

template <class Number>
Number largest_of_all_ranks(Transport& transport, Number own) {
  const std::vector<Number> all = of_all_ranks(transport, own);
  return *std::max_element(all.begin(), all.end());
}

/// Nobody returns before all have come.
inline void barrier(Transport& transport) {
  of_all_ranks(transport, char{0});
}

/// Seconds that body() takes on this rank.
template <class Body>
double seconds_of(Body body) {
  const double start = now_seconds();
  body();
  return now_seconds() - start;
}

}  // namespace dsop::bench
