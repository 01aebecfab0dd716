// Which algorithm is cheapest: every algorithm's cost formula, evaluated and compared.
#include <algorithm>

#include <dsop/errors.hpp>
#include <dsop/plan.hpp>

#include "algorithms/outer_product/algorithm.hpp"
#include "algorithms/outer_product/pairs.hpp"
#include "algorithms/sharded/algorithm.hpp"
#include "base/checked.hpp"
#include "base/needed_lead.hpp"
#include "calls/ranking.hpp"
#include "calls/refuse.hpp"
#include "patterns/blocks.hpp"

namespace dsop {
namespace {

Candidate evaluate(const OuterProductAlgorithm& algorithm, double parameter, const Problem& problem,
                   const Machine& machine) {
  Candidate candidate{
      algorithm_text(algorithm, parameter), parameter, algorithm.cost(algorithm, problem, machine, parameter), {}};
  const double elements = static_cast<double>(problem.rows) * static_cast<double>(problem.columns);
  if (problem.staged_result && algorithm.sends_gradient)
    candidate.cost.arithmetic_seconds += machine.addition_seconds(elements, problem.type);
  if (candidate.cost.hidden_seconds > 0)
    candidate.needed_lead = 1 + doubted_share * candidate.cost.hidden_seconds / candidate.cost.seconds();
  return candidate;
}

// What an algorithm sees of the problem.
Problem seen_by(const OuterProductAlgorithm& algorithm, Problem problem) {
  if (!algorithm.takes_sparse) problem.sparsity.clear();
  if (problem.sparsity.empty()) problem.sparse_product = false;
  return problem;
}

// Whether the sparse kernel is faster for all pairs together; it then is for each rank's, where densities are alike.
bool sparse_is_faster(Problem problem, const Machine& machine) {
  const auto seconds = [&](bool sparse) {
    problem.sparse_product = sparse;
    return outer_product::LocalProduct(problem, 0, problem.ranks()).seconds(machine, problem.rows);
  };
  return !problem.sparsity.empty() && seconds(true) < seconds(false);
}

const Registry<OuterProductAlgorithm>& algorithms_for(const Problem& problem) {
  return problem.sharded ? sharded_algorithms() : outer_product_algorithms();
}

using RankedAlgorithm = Ranked<OuterProductAlgorithm>;

std::vector<RankedAlgorithm> rank_all(const NamedAlgorithm& named, const Problem& problem, const Machine& machine) {
  std::vector<RankedAlgorithm> ranked;
  for (const OuterProductAlgorithm& algorithm : algorithms_for(problem)) {
    const Problem seen = seen_by(algorithm, problem);
    const auto with = [&](double value) { return evaluate(algorithm, value, seen, machine); };
    ranked.push_back({&algorithm, algorithm.native(),
                      evaluate_best(algorithm, named, why_unsupported(algorithm, seen), with, algorithm, seen)});
  }
  rank(ranked);
  return ranked;
}

// Empty if it can serve the problem.
std::string why_not(const NamedAlgorithm& named, const Problem& problem) {
  return dsop::why_not(named, why_unsupported(*named.algorithm, problem), *named.algorithm, problem);
}

double ratio(std::size_t left, std::size_t right) {
  const auto l = static_cast<double>(std::max(left, std::size_t{1}));
  const auto r = static_cast<double>(std::max(right, std::size_t{1}));
  return std::max(l / r, r / l);
}

// What was the fastest for as many ranks and nearly such a problem, of what can serve; null if nothing like it was
// measured, as nothing sparse, sharded or rounded is.
const Winner* measured_winner(const Machine& machine, const Problem& problem) {
  constexpr double nearly = 1.25;
  if (!problem.sparsity.empty() || problem.sharded || problem.wire != Wire::full) return nullptr;
  const Winner* nearest = nullptr;
  double least_distance = 0;
  for (const Winner& winner : machine.winners) {
    if (winner.ranks != problem.ranks() || winner.type != problem.type) continue;
    if (!why_not(parse_algorithm(winner.algorithm, "winners", outer_product_algorithms()), problem).empty()) continue;
    const double distance = std::max({ratio(winner.rows, problem.rows), ratio(winner.columns, problem.columns),
                                      ratio(winner.pairs, problem.largest_pairs())});
    if (distance > nearly || (nearest != nullptr && distance >= least_distance)) continue;
    nearest = &winner;
    least_distance = distance;
  }
  return nearest;
}

void check_problem(const Problem& problem) {
  const std::size_t ranks = problem.pairs.size();
  if (ranks == 0) throw ArgumentError("problem.pairs is empty, expected one number of pairs a rank");
  if (problem.wire == Wire::bf16 && problem.type != DataType::f32)
    throw ArgumentError("problem.wire is bf16, expected full for gradients in " + std::string(name(problem.type)));
  if (!problem.sparsity.empty() && problem.sparsity.size() != ranks)
    refuse("problem.sparsity.size()", problem.sparsity.size(), "one for each of " + std::to_string(ranks) + " ranks");
  if (!problem.nodes.empty() && problem.nodes.size() != ranks)
    refuse("problem.nodes.size()", problem.nodes.size(), "one for each of " + std::to_string(ranks) + " ranks");
  for (std::size_t r = 0; r < problem.nodes.size(); ++r) {
    const int leader = problem.nodes[r];
    if (leader < 0 || leader > static_cast<int>(r) || problem.nodes[static_cast<std::size_t>(leader)] != leader)
      refuse("problem.nodes[" + std::to_string(r) + "]", leader, "the lowest rank of that rank's node");
  }
  const std::size_t element_bytes = bytes_of(problem.type);
  checked_bytes("rows", {problem.rows, element_bytes});
  checked_bytes("columns", {problem.columns, element_bytes});
  checked_bytes("the gradient", {problem.rows, problem.columns, element_bytes});
  checked_bytes("all ranks' factors",
                {problem.pairs.size(), problem.largest_pairs(), problem.rows + problem.columns, element_bytes});
}

std::size_t workspace_bytes(const Plan& plan) {
  const OuterProductAlgorithm& algorithm = *plan.algorithm;
  const Problem& problem = plan.problem;
  const bool staged = problem.staged_result && algorithm.sends_gradient;
  Arena memory;
  memory.take<std::byte>(staged ? problem.rows * problem.columns * bytes_of(problem.type) : 0);
  memory.take<std::byte>(algorithm.workspace_bytes(algorithm, problem, plan.parameter));
  return memory.bytes();
}

void choose_exchanges(Plan& plan) {
  const auto blocks_of = plan.algorithm->factor_blocks;
  plan.factors.problem = blocks_of != nullptr ? blocks_of(plan.problem) : outer_product::factor_blocks(plan.problem);
  plan.factors.algorithm = &outer_product::exchange_of(*plan.algorithm, plan.factors.problem, plan.machine);
  if (plan.algorithm->gradient_blocks != nullptr) {
    plan.gradient.problem = plan.algorithm->gradient_blocks(plan.problem, plan.parameter);
    plan.gradient.algorithm = &cheapest_allgather(plan.gradient.problem, plan.machine);
  }
  if (plan.algorithm->segments == nullptr) return;
  for (AllgatherProblem& segment : plan.algorithm->segments(plan.problem, plan.parameter))
    plan.segments.push_back({nullptr, std::move(segment)});
  const AllgatherAlgorithm& exchange =
      outer_product::exchange_of(*plan.algorithm, plan.segments.front().problem, plan.machine);
  for (Exchange& segment : plan.segments) segment.algorithm = &exchange;
}

}  // namespace

std::string why_unsupported(const OuterProductAlgorithm& algorithm, const Problem& problem) {
  if (problem.wire == Wire::bf16 && algorithm.sends_gradient && !algorithm.sends_bf16)
    return "sends the gradient in full only, and wire is bf16";
  return algorithm.unsupported(algorithm, problem);
}

Plan make_plan(const Problem& problem, const Machine& machine, const std::string& algorithm,
               ProductMethod shared_method) {
  check_problem(problem);
  check_machine(machine);
  Plan plan{.problem = problem, .machine = machine, .shared_method = shared_method};
  const Winner* const winner = measured_winner(machine, problem);
  const std::string& choice = algorithm == "auto" && winner != nullptr ? winner->algorithm : algorithm;
  const bool is_named = choice != "auto";
  const NamedAlgorithm named =
      is_named ? parse_algorithm(choice, "algorithm", algorithms_for(problem)) : NamedAlgorithm{};
  if (is_named) {
    const std::string reason = why_not(named, problem);
    if (!reason.empty()) throw ArgumentError(reason);
  }
  plan.problem.sparse_product = problem.rows_only || sparse_is_faster(problem, machine);
  std::vector<RankedAlgorithm> all = rank_all(named, plan.problem, machine);
  plan.auto_is_measured = winner != nullptr;
  plan.auto_choice = winner != nullptr ? winner->algorithm : all.front().candidate.algorithm;
  plan.reason = algorithm != "auto"     ? "named by the caller or by DSOP_ALGORITHM"
                : plan.auto_is_measured ? "measured to be the fastest on this machine"
                                        : why_first(all);
  for (auto& [ranked, native, candidate] : all) {
    if (is_named ? ranked == named.algorithm : plan.candidates.empty()) {
      plan.algorithm = ranked;
      plan.parameter = candidate.parameter;
    }
    plan.candidates.push_back(std::move(candidate));
  }
  plan.problem = seen_by(*plan.algorithm, plan.problem);
  plan.pair_bounds.assign(1, 0);
  for (const std::size_t pairs : problem.pairs) plan.pair_bounds.push_back(plan.pair_bounds.back() + pairs);
  for (int r = 0; r <= problem.ranks(); ++r)
    plan.row_bounds.push_back(patterns::Blocks(problem.rows, problem.ranks()).offset(r));
  for (std::size_t r = 0; r < problem.nodes.size(); ++r)
    if (problem.nodes[r] == static_cast<int>(r)) plan.leaders.push_back(problem.nodes[r]);
  choose_exchanges(plan);
  plan.workspace_bytes = workspace_bytes(plan);
  return plan;
}

}  // namespace dsop
