#include "planning/collective_plan.hpp"

#include <dsop/errors.hpp>

namespace dsop {
namespace {

using NamedDense = Named<DenseAlgorithm>;

void check_can_serve(const NamedDense& named, const DenseProblem& problem) {
  const DenseAlgorithm& algorithm = *named.algorithm;
  const std::string reason = algorithm.unsupported(problem);
  if (!reason.empty()) throw ArgumentError("algorithm " + algorithm.name + " can't be used: it " + reason);
  if (!named.parameter) return;
  const std::string expected = algorithm.parameter.expected(*named.parameter, problem);
  if (!expected.empty())
    throw ArgumentError("algorithm is " + algorithm_text(algorithm, *named.parameter) + ", expected " + expected);
}

// The fastest with the best of the parameter's values, or with the one that was named.
void consider(const NamedDense& named, const DenseProblem& problem, const Machine& machine, CollectivePlan& best) {
  const DenseAlgorithm& algorithm = *named.algorithm;
  for (const double value : named.parameter ? std::vector{*named.parameter} : algorithm.parameter.values(problem)) {
    const Cost cost = algorithm.cost(problem, machine, value);
    if (best.algorithm != nullptr && best.cost.seconds() <= cost.seconds()) continue;
    best = {&algorithm, value, cost, algorithm.workspace_elements(problem, value)};
  }
}

}  // namespace

const Registry<DenseAlgorithm>& collective_algorithms(Operation operation) {
  if (operation == Operation::broadcast) return broadcast_algorithms();
  return operation == Operation::reduce ? reduce_algorithms() : dense_algorithms();
}

CollectivePlan make_collective_plan(const Registry<DenseAlgorithm>& algorithms, const DenseProblem& problem,
                                    const Machine& machine, const std::string& name) {
  CollectivePlan best;
  if (name == "auto") {
    for (const DenseAlgorithm& algorithm : algorithms)
      if (!algorithm.native && algorithm.unsupported(problem).empty()) consider({&algorithm}, problem, machine, best);
    return best;
  }
  const NamedDense named = parse_algorithm(name, "algorithm", algorithms);
  check_can_serve(named, problem);
  consider(named, problem, machine, best);
  return best;
}

}  // namespace dsop
