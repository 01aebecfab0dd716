// Plans of outer products: which algorithm, and what it will exchange.
#include <dsop/plan.hpp>

#include <algorithm>
#include <sstream>

#include <dsop/errors.hpp>
#include <dsop/types.hpp>

#include "algorithms/outer_product/operation.hpp"
#include "algorithms/outer_product/pairs.hpp"
#include "base/check_nodes.hpp"
#include "base/check_wire.hpp"
#include "base/checked.hpp"
#include "base/needed_lead.hpp"
#include "base/refuse.hpp"
#include "call/agreement_seconds.hpp"
#include "call/communicator.hpp"
#include "call/show_plan.hpp"
#include "kernels/blas_info.hpp"
#include "patterns/blocks.hpp"
#include "sparse/factor.hpp"

namespace dsop {
namespace {

class Family {
 public:
  Family(const Problem& problem, const Machine& machine) : all_(problem), dense_(problem), machine_(machine) {
    dense_.sparsity.clear();
    dense_.sparse_product = false;
    if (problem.started) machine_.hidden_share = 0;  // cores are never idle: the program computes
    const auto seconds = [&](std::size_t factor_bytes) {
      return agreement_seconds(machine, problem.group.nodes, problem.ranks(), factor_bytes);
    };
    // Rows alone lie in memory of their own, which all agree on too: counted as a second exchange of records.
    agreement_seconds_ = (problem.rows_only ? 2 : 1) * seconds(0);
    agreement_with_factors_seconds_ = seconds(outer_product::piggyback_bytes(problem));
  }

  /// One that does not take sparse factors sees none.
  const Problem& problem(const OuterProductAlgorithm& algorithm) const {
    return algorithm.takes_sparse ? all_ : dense_;
  }
  bool may_take_native(const OuterProductAlgorithm& algorithm) const {
    return algorithm.dense != nullptr && algorithm.dense->measured && all_.allow_native && !all_.native_sums_vary &&
           machine_.native_seconds(1, all_.ranks()) > 0;
  }
  Candidate evaluate(const OuterProductAlgorithm& algorithm, double parameter) const {
    const Problem& seen = problem(algorithm);
    Candidate candidate;
    candidate.algorithm = algorithm_text(algorithm, parameter);
    candidate.parameter = parameter;
    candidate.exchanges = algorithm.exchanges(algorithm, seen, machine_, parameter);
    Cost& cost = candidate.cost = algorithm.cost(algorithm, seen, machine_, parameter, candidate.exchanges);
    if (seen.staged_result && algorithm.sends_gradient)
      cost.arithmetic_seconds +=
          machine_.addition_seconds(static_cast<double>(seen.rows) * static_cast<double>(seen.columns), seen.type);
    candidate.piggybacks = algorithm.can_piggyback && outer_product::piggyback_bytes(seen) > 0;
    candidate.agreement_seconds = candidate.piggybacks ? agreement_with_factors_seconds_ : agreement_seconds_;
    if (cost.hidden_seconds > 0)
      candidate.needed_lead += algorithm.doubted_share.value_or(doubted_share()) * cost.hidden_seconds / cost.seconds();
    return candidate;
  }

 private:
  // Who describes a machine says what really hides; what was measured may be off, by half of what several measurements
  // differ or more.
  double doubted_share() const {
    const MeasuredOn& on = machine_.measured_on;
    if (on.ranks == 0) return 0;
    return std::clamp(on.hidden_share_spread / 2 / machine_.hidden_share, dsop::doubted_share, 1.0);
  }

