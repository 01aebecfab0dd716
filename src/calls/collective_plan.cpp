#include "calls/collective_plan.hpp"

#include <vector>

#include <dsop/errors.hpp>

#include "calls/ranking.hpp"

namespace dsop {
namespace {

std::string why_unsupported(const DenseAlgorithm& algorithm, const DenseProblem& problem) {
  if (problem.wire == Wire::bf16 && algorithm.run_bf16 == nullptr) return "sends values in full only, and wire is bf16";
  return algorithm.unsupported(problem);
}

}  // namespace

const Registry<DenseAlgorithm>& collective_algorithms(Operation operation) {
  if (operation == Operation::broadcast) return broadcast_algorithms();
  return operation == Operation::reduce ? reduce_algorithms() : dense_algorithms();
}

CollectivePlan make_collective_plan(const Registry<DenseAlgorithm>& algorithms, const DenseProblem& problem,
                                    const Machine& machine, const std::string& name) {
  Named<DenseAlgorithm> named;
  if (name != "auto") {
    named = parse_algorithm(name, "algorithm", algorithms);
    const std::string reason = why_not(named, why_unsupported(*named.algorithm, problem), problem);
    if (!reason.empty()) throw ArgumentError(reason);
  }
  std::vector<Ranked<DenseAlgorithm>> ranked;
  for (const DenseAlgorithm& algorithm : algorithms) {
    if (named.algorithm != nullptr && named.algorithm != &algorithm) continue;
    const auto with = [&](double value) {
      return Candidate{algorithm_text(algorithm, value), value, algorithm.cost(problem, machine, value), {}};
    };
    ranked.push_back({&algorithm, algorithm.native,
                      evaluate_best(algorithm, named, why_unsupported(algorithm, problem), with, problem)});
  }
  rank(ranked);
  const auto& [algorithm, native, best] = ranked.front();
  return {algorithm, best.parameter, best.cost, algorithm->workspace_bytes(problem, best.parameter), problem.wire};
}

}  // namespace dsop
