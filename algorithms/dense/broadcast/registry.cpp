#include "algorithms/dense/algorithm.hpp"

namespace dsop {

namespace dense {
DenseAlgorithm broadcast_mpi();
DenseAlgorithm broadcast_linear_pipeline();
DenseAlgorithm broadcast_minimum_spanning_tree();
DenseAlgorithm broadcast_bidirectional_exchange();
}  // namespace dense

const Registry<DenseAlgorithm>& broadcast_algorithms() {
  static const Registry<DenseAlgorithm> registry({
      dense::broadcast_mpi(),
      dense::broadcast_linear_pipeline(),
      dense::broadcast_minimum_spanning_tree(),
      dense::broadcast_bidirectional_exchange(),
  });
  return registry;
}

}  // namespace dsop
