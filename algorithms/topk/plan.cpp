// What a selecting allreduce will do, from what every rank has chosen.
#include <algorithm>
#include <numeric>

#include "algorithms/sparse/expected.hpp"
#include "algorithms/topk/algorithm.hpp"
#include "base/check_nodes.hpp"
#include "base/check_wire.hpp"
#include "base/checked.hpp"

namespace dsop {
namespace {

// Of a sparse sum, to which a rank gives so many elements, in the form that is smaller.
std::size_t nonzeros_of(const TopKProblem& problem, std::size_t count) {
  return count <= sparse::most_indices(problem.elements, problem.type, problem.wire) ? count : Sparsity::dense;
}

// The name in the brackets of "topk(allgather)"; empty: there is none.
std::string exact_sum_of(const TopKAlgorithm& algorithm, const std::string& text) {
  const std::size_t bracket = text.find('(');
  if (algorithm.exact_sum != "auto" || !algorithm.parameter.name.empty() || bracket == text.npos) return {};
  if (!text.ends_with(')'))
    refuse("algorithm", text, text.substr(0, bracket) + "(ALGORITHM), of the family \"sparse\"");
  const std::string name = text.substr(bracket + 1, text.size() - bracket - 2);
  if (name != "auto") parse_algorithm(name, "the algorithm that sums in " + text, sparse_algorithms());
  return name;
}

// Sums that are rounded a second time would be lost, so by bf16 none travel.
std::string exact_sum_for(const NamedTopK& named, Wire wire) {
  if (wire == Wire::full) return named.exact_sum.empty() ? named.algorithm->exact_sum : named.exact_sum;
  if (!named.exact_sum.empty() && named.exact_sum != "auto" && named.exact_sum != "allgather")
    refuse("the algorithm that sums in " + named.algorithm->name + '(' + named.exact_sum + ')', named.exact_sum,
           "allgather where wire is bf16");
  return "allgather";
}

// What ranks choose that all select k.
std::vector<std::size_t> alike(const TopKProblem& problem) {
  return std::vector<std::size_t>(static_cast<std::size_t>(problem.ranks), problem.k);
}

}  // namespace

std::size_t TopKPlan::total_chosen() const {
  return std::accumulate(chosen.begin(), chosen.end(), std::size_t{0});
}

NamedTopK parse_topk(const std::string& text) {
  const TopKAlgorithm& algorithm = find_algorithm(text, "algorithm", topk_algorithms());
  if (std::string exact_sum = exact_sum_of(algorithm, text); !exact_sum.empty())
    return {.algorithm = &algorithm, .exact_sum = std::move(exact_sum)};
  const std::vector<double> numbers = numbers_of(text, {&algorithm.parameter, &algorithm.second_parameter});
  return {&algorithm, numbers[0], numbers[1]};
}

TopKPlan make_topk_plan(const TopKProblem& problem, const Machine& machine, const NamedTopK& named,
                        const std::vector<std::size_t>& chosen) {
  const TopKAlgorithm& algorithm = *named.algorithm;
  check_wire("wire", problem.wire, problem.type, "values");
  TopKPlan plan;
  plan.algorithm = &algorithm;
  plan.parameter = named.parameter;
  plan.second_parameter = named.second_parameter;
  plan.problem = problem;
  checked_bytes("all ranks' vectors", {chosen.size(), problem.elements, bytes_of(problem.type)});
  if (!algorithm.exact_sum.empty()) {
    SparseProblem exact{
        .elements = problem.elements, .type = problem.type, .group = problem.group, .wire = problem.wire};
    for (const std::size_t count : chosen) exact.nonzeros.push_back(nonzeros_of(problem, count));
    const std::string name = exact_sum_for(named, problem.wire);
    plan.exact = make_sparse_plan(exact, machine, name);
    plan.chooses_exact_sum = plan.exact.algorithm_text() != name;
  }
  if (algorithm.exchange != nullptr) plan.exchange = sparse::cheapest(algorithm.exchange(problem), machine);
  adapt_plan(plan, chosen);
  return plan;
}

void adapt_plan(TopKPlan& plan, const std::vector<std::size_t>& chosen) {
  const TopKProblem& problem = plan.problem;
  plan.chosen = chosen;
  if (plan.algorithm->exact_sum.empty()) {
    plan.result_bytes =
        std::min(sparse::values_for_pairs(most_in_sum(plan), problem.type), problem.elements) * bytes_of(problem.type);
  } else {
    std::vector<std::size_t>& nonzeros = plan.exact.problem.nonzeros;
    std::ranges::transform(chosen, nonzeros.begin(), [&](std::size_t count) { return nonzeros_of(problem, count); });
    adapt_plan(plan.exact, nonzeros);
    plan.result_bytes = plan.exact.result_bytes;
  }
  plan.workspace_bytes = plan.algorithm->workspace_bytes(plan);
}

std::string algorithm_text(const TopKPlan& plan) {
  std::string name = algorithm_text(*plan.algorithm, plan.parameter);
  if (!plan.algorithm->second_parameter.name.empty())
    name = name.substr(0, name.size() - 1) + ',' + number_text(plan.second_parameter) + ')';
  return plan.algorithm->exact_sum.empty() ? name : name + ", summed by " + plan.exact.algorithm_text();
}

NamedTopK with_exact_sum(const TopKProblem& problem, const Machine& machine, NamedTopK named) {
  const TopKPlan plan = make_topk_plan(problem, machine, named, alike(problem));
  if (plan.exact.algorithm != nullptr) named.exact_sum = plan.exact.algorithm_text();
  return named;
}

Cost topk_cost(const TopKProblem& problem, const Machine& machine, const std::string& algorithm) {
  return topk_cost(problem, machine, parse_topk(algorithm));
}

Cost topk_cost(const TopKProblem& problem, const Machine& machine, const NamedTopK& named) {
  check_machine(machine);
  if (problem.ranks < 1) refuse("problem.ranks", problem.ranks, "at least 1");
  if (problem.k > problem.elements) refuse("problem.k", problem.k, "at most the elements");
  check_problem_nodes(problem.group.nodes, static_cast<std::size_t>(problem.ranks));
  const TopKPlan plan = make_topk_plan(problem, machine, named, alike(problem));
  if (problem.ranks == 1 || problem.elements == 0 || problem.k == 0) return {};
  return plan.algorithm->cost(plan, machine);
}

}  // namespace dsop
