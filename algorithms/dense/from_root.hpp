// Any root, for algorithms whose root is rank 0.
#pragma once

#include "transport/subset.hpp"

namespace dsop::dense {

/// All ranks of `transport`, numbered from `root` on: rank v is rank (root + v) mod P of `transport`.
inline auto from_root(Transport& transport, int root) {
  const int P = transport.size();
  return Subset(transport, (transport.rank() - root + P) % P, P, [=](int v) { return (root + v) % P; });
}

}  // namespace dsop::dense
