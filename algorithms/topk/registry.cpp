#include "topk/algorithm.hpp"

namespace dsop {

namespace topk {
TopKAlgorithm exact_topk();
TopKAlgorithm gaussian_k();
TopKAlgorithm expected_k();
}  // namespace topk

const Registry<TopKAlgorithm>& topk_algorithms() {
  static const Registry<TopKAlgorithm> registry({
      topk::exact_topk(),
      topk::gaussian_k(),
      topk::expected_k(),
  });
  return registry;
}

}  // namespace dsop
