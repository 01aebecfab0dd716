// A threshold that is found exactly every tau' steps, and reused in between whatever it chooses: Li and Hoefler,
// "Near-optimal sparse allreduce for distributed deep learning" (PPoPP 2022), algorithm 1, lines 2 to 4.
//
//   1. Every tau' steps: th = the magnitude of the k-th largest.
//   2. All that is at least th.
//
//   threshold-kept      th stays as it was found, as published
//   threshold-adapting  in between th moves, as in the authors' program. While it would choose more than 4k/3, it is
//                       raised by 3 %, at most five times. For the next step it is lowered by 1.2 % if fewer than
//                       2k/3 were chosen, and raised by as much if more than 5k/4 were
//
// Zeros are never chosen. Cost: that of exact where th is found; one read of all N where it is reused, and one more
// each time that th is raised.
#include <algorithm>
#include <cmath>

#include "algorithms/selection/collect.hpp"

namespace dsop::selection {
namespace {

template <class T>
void take_from(SelectionCall<T>& call, double th) {
  take(call, Cut<T>{.key = std::max<kernels::Key<T>>(kernels::key_of(static_cast<T>(th)), 1)});
}

template <class T>
bool found_anew(SelectionCall<T>& call) {
  const double tau_prime = call.parameter;
  call.evaluated = std::fmod(static_cast<double>(call.state.step), tau_prime) == 0;
  if (!call.evaluated) return false;
  call.state.threshold = kernels::magnitude_of<T>(find_cut(call.values, call.k, call.memory).key);
  take_from(call, call.state.threshold);
  return true;
}

template <class T>
void keep(SelectionCall<T>& call) {
  if (!found_anew(call)) take_from(call, call.state.threshold);
}

template <class T>
void adapt(SelectionCall<T>& call) {
  if (found_anew(call)) return;
  double& th = call.state.threshold;
  take_from(call, th);
  for (int raised = 0; raised < 5 && 3 * call.count > 4 * call.k; ++raised) take_from(call, th *= 1.03);
  if (3 * call.count < 2 * call.k)
    th /= 1.012;
  else if (4 * call.count > 5 * call.k)
    th *= 1.012;
}

SelectionAlgorithm named(std::string name, std::string summary, std::string source, TypedRun<SelectionCall> run) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .source = std::move(source),
          .published = true,
          .parameter = {.name = "steps between two evaluations",
                        .values = [] { return std::vector<double>{32}; },
                        .expected = whole_number},
          .run = run};
}

}  // namespace

SelectionAlgorithm threshold_kept() {
  return named("threshold-kept", "what reaches a threshold that is found every tau' steps, however many that are",
               "Li and Hoefler 2022 (Ok-Topk), algorithm 1", [](auto& call) { keep(call); });
}

SelectionAlgorithm threshold_adapting() {
  return named("threshold-adapting",
               "what reaches a threshold that is found every tau' steps and moved a little in between",
               "Li and Hoefler 2022 (Ok-Topk), the authors' program", [](auto& call) { adapt(call); });
}

}  // namespace dsop::selection
