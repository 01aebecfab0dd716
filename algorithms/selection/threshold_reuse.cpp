// A threshold that is found exactly now and then, and kept in between unless it is off, as gradients change slowly:
// after Li and Hoefler, "Near-optimal sparse allreduce for distributed deep learning" (PPoPP 2022), section 3.1.3.
//
//   1. Every tau' steps: th = the magnitude of the k-th largest, of whose equals those of lower index are chosen.
//   2. In between: all that is at least th, zeros never. Where that is not within a fifth of k: as in 1., at once.
//
// The last is not in the paper, which keeps th for tau' steps whatever it chooses: where gradients change faster than
// that, as at the end of a training run, th would choose a half of k or twice as many on the way.
// Cost: that of exact where th is found; one read of all N where it is kept.
#include <algorithm>
#include <cmath>

#include "algorithms/selection/collect.hpp"

namespace dsop::selection {
namespace {

template <class T>
void run(SelectionCall<T>& call) {
  const double tau_prime = call.parameter;
  double& th = call.state.threshold;
  if (std::fmod(static_cast<double>(call.state.step), tau_prime) != 0) {
    const auto key = std::max<kernels::Key<T>>(kernels::key_of(static_cast<T>(th)), 1);
    const bool has_all = take(call, Cut<T>{.key = key}) == Collected::all;
    const bool no_more = th == 0 && call.count < call.k;  // they are all that is not zero
    if (has_all && (no_more || is_about(call.count, call.k))) return;
  }
  take(call, find_cut(call.values, call.k, call.memory));
  th = call.threshold;
  call.evaluated = true;
}

}  // namespace

SelectionAlgorithm threshold_reuse() {
  return {.name = "threshold-reuse",
          .summary = "what reaches a threshold that is found every tau' steps, and where it does not give about k",
          .source = "after Li and Hoefler 2022 (Ok-Topk), section 3.1.3, which keeps thresholds whatever they choose",
          .parameter = {.name = "steps between two evaluations",
                        .values = [] { return std::vector<double>{32}; },
                        .expected = whole_number},
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::selection
