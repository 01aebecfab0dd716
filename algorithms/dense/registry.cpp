#include "algorithms/dense/algorithm.hpp"
#include "base/never_destroyed.hpp"

namespace dsop {

namespace dense {
DenseAlgorithm mpi();
DenseAlgorithm ring();
DenseAlgorithm ring_pipelined();
DenseAlgorithm butterfly();
DenseAlgorithm butterfly_pipelined();
DenseAlgorithm rabenseifner();
DenseAlgorithm linear_pipeline();
DenseAlgorithm minimum_spanning_tree();
}  // namespace dense

const Registry<DenseAlgorithm>& dense_algorithms() {
  static const auto& registry = never_destroyed(Registry<DenseAlgorithm>({
      dense::mpi(),
      dense::ring(),
      dense::ring_pipelined(),
      dense::butterfly(),
      dense::butterfly_pipelined(),
      dense::rabenseifner(),
      dense::linear_pipeline(),
      dense::minimum_spanning_tree(),
  }));
  return registry;
}

}  // namespace dsop
