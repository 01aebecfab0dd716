// What the DSOP paper's authors had before Generalized Rabenseifner (Enderlin et al. 2021), theirs for powers of two
// alone: generalized-rabenseifner-scattered with whole rows, p_r = P, and a butterfly as the allgather.
#include "algorithms/outer_product/algorithm.hpp"

namespace dsop::outer_product {

OuterProductAlgorithm generalized_rabenseifner_scattered();

OuterProductAlgorithm rabenseifner_gather() {
  OuterProductAlgorithm algorithm = generalized_rabenseifner_scattered();
  algorithm.name = "rabenseifner-gather";
  algorithm.summary =
      "owners get their rows of all A and all B, make their rows of G, and share them out by a butterfly";
  algorithm.source = "Enderlin et al. 2021 (DSOP), the authors' predecessor of the paper's contribution";
  algorithm.gradient_exchange = allgather_algorithms().find("recursive-doubling");
  algorithm.published = true;
  algorithm.parameter = {.values = [](const OuterProductAlgorithm&, const Problem& problem) {
    return std::vector<double>{static_cast<double>(problem.ranks())};
  }};
  return algorithm;
}

}  // namespace dsop::outer_product
