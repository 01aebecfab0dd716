// Which sparse allreduce is cheapest: every algorithm's cost formula, evaluated and compared.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

#include <dsop/errors.hpp>
#include <dsop/sparse_allreduce.hpp>

#include "model/checked.hpp"
#include "sparse/algorithm.hpp"
#include "sparse/expected.hpp"

namespace dsop {

std::size_t SparseProblem::total_nonzeros() const {
  return std::accumulate(nonzeros.begin(), nonzeros.end(), std::size_t{0},
                         [this](std::size_t sum, std::size_t k) { return sum + std::min(k, elements); });
}

std::size_t SparseProblem::largest_nonzeros() const {
  return *std::max_element(nonzeros.begin(), nonzeros.end());
}

double SparseProblem::expected_union(int of_ranks) const {
  const auto N = static_cast<double>(elements);
  const double k = static_cast<double>(total_nonzeros()) / ranks();
  if (of_ranks == 1 || overlap == Overlap::full) return k;
  if (overlap == Overlap::none || k == 0) return std::min(of_ranks * k, N);
  return -N * std::expm1(of_ranks * std::log1p(-k / N));
}

const std::string& SparsePlan::algorithm_name() const {
  return algorithm->name;
}

const Cost& SparsePlan::cost() const {
  return std::find_if(candidates.begin(), candidates.end(),
                      [this](const Candidate& candidate) { return candidate.algorithm == algorithm->name; })
      ->cost;
}

namespace {

Candidate evaluate_best(const SparseAlgorithm& algorithm, const SparseProblem& problem, const Machine& machine) {
  std::string reason = algorithm.unsupported(algorithm, problem);
  if (!reason.empty()) return {algorithm.name, 0, {}, std::move(reason)};
  std::optional<Candidate> best;
  for (const double value : algorithm.values(algorithm, problem)) {
    Candidate candidate{algorithm.name, value, algorithm.cost(algorithm, problem, machine, value), {}};
    if (!best || candidate.cost.seconds() < best->cost.seconds()) best = std::move(candidate);
  }
  return *best;
}

// By predicted time; what runs inside the MPI library comes last, since its time is a guess.
std::vector<Candidate> rank_all(const SparseProblem& problem, const Machine& machine) {
  std::vector<Candidate> candidates;
  for (const SparseAlgorithm& algorithm : sparse_algorithms())
    candidates.push_back(evaluate_best(algorithm, problem, machine));
  const auto is_native = [](const Candidate& candidate) {
    return sparse_algorithms().find(candidate.algorithm)->native();
  };
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate& l, const Candidate& r) {
    const bool possible = l.unsupported.empty();
    if (possible != r.unsupported.empty()) return possible;
    if (is_native(l) != is_native(r)) return is_native(r);
    return l.cost.seconds() < r.cost.seconds();
  });
  return candidates;
}

const Candidate& chosen(const std::vector<Candidate>& candidates, const std::string& algorithm) {
  if (algorithm == "auto") return candidates.front();
  const auto named = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& candidate) { return candidate.algorithm == algorithm; });
  if (named == candidates.end())
    throw ArgumentError("algorithm is " + algorithm + ", expected auto or one of " + sparse_algorithms().names());
  if (!named->unsupported.empty())
    throw ArgumentError("algorithm " + algorithm + " can't be used: it " + named->unsupported);
  return *named;
}

std::string why_first(const std::vector<Candidate>& candidates) {
  const double least_seconds = candidates[0].cost.seconds();
  if (!(least_seconds > 0) || !candidates[1].unsupported.empty()) return "nothing to do";
  char times[32];
  std::snprintf(times, sizeof times, "%.2f", candidates[1].cost.seconds() / least_seconds);
  return std::string("least predicted time, ") + times + "x ahead of " + candidates[1].algorithm;
}

std::size_t most_result_bytes(const SparseProblem& problem, bool dense) {
  const std::size_t total = problem.total_nonzeros();
  if (dense || total > sparse::most_indices(problem.elements, problem.type))
    return problem.elements * bytes_of(problem.type);
  return total * (bytes_of(problem.type) + sizeof(sparse::Index));
}

}  // namespace

SparsePlan make_sparse_plan(const SparseProblem& problem, const Machine& machine, const std::string& algorithm) {
  if (problem.nonzeros.empty()) throw ArgumentError("problem.nonzeros is empty, expected one number a rank");
  check_machine(machine);
  checked_bytes("all ranks' vectors", {problem.nonzeros.size(), problem.elements, bytes_of(problem.type)});

  SparsePlan plan{.problem = problem, .candidates = rank_all(problem, machine)};
  const Candidate& candidate = chosen(plan.candidates, algorithm);
  plan.algorithm = sparse_algorithms().find(candidate.algorithm);
  plan.parameter = candidate.parameter;
  plan.reason = algorithm == "auto" ? why_first(plan.candidates) : "named by the caller";
  if (plan.algorithm->blocks != nullptr) plan.exchange = &cheapest_allgather(plan.algorithm->blocks(problem), machine);
  plan.workspace_bytes = plan.algorithm->workspace_bytes(*plan.algorithm, problem, plan.parameter);
  plan.result_bytes = most_result_bytes(problem, plan.algorithm->makes_dense);
  return plan;
}

}  // namespace dsop
