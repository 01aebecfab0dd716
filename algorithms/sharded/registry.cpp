#include "algorithms/sharded/algorithm.hpp"
#include "base/never_destroyed.hpp"

namespace dsop {

namespace sharded {
OuterProductAlgorithm allgather();
OuterProductAlgorithm scattered();
}  // namespace sharded

const Registry<OuterProductAlgorithm>& sharded_algorithms() {
  static const auto& registry = never_destroyed(Registry<OuterProductAlgorithm>({
      sharded::scattered(),
      sharded::allgather(),
  }));
  return registry;
}

}  // namespace dsop
