// Which algorithm is cheapest: every algorithm's cost formula, evaluated and compared.
#include <algorithm>
#include <cstdio>

#include <dsop/errors.hpp>
#include <dsop/plan.hpp>

#include "model/checked.hpp"
#include "outer_product/algorithm.hpp"

namespace dsop {
namespace {

std::vector<Candidate> evaluate_all(const Problem& problem, const Machine& machine) {
  const double elements = static_cast<double>(problem.rows) * static_cast<double>(problem.columns);
  std::vector<Candidate> candidates;
  for (const OuterProductAlgorithm& algorithm : outer_product_algorithms()) {
    Candidate candidate{algorithm.name, {}, algorithm.unsupported(algorithm, problem)};
    if (candidate.unsupported.empty()) {
      candidate.cost = algorithm.cost(algorithm, problem, machine);
      if (problem.staged_result && algorithm.sends_gradient)
        candidate.cost.arithmetic_seconds += machine.addition_seconds(elements, problem.type);
    }
    candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.unsupported.empty() != b.unsupported.empty()) return a.unsupported.empty();
    return a.cost.seconds() < b.cost.seconds();
  });
  return candidates;
}

const OuterProductAlgorithm& named(const std::string& name, const Problem& problem) {
  const OuterProductAlgorithm* algorithm = outer_product_algorithms().find(name);
  if (algorithm == nullptr)
    throw ArgumentError("algorithm is \"" + name + "\", expected auto or one of " + outer_product_algorithms().names());
  const std::string reason = algorithm->unsupported(*algorithm, problem);
  if (!reason.empty()) throw ArgumentError("algorithm " + name + " can't be used: it " + reason);
  return *algorithm;
}

std::string why_first(const std::vector<Candidate>& candidates) {
  if (candidates.size() < 2 || !candidates[1].unsupported.empty()) return "the only one that can serve";
  if (!(candidates[0].cost.seconds() > 0)) return "nothing to do";
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.2f", candidates[1].cost.seconds() / candidates[0].cost.seconds());
  return std::string("least predicted time, ") + ratio + "x ahead of " + candidates[1].algorithm;
}

std::size_t workspace_bytes(const OuterProductAlgorithm& algorithm, const Problem& problem) {
  std::size_t elements = algorithm.workspace_elements(algorithm, problem);
  if (problem.staged_result && algorithm.sends_gradient) elements += problem.rows * problem.columns;
  return elements * bytes_of(problem.type);
}

}  // namespace

Plan make_plan(const Problem& problem, const Machine& machine, const std::string& algorithm,
               ProductMethod shared_method) {
  if (problem.pairs.empty()) throw ArgumentError("problem.pairs is empty, expected one number of pairs a rank");
  check_machine(machine);
  const std::size_t element_bytes = bytes_of(problem.type);
  checked_bytes("rows", {problem.rows, element_bytes});
  checked_bytes("columns", {problem.columns, element_bytes});
  checked_bytes("the gradient", {problem.rows, problem.columns, element_bytes});
  checked_bytes("all ranks' factors",
                {problem.pairs.size(), problem.largest_pairs(), problem.rows + problem.columns, element_bytes});

  Plan plan{.problem = problem, .machine = machine, .shared_method = shared_method};
  plan.candidates = evaluate_all(problem, machine);
  if (algorithm == "auto") {
    plan.algorithm = outer_product_algorithms().find(plan.candidates.front().algorithm);
    plan.reason = why_first(plan.candidates);
  } else {
    plan.algorithm = &named(algorithm, problem);
    plan.reason = "named by the caller or by DSOP_ALGORITHM";
  }
  plan.pair_bounds.assign(1, 0);
  for (const std::size_t pairs : problem.pairs) plan.pair_bounds.push_back(plan.pair_bounds.back() + pairs);
  plan.workspace_bytes = workspace_bytes(*plan.algorithm, problem);
  return plan;
}

}  // namespace dsop
