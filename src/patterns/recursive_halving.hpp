// Reduce-scatter and allgather on a hypercube.
#pragma once

#include <span>

#include <dsop/transport.hpp>

#include "kernels/add.hpp"
#include "kernels/bf16.hpp"
#include "patterns/blocks.hpp"

namespace dsop::patterns {

/// The blocks that corner `rank` is responsible for once only partners nearer than `distance` are left.
template <class T>
std::span<T> share(const Blocks& blocks, std::span<T> x, int rank, int distance) {
  return blocks.of(x, rank & ~(distance - 1), distance);
}

/// Corner `rank` of `corners`, a power of two, holds a vector x as all do, and ends with the sum of block `rank`.
/// Partners at distance corners/2, ..., 1 swap the halves of what they still hold and add: swap_and_add(partner,
/// theirs, mine) sends `theirs`, and adds what comes to `mine`.
template <class T, class SwapAndAdd>
void recursive_halving(int rank, int corners, const Blocks& blocks, std::span<T> x, SwapAndAdd swap_and_add) {
  for (int distance = corners / 2; distance >= 1; distance /= 2) {
    const int partner = rank ^ distance;
    swap_and_add(partner, share(blocks, x, partner, distance), share(blocks, x, rank, distance));
  }
}

/// The same among the first `corners` ranks, who add in the order of their ranks. `memory` is room for half of x.
/// Messages log2 of the corners.
template <class T>
void recursive_halving(Transport& transport, int corners, const Blocks& blocks, std::span<T> x, std::span<T> memory) {
  const int rank = transport.rank();
  recursive_halving(rank, corners, blocks, x, [&](int partner, std::span<T> theirs, std::span<T> mine) {
    const std::span<T> received = memory.first(mine.size());
    transport.sendrecv(theirs, partner, received, partner);
    if (rank < partner)
      kernels::add<T>(mine, mine, received);
    else
      kernels::add<T>(mine, received, mine);
  });
}

/// The same of what travels as bf16 and is added in f32: an element of x is rounded each time that it is handed on.
/// `memory` is room for x as bf16.
inline void recursive_halving_bf16(Transport& transport, int corners, const Blocks& blocks, std::span<float> x,
                                   std::span<kernels::Bf16> memory) {
  recursive_halving(transport.rank(), corners, blocks, x,
                    [&](int partner, std::span<float> theirs, std::span<float> mine) {
                      const std::span<kernels::Bf16> sent = memory.first(theirs.size());
                      const std::span<kernels::Bf16> received = memory.subspan(theirs.size(), mine.size());
                      kernels::round_to_bf16(sent, theirs);
                      transport.sendrecv(sent, partner, received, partner);
                      kernels::add_widened(mine, received);
                    });
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
