// Ranks as a tree in which everybody with a message sends it on at each step.
#pragma once

#include <bit>
#include <span>

#include <dsop/transport.hpp>

#include "kernels/add.hpp"
#include "patterns/recursive_halving.hpp"

namespace dsop::patterns {

/// Rank 0 is the root; any other's parent is the rank without its lowest bit. Example, 6 ranks: 0 has the children
/// 1, 2 and 4, 2 has 3, and 4 has 5.
struct BinomialTree {
  BinomialTree(int rank_, int size_)
      : rank(rank_),
        size(size_),
        reach(rank_ == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(size_))) : rank_ & -rank_) {}

  bool is_root() const { return rank == 0; }
  int parent() const { return rank - reach; }
  bool has_child(int distance) const { return rank + distance < size; }
  int steps() const { return static_cast<int>(std::bit_width(static_cast<unsigned>(size - 1))); }

  int rank;
  int size;
  int reach;  ///< children are at the distances 1, 2, 4, ... below it, as far as there are ranks
};

/// `x` becomes that of rank 0. Messages of the root: ceil(log2 P).
template <class T>
void tree_broadcast(Transport& transport, std::span<T> x) {
  const BinomialTree tree(transport.rank(), transport.size());
  if (!tree.is_root()) transport.recv(x, tree.parent());
  for (int distance = tree.reach / 2; distance >= 1; distance /= 2)
    if (tree.has_child(distance)) transport.send(x, tree.rank + distance);
}

/// `x` of rank 0 becomes the sum, in the order of the ranks; the others' become partial sums. `received` is room for a
/// copy of x. One message of each rank but the root.
template <class T>
void tree_reduce(Transport& transport, std::span<T> x, std::span<T> received) {
  const BinomialTree tree(transport.rank(), transport.size());
  for (int distance = 1; distance < tree.reach; distance *= 2) {
    if (!tree.has_child(distance)) continue;
    transport.recv(received, tree.rank + distance);
    kernels::add<T>(x, x, received);
  }
  if (!tree.is_root()) transport.send(x, tree.parent());
}

/// Block r of rank 0's `x` comes to rank r, of the first `corners`, a power of two. Messages of the root: log2 of them.
template <class T>
void tree_scatter(Transport& transport, int corners, const Blocks& blocks, std::span<T> x) {
  const BinomialTree tree(transport.rank(), corners);
  if (!tree.is_root()) transport.recv(share(blocks, x, tree.rank, tree.reach), tree.parent());
  for (int distance = tree.reach / 2; distance >= 1; distance /= 2)
    transport.send(share(blocks, x, tree.rank + distance, distance), tree.rank + distance);
}

/// The way back. One message of each rank but the root.
template <class T>
void tree_gather(Transport& transport, int corners, const Blocks& blocks, std::span<T> x) {
  const BinomialTree tree(transport.rank(), corners);
  for (int distance = 1; distance < tree.reach; distance *= 2)
    transport.recv(share(blocks, x, tree.rank + distance, distance), tree.rank + distance);
  if (!tree.is_root()) transport.send(share(blocks, x, tree.rank, tree.reach), tree.parent());
}

}  // namespace dsop::patterns
