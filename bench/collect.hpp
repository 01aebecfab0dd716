// What a benchmark needs beyond messages: everybody's numbers in one place, and seconds.
#pragma once

#include <optional>
#include <vector>

#include <dsop/dsop.hpp>
#include <dsop/transport.hpp>

#include "clock.hpp"
#include "host.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::bench {

using patterns::largest_of_all_ranks;
using patterns::of_all_ranks;

/// No rank returns before all ranks have called it.
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

/// Of all ranks, which start together. All get the same.
template <class Body>
double slowest_seconds(Transport& transport, Body body) {
  barrier(transport);
  return largest_of_all_ranks(transport, seconds_of(body));
}

/// As Problem::nodes. All ranks must call it.
inline std::vector<int> nodes_of_ranks(Transport& transport) {
  return shared_nodes(of_all_ranks(transport, transport.node()));
}

/// What calls plan for: `given`, or what they take where nothing is given; in a simulation, where measuring would take
/// long, the transport's. All ranks must call it.
inline Machine machine_of_calls(Transport& transport, const std::optional<Machine>& given) {
  if (given) return *given;
  return is_simulated() ? transport.default_machine() : machine(transport);
}

}  // namespace dsop::bench
