#include "dense/algorithm.hpp"

namespace dsop {

namespace dense {
DenseAlgorithm mpi();
DenseAlgorithm ring();
DenseAlgorithm butterfly();
DenseAlgorithm rabenseifner();
}  // namespace dense

const Registry<DenseAlgorithm>& dense_algorithms() {
  static const Registry<DenseAlgorithm> registry({
      dense::mpi(),
      dense::ring(),
      dense::butterfly(),
      dense::rabenseifner(),
  });
  return registry;
}

}  // namespace dsop
