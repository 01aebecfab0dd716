// Which sparse allreduce is cheapest: every algorithm's cost formula, evaluated and compared.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include <dsop/errors.hpp>
#include <dsop/sparse_allreduce.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "algorithms/sparse/expected.hpp"
#include "base/check_nodes.hpp"
#include "base/check_wire.hpp"
#include "base/checked.hpp"
#include "call/agreement_seconds.hpp"
#include "call/choose.hpp"
#include "call/show_plan.hpp"
#include "patterns/steps.hpp"

namespace dsop {

std::size_t SparseProblem::total_nonzeros() const {
  return std::accumulate(nonzeros.begin(), nonzeros.end(), std::size_t{0},
                         [this](std::size_t sum, std::size_t k) { return sum + std::min(k, elements); });
}

std::size_t SparseProblem::largest_nonzeros() const {
  return *std::max_element(nonzeros.begin(), nonzeros.end());
}

namespace {

// How many different indices there are if each of `ranks` draws k of M.
double union_of_drawn(double M, double k, int ranks) {
  return -M * std::expm1(ranks * std::log1p(-k / M));
}

}  // namespace

double SparseProblem::expected_union(int of_ranks) const {
  const auto N = static_cast<double>(elements);
  const double k = static_cast<double>(total_nonzeros()) / ranks();
  if (of_ranks == 1 || overlap == Overlap::full) return k;
  if (overlap == Overlap::none || k == 0) return std::min(of_ranks * k, N);
  const double M = drawn_from > 0 ? std::max(drawn_from, k) : N;
  return std::min(union_of_drawn(M, k, of_ranks), N);
}

double SparseProblem::drawn_from_of(double measured_union) const {
  constexpr double without_overlap = 0x1p60;
  const double k = expected_union(1);
  if (k == 0 || ranks() == 1) return 0;
  double low = k;
  double high = without_overlap;
  for (int step = 0; step < 60; ++step) {
    const double middle = std::sqrt(low * high);
    (union_of_drawn(middle, k, ranks()) < measured_union ? low : high) = middle;
  }
  return high;
}

template struct PlanOf<SparseAlgorithm, SparseProblem>;

std::ostream& operator<<(std::ostream& stream, const SparsePlan& plan) {
  const SparseProblem& problem = plan.problem;
  std::ostringstream out;
  out << "sum of " << problem.ranks() << " vectors of " << problem.elements << ' ' << name(problem.type) << ", "
      << problem.total_nonzeros() << " elements in all, " << sparse::whole(problem.expected_union(problem.ranks()))
      << " expected in the sum\n";
  show_plan(out, plan, ", result at most " + std::to_string(plan.result_bytes));
  return stream << out.str();
}

namespace {

struct Family {
  SparsePlan& plan;  // its problem's, of each algorithm by turns
  const Machine& machine;
  double agreement = agreement_seconds(machine, plan.problem.group.nodes, plan.problem.ranks());

  const SparseProblem& problem(const SparseAlgorithm&) const { return plan.problem; }
  bool may_take_native(const SparseAlgorithm&) const { return false; }
  Candidate evaluate(const SparseAlgorithm& algorithm, double parameter) const {
    plan.algorithm = &algorithm;
    plan.parameter = parameter;
    plan.exchange = {};
    if (algorithm.exchange != nullptr)
      plan.exchange = sparse::cheapest(algorithm.exchange(plan.problem, parameter), machine);
    Candidate candidate;
    candidate.algorithm = algorithm_text(algorithm, parameter);
    candidate.parameter = parameter;
    candidate.cost = algorithm.cost(plan, machine);
    candidate.needed_lead = algorithm.needed_lead;
    candidate.agreement_seconds = agreement;
    candidate.exchanges.gradient = plan.exchange;
    return candidate;
  }
};

// Where ranks share what leaves their node, as everybody sends to everybody.
double sent_byte_seconds(const patterns::Network& network) {
  if (network.inner_levels() == 0 || network.ranks() == 1) return network.machine().gap_per_byte_seconds;
  constexpr std::size_t bytes = 1 << 20;
  return patterns::all_to_all_step(network, bytes).seconds() / ((network.ranks() - 1) * static_cast<double>(bytes));
}

// The share of a vector's elements that, sent with their indices, take as long to travel and to add as all do without.
double sparse_share(const SparseProblem& problem, const Machine& machine) {
  const auto value_bytes = static_cast<double>(bytes_on_wire(problem));
  const double sent_byte = sent_byte_seconds(patterns::Network(machine, problem.group.nodes, problem.ranks()));
  const double dense = sent_byte * value_bytes + machine.addition_seconds(1, problem.type);
  return dense /
         (sent_byte * (value_bytes + sizeof(sparse::Index)) + sparse::summing_seconds(machine, 1, problem.type));
}

}  // namespace

std::string why_unsupported(const SparseAlgorithm& algorithm, const SparseProblem& problem) {
  if (problem.wire == Wire::bf16 && !algorithm.sends_bf16) return "sends values in full only, and wire is bf16";
  return algorithm.unsupported(algorithm, problem);
}

SparsePlan make_sparse_plan(const SparseProblem& asked, const Machine& machine, const std::string& algorithm) {
  SparsePlan plan;
  plan.problem = asked;
  SparseProblem& problem = plan.problem;
  if (problem.nonzeros.empty()) throw ArgumentError("problem.nonzeros is empty, expected one number a rank");
  check_machine(machine);
  check_problem_nodes(problem.group.nodes, problem.nonzeros.size());
  check_wire("problem.wire", problem.wire, problem.type, "values");
  checked_bytes("all ranks' vectors", {problem.nonzeros.size(), problem.elements, bytes_of(problem.type)});

  problem.sparse_share = sparse_share(problem, machine);
  choose(plan, Family{plan, machine}, sparse_algorithms(), algorithm);
  plan.exchange = plan.chosen().exchanges.gradient;
  plan.warning = why_not_valid(machine, problem.ranks(), problem.group.nodes);
  adapt_plan(plan, problem.nonzeros);
  return plan;
}

void adapt_plan(SparsePlan& plan, const std::vector<std::size_t>& nonzeros) {
  if (static_cast<int>(nonzeros.size()) != plan.problem.ranks())
    refuse("nonzeros.size()", nonzeros.size(), "one for each of " + std::to_string(plan.problem.ranks()) + " ranks");
  SparseProblem& problem = plan.problem;
  problem.nonzeros = nonzeros;
  plan.workspace_bytes = plan.algorithm->workspace_bytes(plan);
  const std::size_t total = problem.total_nonzeros();
  const bool dense = plan.algorithm->makes_dense || total > sparse::most_summed(problem, problem.elements);
  plan.result_bytes =
      (dense ? problem.elements : sparse::values_for_pairs(total, problem.type)) * bytes_of(problem.type);
}

}  // namespace dsop
