#include "synchronizer/policy.hpp"

#include "dense/algorithm.hpp"
#include "outer_product/algorithm.hpp"
#include "planning/refuse.hpp"
#include "sparse/algorithm.hpp"

namespace dsop::synchronizer {

Policy parse_policy(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string family = text.substr(0, colon);
  Policy policy{.text = text};
  if (colon != std::string::npos) policy.algorithm = text.substr(colon + 1);
  const auto check_algorithm = [&](const auto& known) {
    if (policy.algorithm != "auto") parse_algorithm(policy.algorithm, "the algorithm of policy " + text, known);
    return policy;
  };
  if (family == "dsop") {
    policy.kind = Kind::outer_product;
    return check_algorithm(outer_product_algorithms());
  }
  if (family == "dense") return check_algorithm(dense_algorithms());
  if (family == "sparse") {
    policy.kind = Kind::sparse;
    return check_algorithm(sparse_algorithms());
  }
  if (text != "none") refuse("policy", text, "dsop, dense or sparse, perhaps with :ALGORITHM, or none");
  policy.kind = Kind::none;
  return policy;
}

}  // namespace dsop::synchronizer