  Problem all_;
  Problem dense_;
  Machine machine_;
  double agreement_seconds_;               // Bruck's exchange of records, which opens every call
  double agreement_with_factors_seconds_;  // the same with the factors behind the records
};

// Whether the sparse kernel is faster for all pairs together; it then is for each rank's, where densities are alike.
bool sparse_is_faster(Problem problem, const Machine& machine) {
  const auto seconds = [&](bool sparse) {
    problem.sparse_product = sparse;
    return outer_product::LocalProduct(problem).seconds(machine, problem.rows);
  };
  return seconds(true) < seconds(false);
}

double ratio(std::size_t left, std::size_t right) {
  const auto l = static_cast<double>(std::max(left, std::size_t{1}));
  const auto r = static_cast<double>(std::max(right, std::size_t{1}));
  return std::max(l / r, r / l);
}

// What was the fastest for as many ranks and nearly such a problem, of what can serve; null if nothing like it was
// measured, as nothing sparse, sharded or rounded is.
const Winner* measured_winner(const Family& family, const Machine& machine, const Problem& problem) {
  constexpr double nearly = 1.25;
  if (!problem.sparsity.empty() || problem.sharded || problem.wire != Wire::full || problem.factor_wire != Wire::full)
    return nullptr;
  const Winner* nearest = nullptr;
  double least_distance = 0;
  for (const Winner& winner : machine.winners) {
    if (winner.ranks != problem.ranks() || winner.type != problem.type) continue;
    const NamedAlgorithm named = parse_algorithm(winner.algorithm, "winners", outer_product_algorithms());
    if (named.algorithm->published || !why_not(family, named).empty()) continue;
    if (problem.native_sums_vary && named.algorithm->dense != nullptr && named.algorithm->dense->native) continue;
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
  check_wire("problem.wire", problem.wire, problem.type, "gradients");
  check_wire("problem.factor_wire", problem.factor_wire, problem.type, "factors");
  if (!problem.sparsity.empty() && problem.sparsity.size() != ranks)
    refuse("problem.sparsity.size()", problem.sparsity.size(), "one for each of " + std::to_string(ranks) + " ranks");
  check_problem_nodes(problem.group.nodes, ranks);
  const std::size_t element_bytes = bytes_of(problem.type);
  checked_bytes("rows", {problem.rows, element_bytes});
  checked_bytes("columns", {problem.columns, element_bytes});
  checked_bytes("the gradient", {problem.rows, problem.columns, element_bytes});
  checked_bytes("all ranks' factors",
                {problem.pairs.size(), problem.largest_pairs(), problem.rows + problem.columns, element_bytes});
}

std::string text(const ProductMethod& method) {
  const std::string instructions(name(method.instructions));
  if (!kernels::has_blas()) return instructions;
  if (!method.blas_allowed) return instructions + ", no OpenBLAS: its cores or threads differ between ranks";
  if (!kernels::blas_keeps_up_with(method.instructions)) return instructions + ", no OpenBLAS: its core has no AVX";
  return instructions + ", OpenBLAS for large inner dimensions";
}

}  // namespace

namespace outer_product {

Sparsity expected_sparsity(const Shape& shape, DataType type, Wire factor_wire) {
  const auto form = [&](std::size_t columns, double density) {
    const double elements = density * static_cast<double>(shape.planned_pairs()) * static_cast<double>(columns);
    return sparse::smaller_form(shape.planned_pairs(), columns, static_cast<std::size_t>(elements), type, factor_wire);
  };
  return {form(shape.rows, shape.density_a), form(shape.columns, shape.density_b)};
}

std::size_t piggyback_bytes(const Problem& problem) {
  if (problem.ranks() == 1 || problem.sharded || problem.rows_only || problem.given_sparse || !problem.sparsity.empty())
    return 0;
  const std::size_t bytes = problem.largest_pairs() * pair_bytes(problem);
  return SlotLengths::fit(bytes, problem.ranks()) ? bytes : 0;
}

std::size_t workspace_bytes(const Plan& plan, std::size_t expanded_pairs) {
  Arena memory;
  visit(plan.problem.type, [&]<class T>(T) { static_cast<void>(CallMemory<T>(memory, plan, expanded_pairs)); });
  memory.take<std::byte>(plan.algorithm->workspace_bytes(*plan.algorithm, plan.problem, plan.parameter));
  return memory.bytes();
}

Plan make_plan(const Problem& problem, const Machine& machine, const std::string& algorithm,
               ProductMethod shared_method, Evaluated evaluated, int threads) {
  check_problem(problem);
  check_machine(machine);
  Problem all = problem;
  all.sparse_product = !problem.sparsity.empty() && (problem.rows_only || sparse_is_faster(problem, machine));
  const Family family(all, machine);
  const Winner* const winner = measured_winner(family, machine, problem);
  const bool takes_winner = algorithm == "auto" && winner != nullptr;
  Plan plan;
  choose(plan, family, problem.sharded ? sharded_algorithms() : outer_product_algorithms(),
         takes_winner ? winner->algorithm : algorithm, evaluated);
  static_cast<Exchanges&>(plan) = plan.chosen().exchanges;
  plan.auto_is_measured = winner != nullptr;
  plan.auto_choice = winner != nullptr ? winner->algorithm : plan.candidates.front().algorithm;
  if (algorithm != "auto") plan.reason = "named by the caller or by DSOP_ALGORITHM";
  if (takes_winner) plan.reason = "measured to be the fastest on this machine";
  plan.problem = family.problem(*plan.algorithm);
  plan.machine = machine;
  plan.threads = threads;
  plan.shared_method = shared_method;
  plan.pair_bounds.assign(1, 0);
  for (const std::size_t pairs : problem.pairs) plan.pair_bounds.push_back(plan.pair_bounds.back() + pairs);
  for (int r = 0; r <= problem.ranks(); ++r)
    plan.row_bounds.push_back(patterns::Blocks(problem.rows, problem.ranks()).offset(r));
  for (std::size_t r = 0; r < problem.group.nodes.size(); ++r)
    if (problem.group.nodes[r] == static_cast<int>(r)) plan.leaders.push_back(problem.group.nodes[r]);
  plan.workspace_bytes = workspace_bytes(plan, 0);
  plan.warning = why_not_valid(machine, problem.ranks(), problem.group.nodes, threads);
  return plan;
}

}  // namespace outer_product

std::string why_unsupported(const OuterProductAlgorithm& algorithm, const Problem& problem) {
  if (problem.wire == Wire::bf16 && algorithm.sends_gradient && !algorithm.sends_bf16)
    return "sends the gradient in full only, and wire is bf16";
  return algorithm.unsupported(algorithm, problem);
}

Plan make_plan(const Problem& problem, const Machine& machine, const std::string& algorithm,
               ProductMethod shared_method) {
  return outer_product::make_plan(problem, machine, algorithm, shared_method, Evaluated::all);
}

template struct PlanOf<OuterProductAlgorithm, Problem>;

std::ostream& operator<<(std::ostream& stream, const Plan& plan) {
  std::ostringstream out;
  const Problem& problem = plan.problem;
  out << (problem.sharded ? "the ranks' rows of G " : "G ") << problem.rows << " x " << problem.columns << ' '
      << name(problem.type) << ", " << problem.total_pairs() << " pairs on " << problem.ranks() << " ranks";
  if (!plan.leaders.empty()) {
    out << " of " << plan.leaders.size() << (plan.leaders.size() == 1 ? " node" : " nodes") << " (led by";
    for (const int leader : plan.leaders) out << ' ' << leader;
    out << ')';
  }
  if (problem.wire != Wire::full) out << ", gradient travels as " << name(problem.wire);
  if (problem.factor_wire != Wire::full) out << ", factors travel as " << name(problem.factor_wire);
  if (problem.started) out << ", started while the program computes";
  out << "; machine: " << plan.machine.source;
  if (!plan.leaders.empty()) {
    if (plan.machine.inner_levels.empty())
      out << ", one level: messages inside a node cost what others do";
    else
      out << ", " << plan.machine.inner_levels.size() + 1 << " levels";
  }
  out << '\n';
  show_plan(out, plan, "; shared products: " + text(plan.shared_method),
            plan.runs_at_wait
                ? "started calls run at wait(): MPI was not initialized with MPI_THREAD_MULTIPLE on every rank\n"
                : "");
  return stream << out.str();
}

}  // namespace dsop
