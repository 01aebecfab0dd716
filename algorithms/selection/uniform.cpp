// A random choice of which k elements are expected, each as likely as all: what the choices that prefer large elements
// are compared with. p_i = k / N, each by itself.
//
// Random-k in the literature (Stich, Cordonnier and Jaggi, "Sparsified SGD with Memory", NeurIPS 2018, definition 2.2)
// draws exactly k. What is not finite is chosen in any case, and counts among the k. Reports 0 as the threshold. Cost:
// two reads of all N.
#include "algorithms/selection/draw.hpp"

namespace dsop::selection {
namespace {

template <class T>
void run(SelectionCall<T>& call) {
  const double N = sum_below(call.values, infinity).count;
  const double k = left_of_k(call, N);
  call.threshold = 0;
  draw(call, [p = k / N](double x_i) { return p + 0 * x_i; });  // NaN where x_i is not finite
}

}  // namespace

SelectionAlgorithm uniform() {
  return {.name = "uniform",
          .summary = "a random choice of which k are expected, each as likely as all",
          .source = "after Stich et al. 2018 (random-k), definition 2.2",
          .run = [](auto& call) { run(call); }};
}

}  // namespace dsop::selection
