// What there is, family by family.
#include <dsop/algorithms.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/selection/algorithm.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/topk/algorithm.hpp"

namespace dsop {

std::vector<AlgorithmDescription> describe_algorithms() {
  std::vector<AlgorithmDescription> lines;
  const auto append = [&](const std::string& family, const auto& registry) {
    for (const auto& algorithm : registry) {
      lines.push_back({family, algorithm.name, algorithm.summary, algorithm.source});
      if constexpr (requires { algorithm.published; }) lines.back().published = algorithm.published;
    }
  };
  append("outer-product", outer_product_algorithms());
  append("sharded", sharded_algorithms());
  append("dense", dense_algorithms());
  append("broadcast", broadcast_algorithms());
  append("reduce", reduce_algorithms());
  append("allgather", allgather_algorithms());
  append("sparse", sparse_algorithms());
  append("topk", topk_algorithms());
  append("selection", selection_algorithms());
  return lines;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const OuterProductAlgorithm& algorithm : outer_product_algorithms()) names.push_back(algorithm.name);
  return names;
}

}  // namespace dsop
