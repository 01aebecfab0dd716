// Ranks as the corners of a hypercube, for any number of them.
#pragma once

#include <bit>

namespace dsop::patterns {

/// The first `corners` of P ranks take part in something; each of the rest, who are no more, is the `extra` of a
/// corner, which takes part for it. Example: 4 corners of P = 6: rank 4 is the extra of 0, rank 5 of 1.
struct Corners {
  bool is_extra() const { return rank >= corners; }
  bool has_extra() const { return rank + corners < ranks; }
  int extra() const { return rank + corners; }
  int proxy() const { return rank - corners; }

  int rank;
  int ranks;
  int corners;
};

/// The largest power of two of the P ranks are the corners.
struct Hypercube : Corners {
  Hypercube(int rank_, int ranks_)
      : Corners{rank_, ranks_, static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks_)))} {}

  int dimensions() const { return static_cast<int>(std::bit_width(static_cast<unsigned>(corners))) - 1; }
};

}  // namespace dsop::patterns
