#include "algorithms/outer_product/algorithm.hpp"

namespace dsop {

namespace sharded {
OuterProductAlgorithm allgather();
OuterProductAlgorithm scattered();
}  // namespace sharded

const Registry<OuterProductAlgorithm>& sharded_algorithms() {
  static const Registry<OuterProductAlgorithm> registry({
      sharded::scattered(),
      sharded::allgather(),
  });
  return registry;
}

}  // namespace dsop
