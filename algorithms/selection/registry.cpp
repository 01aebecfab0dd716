#include "algorithms/selection/algorithm.hpp"

namespace dsop {

namespace selection {
SelectionAlgorithm exact();
SelectionAlgorithm expected_k();
SelectionAlgorithm expected_k_uniform();
SelectionAlgorithm bucketed();
SelectionAlgorithm threshold_reuse();
SelectionAlgorithm gaussian();
}  // namespace selection

const Registry<SelectionAlgorithm>& selection_algorithms() {
  static const Registry<SelectionAlgorithm> registry({
      selection::exact(),
      selection::bucketed(),
      selection::threshold_reuse(),
      selection::gaussian(),
      selection::expected_k(),
      selection::expected_k_uniform(),
  });
  return registry;
}

}  // namespace dsop
