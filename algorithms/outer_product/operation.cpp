#include "algorithms/outer_product/operation.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include "algorithms/outer_product/arguments.hpp"
#include "algorithms/outer_product/pairs.hpp"
#include "algorithms/outer_product/piggyback.hpp"
#include "call/same_bits.hpp"
#include "kernels/update.hpp"

namespace dsop {
namespace {

constexpr const char* operation_name(Output output) {
  if (output == Output::plan_only) return "preparing an outer product";
  if (output == Output::whole) return "outer product";
  return output == Output::own_rows ? "sharded outer product" : "outer product's rows";
}

bool is_near(std::size_t pairs, std::size_t chosen_for) {
  return pairs <= 2 * chosen_for && chosen_for <= 2 * pairs;
}

}  // namespace

template <class T>
struct OuterProductCalls<T>::Operation : OuterProductArguments<T> {
  using OuterProductArguments<T>::output, OuterProductArguments<T>::terms, OuterProductArguments<T>::promised,
      OuterProductArguments<T>::factors, OuterProductArguments<T>::gradient;
  static constexpr bool by_numbers = true;

  OuterProductCalls& kept;

  std::size_t rows = promised != nullptr ? promised->rows : gradient.rows;
  std::size_t columns = promised != nullptr ? promised->columns : gradient.columns;
  const std::string* algorithm = &terms.algorithm;
  GradientRows<T> result = {rows, columns};

  /// Whether the call keeps to what was chosen before.
  bool keeps() const { return output == Output::plan_only || output == Output::whole; }

  bool only_plans() const { return output == Output::plan_only; }

  Call open(Transport& transport) const {
    return {transport, operation_name(output), rows, columns, data_type<T>, kept.object_};
  }

  void check(Call& call) {
    Record& own = call.record();
    check_terms<T>(terms);
    if (output == Output::plan_only) {
      check_shape<T>(*promised);
      own.pairs = promised->planned_pairs() & Record::dense;
      own.take_sparsity(outer_product::expected_sparsity(*promised, data_type<T>, terms.factor_wire));
    } else {
      check_arguments<T>(*this, call.transport());
      own.pairs = sparse::rows_of(factors.a) & Record::dense;
    }
    static const std::string automatic = "auto", allgather = "allgather";
    algorithm = output == Output::nonzero_rows ? &allgather : keeps() ? &named_algorithm() : &automatic;
    if (output == Output::whole || output == Output::nonzero_rows) describe_factors(own);
    if (output != Output::whole) return;
    own.result_aside = terms.sum.beta != 0 || !gradient.contiguous();
    own.large_stride = gradient.stride > std::numeric_limits<std::int32_t>::max();
    own.checks_bits = terms.check_bits;
  }

  void say(Call& call) const {
    call.same("rows", rows)
        .same("columns", columns)
        .same("algorithm", std::string_view(*algorithm))
        .same_unplanned("scale", terms.sum.scale)
        .same_unplanned("alpha", terms.sum.alpha)
        .same_unplanned("beta", terms.sum.beta)
        .same("wire", terms.sum.wire)
        .same("factor_wire", terms.factor_wire)
        .same("allow_native", terms.allow_native)
        .same_machine(terms.machine, *algorithm == "auto");
    if (output != Output::whole) return;
    const std::string& used = kept.prepared(call.record().on_progress_thread != 0).algorithm;
    if (const std::string& by = used.empty() ? *algorithm : used; by == "auto" || by == "allgather")
      outer_product::piggyback(call, factors, terms.factor_wire);
  }

  // A layer keeps the algorithms that it was prepared with. dsop() keeps the one in use while all ranks' pairs are at
  // most twice, and at least half, of those that it was chosen for.
  void make(const Call& call, PlanEntry& to) const {
    PlanEntry made;
    made.problem = problem_of(call);
    made.pairs = made.problem.total_pairs();
    made.packs = made.pairs > 0;
    const Prepared& prepared = kept.prepared(made.problem.started);
    const bool keeps_prepared = keeps() && !prepared.algorithm.empty();
    const PlanEntry* like = keeps() ? kept.planned_.latest(call.key_without_numbers()) : nullptr;
    if (like != nullptr && !is_near(made.pairs, like->pairs)) like = nullptr;
    const std::string& asked = keeps_prepared ? prepared.algorithm : like != nullptr ? like->algorithm : *algorithm;
    Plan& plan = made.plan = outer_product::make_plan(made.problem, call.machine(), asked, call.shared_method(),
                                                      Evaluated::named, static_cast<int>(call.records()[0].threads));
    if (keeps_prepared) plan.reason = prepared.reason;
    if (output == Output::nonzero_rows) plan.reason = "the only one that computes rows alone";
    plan.runs_at_wait = !call.ranks().all_allow_progress_thread;
    made.text = plan.algorithm_text();
    for (const Record& record : call.records())
      if (record.may_expand != 0 && plan.problem.sparsity.empty())
        made.expanded_pairs = std::max(made.expanded_pairs, std::size_t{record.pairs});
    made.memory_bytes = outer_product::workspace_bytes(plan, made.expanded_pairs);
    if (plan.chosen().piggybacks) made.piggyback_bytes = outer_product::piggyback_bytes(made.problem);
    made.algorithm = like != nullptr ? like->algorithm : outer_product::to_keep(plan, *algorithm);
    if (like != nullptr) made.pairs = like->pairs;
    if (output == Output::plan_only) kept.keep_choice(call, made, *algorithm);
    to = std::move(made);
  }

