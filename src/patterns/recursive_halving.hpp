// Reduce-scatter and allgather on a hypercube.
#pragma once

#include <span>

#include <dsop/transport.hpp>

#include "kernels/add.hpp"
#include "patterns/blocks.hpp"

namespace dsop::patterns {

/// The blocks that corner `rank` is responsible for once only partners nearer than `distance` are left.
template <class T>
std::span<T> share(const Blocks& blocks, std::span<T> x, int rank, int distance) {
  return blocks.of(x, rank & ~(distance - 1), distance);
}

/// The first `corners` ranks, a power of two, hold a vector x each; rank r of them ends with the sum of block r.
/// Partners at distance corners/2, ..., 1 swap the halves of what they still hold and add, in the order of their ranks.
/// `memory` is room for half of x. Messages log2 of the corners.
template <class T>
void recursive_halving(Transport& transport, int corners, const Blocks& blocks, std::span<T> x, std::span<T> memory) {
  const int rank = transport.rank();
  for (int distance = corners / 2; distance >= 1; distance /= 2) {
    const int partner = rank ^ distance;
    const std::span<T> mine = share(blocks, x, rank, distance);
    const std::span<T> received = memory.first(mine.size());
    transport.sendrecv(share(blocks, x, partner, distance), partner, received, partner);
    if (rank < partner)
      kernels::add<T>(mine, mine, received);
    else
      kernels::add<T>(mine, received, mine);
  }
}

/// The way back: corner r starts with block r and ends with all. Messages log2 of the corners.
template <class T>
void recursive_doubling(Transport& transport, int corners, const Blocks& blocks, std::span<T> x) {
  const int rank = transport.rank();
  for (int distance = 1; distance < corners; distance *= 2) {
    const int partner = rank ^ distance;
    transport.sendrecv(share(blocks, x, rank, distance), partner, share(blocks, x, partner, distance), partner);
  }
}

}  // namespace dsop::patterns
