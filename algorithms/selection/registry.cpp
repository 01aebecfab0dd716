#include "algorithms/selection/algorithm.hpp"

namespace dsop {

namespace selection {
SelectionAlgorithm exact();
SelectionAlgorithm expected_k();
SelectionAlgorithm expected_k_clipped();
SelectionAlgorithm expected_k_threshold();
SelectionAlgorithm uniform();
SelectionAlgorithm threshold_reuse();
SelectionAlgorithm gaussian();
SelectionAlgorithm per_bucket(const SelectionAlgorithm& selection);
// published/
SelectionAlgorithm threshold_kept();
SelectionAlgorithm threshold_adapting();
}  // namespace selection

const Registry<SelectionAlgorithm>& selection_algorithms() {
  static const Registry<SelectionAlgorithm> registry([] {
    const std::vector<SelectionAlgorithm> of_vectors{
        selection::exact(),      selection::threshold_reuse(),    selection::gaussian(),
        selection::expected_k(), selection::expected_k_clipped(), selection::expected_k_threshold(),
        selection::uniform(),
    };
    std::vector<SelectionAlgorithm> algorithms = of_vectors;
    for (const SelectionAlgorithm& algorithm : of_vectors)  // those with a number keep a threshold
      if (algorithm.parameter.name.empty()) algorithms.push_back(selection::per_bucket(algorithm));
    algorithms.insert(algorithms.end(), {selection::threshold_kept(), selection::threshold_adapting()});  // published
    return algorithms;
  }());
  return registry;
}

}  // namespace dsop
