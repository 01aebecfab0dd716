#include "algorithms/dense/algorithm.hpp"

namespace dsop {

namespace dense {
DenseAlgorithm reduce_mpi();
DenseAlgorithm reduce_linear_pipeline();
DenseAlgorithm reduce_minimum_spanning_tree();
DenseAlgorithm reduce_bidirectional_exchange();
}  // namespace dense

const Registry<DenseAlgorithm>& reduce_algorithms() {
  static const Registry<DenseAlgorithm> registry({
      dense::reduce_mpi(),
      dense::reduce_linear_pipeline(),
      dense::reduce_minimum_spanning_tree(),
      dense::reduce_bidirectional_exchange(),
  });
  return registry;
}

}  // namespace dsop
