#include "algorithms/topk/algorithm.hpp"

namespace dsop {

namespace topk {
TopKAlgorithm ok_topk();
TopKAlgorithm gtopk();
std::vector<TopKAlgorithm> exact_sums();
// published/
std::vector<TopKAlgorithm> ok_topk_ablations();
TopKAlgorithm ok_topk_published();
TopKAlgorithm ok_topk_adapting();
}  // namespace topk

const Registry<TopKAlgorithm>& topk_algorithms() {
  static const Registry<TopKAlgorithm> registry([] {
    std::vector<TopKAlgorithm> algorithms{topk::ok_topk(), topk::gtopk()};
    const auto append = [&](const std::vector<TopKAlgorithm>& more) {
      algorithms.insert(algorithms.end(), more.begin(), more.end());
    };
    append(topk::exact_sums());
    append(topk::ok_topk_ablations());
    append({topk::ok_topk_published(), topk::ok_topk_adapting()});
    return algorithms;
  }());
  return registry;
}

}  // namespace dsop
