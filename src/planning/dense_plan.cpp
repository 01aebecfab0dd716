#include "planning/dense_plan.hpp"

#include "model/named.hpp"

namespace dsop {
namespace {

using NamedDense = Named<DenseAlgorithm>;

std::string why_not(const NamedDense& named, const DenseProblem& problem) {
  const DenseAlgorithm& algorithm = *named.algorithm;
  const std::string reason = algorithm.unsupported(problem);
  if (!reason.empty()) return "algorithm " + algorithm.name + " can't be used: it " + reason;
  if (!named.parameter) return {};
  const std::string expected = algorithm.parameter.expected(*named.parameter, problem);
  if (expected.empty()) return {};
  return "algorithm is " + algorithm_text(algorithm, *named.parameter) + ", expected " + expected;
}

}  // namespace

std::string DensePlan::algorithm_text() const {
  return dsop::algorithm_text(*algorithm, parameter);
}

DensePlan make_dense_plan(const DenseProblem& problem, const Machine& machine, const std::string& algorithm) {
  DensePlan best;
  const auto consider = [&](const DenseAlgorithm& candidate, double parameter) {
    const Cost cost = candidate.cost(problem, machine, parameter);
    if (best.algorithm == nullptr || cost.seconds() < best.cost.seconds()) best = {&candidate, parameter, cost};
  };
  const auto consider_all_values = [&](const DenseAlgorithm& candidate) {
    for (const double value : candidate.parameter.values(problem)) consider(candidate, value);
  };
  if (algorithm == "auto") {
    for (const DenseAlgorithm& candidate : dense_algorithms())
      if (!candidate.native && candidate.unsupported(problem).empty()) consider_all_values(candidate);
    return best;
  }
  const NamedDense named = parse_algorithm(algorithm, "algorithm", dense_algorithms());
  const std::string reason = why_not(named, problem);
  if (!reason.empty()) throw ArgumentError(reason);
  if (named.parameter)
    consider(*named.algorithm, *named.parameter);
  else
    consider_all_values(*named.algorithm);
  return best;
}

}  // namespace dsop
