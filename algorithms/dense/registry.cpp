#include "algorithms/dense/operation.hpp"

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
DenseAlgorithm broadcast_mpi();
DenseAlgorithm broadcast_linear_pipeline();
DenseAlgorithm broadcast_minimum_spanning_tree();
DenseAlgorithm broadcast_bidirectional_exchange();
DenseAlgorithm reduce_mpi();
DenseAlgorithm reduce_linear_pipeline();
DenseAlgorithm reduce_minimum_spanning_tree();
DenseAlgorithm reduce_bidirectional_exchange();
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

const Registry<DenseAlgorithm>& broadcast_algorithms() {
  static const Registry<DenseAlgorithm> registry({
      dense::broadcast_mpi(),
      dense::broadcast_linear_pipeline(),
      dense::broadcast_minimum_spanning_tree(),
      dense::broadcast_bidirectional_exchange(),
  });
  return registry;
}

const Registry<DenseAlgorithm>& reduce_algorithms() {
  static const Registry<DenseAlgorithm> registry({
      dense::reduce_mpi(),
      dense::reduce_linear_pipeline(),
      dense::reduce_minimum_spanning_tree(),
      dense::reduce_bidirectional_exchange(),
  });
  return registry;
}

const Registry<DenseAlgorithm>& algorithms_of(Collective collective) {
  if (collective == Collective::broadcast) return broadcast_algorithms();
  return collective == Collective::reduce ? reduce_algorithms() : dense_algorithms();
}

}  // namespace dsop
