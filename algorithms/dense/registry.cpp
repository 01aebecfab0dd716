#include "dense/algorithm.hpp"

namespace dsop {

namespace dense {
DenseAlgorithm mpi();
DenseAlgorithm ring();
DenseAlgorithm ring_pipelined();
DenseAlgorithm butterfly();
DenseAlgorithm butterfly_pipelined();
DenseAlgorithm rabenseifner();
}  // namespace dense

const Registry<DenseAlgorithm>& dense_algorithms() {
  static const Registry<DenseAlgorithm> registry({
      dense::mpi(),
      dense::ring(),
      dense::ring_pipelined(),
      dense::butterfly(),
      dense::butterfly_pipelined(),
      dense::rabenseifner(),
  });
  return registry;
}

}  // namespace dsop
