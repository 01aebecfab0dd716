// The k largest magnitudes: Top-k as all selecting algorithms mean it (Aji and Heafield, "Sparse communication for
// distributed gradient descent", 2017).
//
//   1. Find the magnitude of the k-th largest, and the index up to which its equals are chosen: by a sample, and where
//      that misses it, by digits as in radix selection.
//   2. Collect what lies beyond.
//
// Cost: as a rule two reads of all N: one that gathers candidates, one that collects. Chooses k.
#include "algorithms/selection/collect.hpp"

namespace dsop::selection {
namespace {

template <class T>
void run(SelectionCall<T>& call) {
  take(call, find_cut(call.values, call.k, call.memory));
}

}  // namespace

SelectionAlgorithm exact() {
  return {.name = "exact",
          .summary = "the k largest magnitudes, of equals those of lower index",
          .source = "Aji and Heafield 2017, section 3",
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::selection
