#include "algorithms/topk/algorithm.hpp"

namespace dsop {

namespace topk {
TopKAlgorithm ok_topk();
TopKAlgorithm gtopk();
TopKAlgorithm exact_topk();
TopKAlgorithm gaussian_k();
TopKAlgorithm expected_k();
TopKAlgorithm expected_k_clipped();
TopKAlgorithm expected_k_threshold();
TopKAlgorithm per_bucket(TopKAlgorithm algorithm);
// published/
TopKAlgorithm ok_topk_equal_regions();
TopKAlgorithm ok_topk_direct();
TopKAlgorithm ok_topk_naive();
TopKAlgorithm ok_topk_unrotated();
TopKAlgorithm ok_topk_unbucketed();
TopKAlgorithm ok_topk_published();
TopKAlgorithm ok_topk_adapting();
}  // namespace topk

const Registry<TopKAlgorithm>& topk_algorithms() {
  static const Registry<TopKAlgorithm> registry([] {
    const std::vector<TopKAlgorithm> of_vectors{
        topk::ok_topk(),
        topk::gtopk(),
        topk::exact_topk(),
        topk::gaussian_k(),
        topk::expected_k(),
        topk::expected_k_clipped(),
        topk::expected_k_threshold(),
    };
    std::vector<TopKAlgorithm> algorithms = of_vectors;
    for (const TopKAlgorithm& algorithm : of_vectors)
      if (!algorithm.exact_sum.empty()) algorithms.push_back(topk::per_bucket(algorithm));
    algorithms.insert(algorithms.end(), {
                                            topk::ok_topk_equal_regions(),
                                            topk::ok_topk_direct(),
                                            topk::ok_topk_naive(),
                                            topk::ok_topk_unrotated(),
                                            topk::ok_topk_unbucketed(),
                                            topk::ok_topk_published(),
                                            topk::ok_topk_adapting(),
                                        });  // published
    return algorithms;
  }());
  return registry;
}

}  // namespace dsop
