// A threshold that is found exactly now and then, and kept in between, as gradients change slowly: Li and Hoefler,
// "Near-optimal sparse allreduce for distributed deep learning" (PPoPP 2022), section 3.1.3.
//
//   1. Every tau' steps: th = the magnitude of the k-th largest, of whose equals those of lower index are chosen.
//   2. In between: all that is at least th. Zeros are never chosen so. More than there is room for: as in 1.
//
// Cost: that of exact every tau' steps; one read of all N in between.
#include <algorithm>
#include <cmath>

#include "selection/collect.hpp"

namespace dsop::selection {
namespace {

template <class T>
void run(SelectionCall<T>& call) {
  const double tau_prime = call.parameter;
  double& th = call.state.threshold;
  if (std::fmod(static_cast<double>(call.state.step), tau_prime) != 0) {
    const auto key = std::max<kernels::Key<T>>(kernels::key_of(static_cast<T>(th)), 1);
    if (take(call, Cut<T>{.key = key}) == Collected::all) return;
  }
  take(call, find_cut(call.values, call.k, call.memory));
  th = call.threshold;
}

}  // namespace

SelectionAlgorithm threshold_reuse() {
  return {.name = "threshold-reuse",
          .summary = "what reaches a threshold that is found exactly every tau' steps and kept in between",
          .source = "Li and Hoefler 2022 (Ok-Topk), section 3.1.3",
          .parameter = {.name = "steps between two evaluations",
                        .values = [] { return std::vector<double>{32}; },
                        .expected = whole_number},
          .run = {run<float>, run<double>}};
}

}  // namespace dsop::selection
