#include "synchronizer/policy.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "algorithms/dense/algorithm.hpp"
#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "base/refuse.hpp"

namespace dsop::synchronizer {
namespace {

double parse_density(const std::string& policy, std::size_t colon) {
  double density = 0;
  if (colon != std::string::npos) {
    const char* const end = policy.data() + policy.size();
    const auto [last, error] = std::from_chars(policy.data() + colon + 1, end, density);
    if (error == std::errc() && last == end && density > 0 && density <= 1) return density;
  }
  refuse("policy", policy, policy.substr(0, colon) + ":DENSITY, a number above 0 and up to 1");
}

}  // namespace

std::size_t Policy::k(std::size_t elements) const {
  const auto k = static_cast<std::size_t>(std::llround(density * static_cast<double>(elements)));
  return std::min(std::max(k, std::size_t{1}), elements);
}

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
  if (family == "dense" || family == "dense-overlapped") {
    policy.at_once = family == "dense-overlapped";
    return check_algorithm(dense_algorithms());
  }
  if (family == "sparse") {
    policy.kind = Kind::sparse;
    return check_algorithm(sparse_algorithms());
  }
  if (text == "none") {
    policy.kind = Kind::none;
    return policy;
  }
  if (topk_algorithms().find(family.substr(0, family.find('('))) == nullptr)
    refuse("policy", text,
           "dsop, dense, dense-overlapped or sparse, perhaps with :ALGORITHM; none; or, with :DENSITY, one of " +
               topk_algorithms().names());
  parse_topk(family);
  policy.kind = Kind::top_k;
  policy.algorithm = family;
  policy.density = parse_density(text, colon);
  return policy;
}

}  // namespace dsop::synchronizer
