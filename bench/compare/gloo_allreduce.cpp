// Gloo's allreduce algorithms as rivals.
//
//   1. Every rank makes its own A_r^T B_r.
//   2. Gloo sums.
#include "compare/gloo.hpp"

namespace dsop::bench::compare {
namespace {

Rival over_gloo(const std::string& name, GlooAlgorithm algorithm, const std::string& how, const std::string& source) {
  return {.name = name,
          .summary = "own product, then Gloo's " + how,
          .source = "Gloo, " + source,
          .dense = true,
          .unsupported = [](const Transport&) { return gloo_unavailable(); },
          .flops = own_product_flops,
          .workspace_elements = [](const Problem& problem) { return 2 * problem.rows * problem.columns; },
          .prepare = product_then([name, algorithm]<class T>(Transport& transport, std::span<T> elements) {
            return gloo_sum(transport, algorithm, elements, name);
          })};
}

}  // namespace

std::vector<Rival> gloo_allreduces() {
  return {over_gloo("gloo-ring", GlooAlgorithm::ring, "ring, what PyTorch calls", "allreduce.h, RING"),
          over_gloo("gloo-halving-doubling", GlooAlgorithm::halving_doubling, "recursive halving and doubling",
                    "allreduce_halving_doubling.h")};
}

}  // namespace dsop::bench::compare
