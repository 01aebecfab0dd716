// What a reduce-scatter by recursive halving costs, the step that several algorithms share.
#pragma once

#include <cstddef>

#include <dsop/counting.hpp>

#include "patterns/blocks.hpp"
#include "patterns/steps.hpp"

namespace dsop::dense {

/// Of patterns::recursive_halving() with these blocks, of elements of so many bytes.
struct HalvingCost {
  patterns::Blocks blocks;
  int corners;
  std::size_t element_bytes;

  /// By a corner of that rank.
  Traffic sent(int rank) const {
    Traffic sent;
    for (int distance = 1; distance < corners; distance *= 2)
      sent = sent + Traffic{1, share(rank ^ distance, distance) * element_bytes};
    return sent;
  }
  /// By the corner with the most, as below.
  double additions() const {
    double additions = 0;
    for (int distance = 1; distance < corners; distance *= 2) additions += static_cast<double>(share(0, distance));
    return additions;
  }
  double communication_seconds(const patterns::Network& network) const {
    double seconds = 0;
    for (int distance = 1; distance < corners; distance *= 2)
      seconds += patterns::hypercube_step(network, corners, distance, share(0, distance) * element_bytes).seconds();
    return seconds;
  }

 private:
  std::size_t share(int rank, int distance) const { return blocks.size(rank & ~(distance - 1), distance); }
};

}  // namespace dsop::dense