  void run(Call& call, const PlanEntry& made) {
    call.expect_piggyback(made.piggyback_bytes);
    if (output == Output::nonzero_rows) return make_rows(call, made);
    if (output == Output::plan_only || rows == 0 || columns == 0) return;
    compute(call, made);
    if (call.any([](const Record& record) { return record.checks_bits != 0; }))
      check_same_bits<T>(call.transport(), gradient);
  }

 private:
  // If the caller names no algorithm, DSOP_ALGORITHM may name one. A layer reads it once.
  const std::string& named_algorithm() const {
    if (terms.algorithm != "auto") return terms.algorithm;
    if (kept.prepared_.algorithm.empty()) {
      const char* const name_there = std::getenv("DSOP_ALGORITHM");
      kept.environment_ = name_there == nullptr || *name_there == 0 ? "auto" : name_there;
      if (kept.environment_ != "auto") parse_algorithm(kept.environment_, "DSOP_ALGORITHM", outer_product_algorithms());
    }
    return kept.environment_;
  }

  void describe_factors(Record& own) const {
    const auto is_sparse = [](const FactorView<T>& factor) {
      return std::holds_alternative<SparseMatrixView<T>>(factor);
    };
    const auto to_send = [&](const FactorView<T>& factor) {
      return sparse::elements_to_send(factor, terms.find_zeros, terms.factor_wire);
    };
    own.take_sparsity({to_send(factors.a), to_send(factors.b)});
    own.may_expand = is_sparse(factors.a) || is_sparse(factors.b);
  }

  Problem problem_of(const Call& call) const {
    Problem problem{.rows = rows,
                    .columns = columns,
                    .type = data_type<T>,
                    .group = call.ranks().group,
                    .allow_native = terms.allow_native,
                    .wire = terms.sum.wire,
                    .factor_wire = terms.factor_wire,
                    .sharded = output == Output::own_rows,
                    .rows_only = output == Output::nonzero_rows};
    problem.native_sums_vary = problem.group.native && !call.transport().native_sums_have_same_bits();
    for (const Record& record : call.records()) {
      problem.pairs.push_back(record.pairs);
      problem.sparsity.push_back(record.sparsity());
      problem.started |= record.on_progress_thread != 0;
      problem.staged_result |= record.result_aside != 0;
      problem.given_sparse |= record.may_expand != 0;
    }
    if (!problem.rows_only && !call.any([](const Record& record) { return record.sparsity() != Sparsity{}; }))
      problem.sparsity.clear();
    return problem;
  }

  void compute(Call& call, const PlanEntry& made) {
    const Plan& plan = made.plan;
    const OuterProductAlgorithm& by = *plan.algorithm;
    Arena memory(call.memory(made.memory_bytes));
    const outer_product::CallMemory<T> own(memory, plan, made.expanded_pairs);
    OuterProductCall<T> step{
        .transport = call.transport(),
        .plan = plan,
        .gradient = gradient,
        .scale = static_cast<T>(by.sends_gradient ? terms.sum.scale : terms.sum.scale * terms.sum.alpha),
        .beta = static_cast<T>(terms.sum.beta),
        .memory = memory};
    const auto unpack = [&](std::span<T> all) { outer_product::unpack_piggybacked(call, plan, all); };
    if (!plan.problem.sparsity.empty()) {
      step.sparse_own = &factors;
    } else {
      step.own = {outer_product::in_full(factors.a, own.a), outer_product::in_full(factors.b, own.b)};
      if (by.can_piggyback && call.all_piggyback()) step.unpack = unpack;
    }
    if (!by.sends_gradient) return by.run(step);
    // Only the sum travels: alpha, and a target's own values, join it afterwards.
    if (!own.sum.empty()) step.gradient = {own.sum.data(), gradient.rows, gradient.columns};
    const T beta = std::exchange(step.beta, T{0});
    by.run(step);
    kernels::update<T>(step.gradient, static_cast<T>(terms.sum.alpha), beta, gradient);
  }

  // Everybody gets all factors, and computes the rows of G that have a term: at most one for each non-zero of all a.
  // All ranks get the same bits.
  void make_rows(Call& call, const PlanEntry& made) {
    const Problem& problem = made.plan.problem;
    call.all_or_none([&] {
      const std::size_t most_rows = std::min(outer_product::Nonzeros(problem).total_a, rows);
      result.indices.resize(most_rows);
      result.elements = std::make_unique_for_overwrite<T[]>(most_rows * columns);
    });
    Arena memory(call.memory(made.memory_bytes));
    OuterProductCall<T> step{.transport = call.transport(),
                             .plan = made.plan,
                             .gradient = {result.elements.get(), result.indices.size(), columns},
                             .scale = static_cast<T>(terms.sum.scale * terms.sum.alpha),
                             .memory = memory,
                             .sparse_own = &factors};
    const outer_product::GatheredPairs<T> pairs(memory, problem, rows);
    const kernels::SparsePairs<T> all = outer_product::gather_pairs(step, pairs).sparse;
    result.indices.resize(
        kernels::sparse_product_rows<T>(all, result.indices, step.gradient, step.scale, pairs.sparse.terms));
  }
};

template <class T>
GradientRows<T> OuterProductCalls<T>::run(Transport& transport, OuterProductArguments<T> arguments) {
  if (arguments.output == Output::plan_only) object_ = transport.calls().calls + 1;
  for (FactorView<T>* const factor : {&arguments.factors.a, &arguments.factors.b})
    if (auto* const dense = std::get_if<MatrixView<const T>>(factor)) *dense = with_canonical_stride(*dense);
  arguments.gradient = with_canonical_stride(arguments.gradient);
  shown_.reset();
  Operation operation{arguments, *this};
  planned_.run(transport, operation);
  return std::move(operation.result);
}

#define INSTANTIATE(T) template class OuterProductCalls<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
