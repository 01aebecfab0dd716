#include "algorithms/topk/algorithm.hpp"

namespace dsop {

namespace topk {
TopKAlgorithm ok_topk();
TopKAlgorithm ok_topk_equal_regions();
TopKAlgorithm ok_topk_direct();
TopKAlgorithm ok_topk_naive();
TopKAlgorithm gtopk();
TopKAlgorithm exact_topk();
TopKAlgorithm gaussian_k();
TopKAlgorithm expected_k();
TopKAlgorithm expected_k_clipped();
TopKAlgorithm expected_k_threshold();
}  // namespace topk

const Registry<TopKAlgorithm>& topk_algorithms() {
  static const Registry<TopKAlgorithm> registry({
      topk::ok_topk(),
      topk::ok_topk_equal_regions(),
      topk::ok_topk_direct(),
      topk::ok_topk_naive(),
      topk::gtopk(),
      topk::exact_topk(),
      topk::gaussian_k(),
      topk::expected_k(),
      topk::expected_k_clipped(),
      topk::expected_k_threshold(),
  });
  return registry;
}

}  // namespace dsop
