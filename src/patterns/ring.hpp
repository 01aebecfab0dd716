// Ranks in a circle: everybody sends to the right and receives from the left.
#pragma once

#include <dsop/transport.hpp>

namespace dsop::patterns {

struct Ring {
  explicit Ring(const Transport& transport) : rank(transport.rank()), size(transport.size()) {}

  int right() const { return wrap(rank + 1); }
  int left() const { return wrap(rank - 1); }
  int wrap(int block) const { return (block % size + size) % size; }

  int rank;
  int size;
};

/// Every rank starts with block `mine` (rank + the same shift everywhere) and ends with all P: after step s it passes
/// on what came in step s - 1. `block(b)` is the span where block b belongs; blocks may differ in size and be empty.
/// Messages P - 1; sends every block but that of its right neighbour, `mine` + 1.
template <class BlockOf>
void ring_allgather(Transport& transport, int mine, BlockOf block) {
  const Ring ring(transport);
  for (int s = 0; s < ring.size - 1; ++s)
    transport.sendrecv(block(ring.wrap(mine - s)), ring.right(), block(ring.wrap(mine - s - 1)), ring.left());
}

}  // namespace dsop::patterns
