#include "algorithms/outer_product/algorithm.hpp"

namespace dsop {

namespace outer_product {
OuterProductAlgorithm allgather();
OuterProductAlgorithm allgather_over(const AllgatherAlgorithm& exchange);
OuterProductAlgorithm allgather_overlapped();
OuterProductAlgorithm bruck_overlapped();
OuterProductAlgorithm generalized_rabenseifner();
OuterProductAlgorithm generalized_rabenseifner_scattered();
OuterProductAlgorithm generalized_rabenseifner_pipelined();
OuterProductAlgorithm generalized_rabenseifner_pipelined_rows();
OuterProductAlgorithm generalized_rabenseifner_subgroup();
OuterProductAlgorithm generalized_rabenseifner_strided_subgroup();
OuterProductAlgorithm replicated_rabenseifner();
OuterProductAlgorithm hierarchical();
OuterProductAlgorithm allreduce_over(const DenseAlgorithm& dense);
// published/
OuterProductAlgorithm rabenseifner_gather();
OuterProductAlgorithm pairwise_reduce_scatter();
}  // namespace outer_product

const Registry<OuterProductAlgorithm>& outer_product_algorithms() {
  static const Registry<OuterProductAlgorithm> registry([] {
    std::vector<OuterProductAlgorithm> algorithms{
        outer_product::allgather(),
        outer_product::allgather_overlapped(),
        outer_product::bruck_overlapped(),
        outer_product::generalized_rabenseifner(),
        outer_product::generalized_rabenseifner_scattered(),
        outer_product::generalized_rabenseifner_pipelined(),
        outer_product::generalized_rabenseifner_pipelined_rows(),
        outer_product::generalized_rabenseifner_subgroup(),
        outer_product::generalized_rabenseifner_strided_subgroup(),
        outer_product::replicated_rabenseifner(),
        outer_product::hierarchical(),
    };
    for (const AllgatherAlgorithm& exchange : allgather_algorithms())
      algorithms.push_back(outer_product::allgather_over(exchange));
    for (const DenseAlgorithm& dense : dense_algorithms()) algorithms.push_back(outer_product::allreduce_over(dense));
    algorithms.insert(algorithms.end(),
                      {outer_product::rabenseifner_gather(), outer_product::pairwise_reduce_scatter()});  // published
    return algorithms;
  }());
  return registry;
}

}  // namespace dsop
