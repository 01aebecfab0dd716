#include "algorithms/selection/algorithm.hpp"

namespace dsop {

namespace selection {
SelectionAlgorithm exact();
SelectionAlgorithm expected_k();
SelectionAlgorithm expected_k_clipped();
SelectionAlgorithm expected_k_threshold();
SelectionAlgorithm uniform();
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
      selection::expected_k_clipped(),
      selection::expected_k_threshold(),
      selection::uniform(),
  });
  return registry;
}

}  // namespace dsop
