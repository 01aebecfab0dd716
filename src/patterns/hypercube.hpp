// Ranks as the corners of a hypercube, for any number of them.
#pragma once

#include <bit>

namespace dsop::patterns {

/// The largest power of two of the P ranks are the corners; each of the rest is the `extra` of a corner, which takes
/// part for it. Example: P = 6: corners 0 1 2 3; rank 4 is the extra of 0, rank 5 of 1.
struct Hypercube {
  Hypercube(int rank_, int ranks_)
      : rank(rank_), ranks(ranks_), corners(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks_)))) {}

  bool is_extra() const { return rank >= corners; }
  bool has_extra() const { return rank + corners < ranks; }
  int extra() const { return rank + corners; }
  int proxy() const { return rank - corners; }
  int dimensions() const { return static_cast<int>(std::bit_width(static_cast<unsigned>(corners))) - 1; }

  int rank;
  int ranks;
  int corners;
};

}  // namespace dsop::patterns
