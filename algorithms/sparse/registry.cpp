#include "algorithms/sparse/algorithm.hpp"

namespace dsop {

namespace sparse {
SparseAlgorithm allgather();
SparseAlgorithm ssar_recursive_doubling();
SparseAlgorithm ssar_split_allgather();
SparseAlgorithm dsar_split_allgather();
SparseAlgorithm dsar_early_switch();
SparseAlgorithm topk_dsa();
SparseAlgorithm dense_over(const DenseAlgorithm& dense);
}  // namespace sparse

const Registry<SparseAlgorithm>& sparse_algorithms() {
  static const Registry<SparseAlgorithm> registry([] {
    std::vector<SparseAlgorithm> algorithms{
        sparse::allgather(),
        sparse::ssar_recursive_doubling(),
        sparse::ssar_split_allgather(),
        sparse::dsar_split_allgather(),
        sparse::dsar_early_switch(),
        sparse::topk_dsa(),
    };
    for (const DenseAlgorithm& dense : dense_algorithms()) algorithms.push_back(sparse::dense_over(dense));
    return algorithms;
  }());
  return registry;
}

}  // namespace dsop
