// What a selecting allreduce will do, from what every rank has chosen.
#include <algorithm>
#include <numeric>

#include "algorithms/sparse/expected.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "base/check_wire.hpp"
#include "base/checked.hpp"
#include "base/refuse.hpp"

namespace dsop {
namespace {

SparseProblem exact_problem(const TopKProblem& problem, const std::vector<std::size_t>& chosen) {
  SparseProblem exact{.elements = problem.elements, .type = problem.type};
  exact.native_collectives = problem.native_collectives;
  exact.wire = problem.wire;
  const std::size_t most = sparse::most_indices(problem.elements, problem.type, problem.wire);
  for (const std::size_t count : chosen) exact.nonzeros.push_back(count <= most ? count : Sparsity::dense);
  return exact;
}

}  // namespace

std::size_t TopKPlan::total_chosen() const {
  return std::accumulate(chosen.begin(), chosen.end(), std::size_t{0});
}

Named<TopKAlgorithm> parse_topk(const std::string& text) {
  const TopKAlgorithm* const algorithm = topk_algorithms().find(text.substr(0, text.find('(')));
  if (algorithm == nullptr) refuse("algorithm", text, "one of " + topk_algorithms().names());
  const Parameter<>& parameter = algorithm->parameter;
  const double number = number_in_brackets("algorithm", text, parameter.name).value_or(parameter.values().front());
  if (const std::string expected = parameter.expected(number); !expected.empty())
    refuse("the number of " + text + ", its " + parameter.name + ",", number, expected);
  return {algorithm, number};
}

TopKPlan make_topk_plan(const TopKProblem& problem, const Machine& machine, const Named<TopKAlgorithm>& named,
                        std::vector<std::size_t> chosen) {
  const TopKAlgorithm& algorithm = *named.algorithm;
  check_wire("wire", problem.wire, problem.type, "values");
  TopKPlan plan{&algorithm, *named.parameter, problem, std::move(chosen)};
  const std::size_t value_bytes = bytes_of(problem.type);
  if (algorithm.exact_sum.empty()) {
    checked_bytes("all ranks' vectors", {plan.chosen.size(), problem.elements, value_bytes});
    const std::size_t most_pairs = room_for(problem.k, problem.elements);
    plan.result_bytes = std::min(sparse::values_for_pairs(most_pairs, problem.type), problem.elements) * value_bytes;
  } else {
    const std::string exact_sum = problem.wire == Wire::full ? algorithm.exact_sum : "allgather";  // sends no sums
    plan.exact = make_sparse_plan(exact_problem(problem, plan.chosen), machine, exact_sum);
    plan.result_bytes = plan.exact.result_bytes;
  }
  if (algorithm.blocks != nullptr) plan.exchange = &cheapest_allgather(algorithm.blocks(problem), machine);
  plan.workspace_bytes = algorithm.workspace_bytes(plan);
  return plan;
}

std::string algorithm_text(const TopKPlan& plan) {
  const std::string name = algorithm_text(*plan.algorithm, plan.parameter);
  return plan.algorithm->exact_sum.empty() ? name : name + ", summed by " + plan.exact.algorithm_text();
}

Cost topk_cost(const TopKProblem& problem, const Machine& machine, const std::string& algorithm) {
  check_machine(machine);
  const std::vector<std::size_t> chosen(static_cast<std::size_t>(problem.ranks), problem.k);
  const TopKPlan plan = make_topk_plan(problem, machine, parse_topk(algorithm), chosen);
  if (problem.ranks == 1 || problem.elements == 0 || problem.k == 0) return {};
  return plan.algorithm->cost(plan, machine);
}

}  // namespace dsop
