#include "algorithms/dense/algorithm.hpp"

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
  static const Registry<DenseAlgorithm> registry({
      dense::mpi(),
      dense::ring(),
      dense::ring_pipelined(),
      dense::butterfly(),
      dense::butterfly_pipelined(),
      dense::rabenseifner(),
      dense::linear_pipeline(),
      dense::minimum_spanning_tree(),
  });
  return registry;
}

}  // namespace dsop
