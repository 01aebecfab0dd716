// Makes algorithms for powers of two work for any number of ranks.
#pragma once

#include <span>

#include <dsop/transport.hpp>

#include "kernels/add.hpp"
#include "patterns/hypercube.hpp"

namespace dsop::patterns {

/// Runs `sum_over_corners` on the hypercube's corners: before, each extra's vector x is added to its corner's; after,
/// the extra gets the result. `received` is room for a copy of x. Adds to the busiest rank's cost: one message of x.
template <class T, class SumOverCorners>
void fold_to_power_of_two(Transport& transport, std::span<T> x, std::span<T> received,
                          SumOverCorners sum_over_corners) {
  const Hypercube cube(transport.rank(), transport.size());
  if (cube.is_extra()) {
    transport.send(x, cube.proxy());
    transport.recv(x, cube.proxy());
    return;
  }
  if (cube.has_extra()) {
    transport.recv(received, cube.extra());
    kernels::add<T>(x, x, received);
  }
  sum_over_corners(cube);
  if (cube.has_extra()) transport.send(x, cube.extra());
}

}  // namespace dsop::patterns
