#include "algorithms/outer_product/family.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include <dsop/types.hpp>

#include "algorithms/outer_product/arguments.hpp"
#include "algorithms/outer_product/gather_rows.hpp"
#include "algorithms/outer_product/ride.hpp"
#include "base/refuse.hpp"
#include "call/same_bits.hpp"
#include "kernels/update.hpp"
#include "patterns/blocks.hpp"
#include "sparse/factor.hpp"

namespace dsop {
namespace {

/// What a call leaves: nothing but a plan, G, this rank's rows of G, or its rows that are not all zero.
enum class Result : unsigned char { plan, whole, own_rows, rows };

constexpr const char* operation_name(Result result) {
  if (result == Result::plan) return "preparing an outer product";
  if (result == Result::whole) return "outer product";
  return result == Result::own_rows ? "sharded outer product" : "outer product's rows";
}

bool is_near(std::size_t pairs, std::size_t chosen_for) {
  return pairs <= 2 * chosen_for && chosen_for <= 2 * pairs;
}

// The largest rank's that gives sparse factors, if the algorithm does not take them.
std::size_t expanded_pairs(const Call& call, const Plan& plan) {
  std::size_t pairs = 0;
  for (const Record& record : call.records())
    if (record.may_expand != 0) pairs = std::max(pairs, std::size_t{record.pairs});
  return plan.problem.sparsity.empty() ? pairs : 0;
}

}  // namespace

template <class T>
struct OuterProductCalls<T>::Operation {
  static constexpr bool by_numbers = true;

  OuterProductCalls& kept;
  Result leaves;
  std::size_t rows;
  std::size_t columns;
  const OuterProductTerms& terms;
  const Shape* promised;  ///< null: dsop()
  SparseFactors<T> factors = Factors<T>{};
  MatrixView<T> gradient = {};

  const std::string* algorithm = &terms.algorithm;
  GradientRows<T> result = {rows, columns};

  /// Whether the call keeps to what was chosen before.
  bool keeps() const { return leaves == Result::plan || leaves == Result::whole; }

  Call open(Transport& transport) const {
    return {transport, operation_name(leaves), rows, columns, data_type<T>, kept.object_};
  }

  void check(Call& call) {
    Record& own = call.own();
    check_terms<T>(terms);
    if (leaves == Result::plan) {
      check_shape<T>(*promised);
      own.pairs = promised->planned_pairs() & Record::dense;
      own.take_sparsity(outer_product::expected_sparsity(*promised, data_type<T>, terms.factor_wire));
    } else {
      check_result(call);
      own.pairs = sparse::rows_of(factors.a) & Record::dense;
    }
    static const std::string automatic = "auto", allgather = "allgather";
    algorithm = leaves == Result::rows ? &allgather : keeps() ? &named_algorithm() : &automatic;
    if (leaves == Result::whole || leaves == Result::rows) describe_factors(own);
    if (leaves != Result::whole) return;
    own.result_aside = terms.sum.beta != 0 || !gradient.contiguous();
    own.large_stride = gradient.stride > std::numeric_limits<std::int32_t>::max();
    own.checks_bits = terms.check_bits;
  }

  void say(Call& call) const {
    call.same_now("the state of its tries", std::string_view(kept.tried_))
        .same("rows", rows)
        .same("columns", columns)
        .same("algorithm", std::string_view(*algorithm))
        .same_now("scale", terms.sum.scale)
        .same_now("alpha", terms.sum.alpha)
        .same_now("beta", terms.sum.beta)
        .same("wire", terms.sum.wire)
        .same("factor_wire", terms.factor_wire)
        .same("allow_native", terms.allow_native)
        .same_now("tries", terms.tries)
        .same_machine(terms.machine, *algorithm == "auto");
    if (leaves != Result::whole || kept.tries_.goes_on()) return;
    const std::string& used = kept.prepared(call.own().on_progress_thread != 0).algorithm;
    if (const std::string& by = used.empty() ? *algorithm : used; by == "auto" || by == "allgather")
      outer_product::ride(call, factors, terms.factor_wire);
  }

  void agreed(const Call& call) const {
    kept.shown_.reset();
    if (kept.tries_.goes_on() && keeps()) kept.next_try(call.records());
  }

  bool serves(const Call&, const Made& made) const { return !keeps() || made.turn == kept.turn_; }

  // A layer keeps the algorithms that it was prepared with. dsop() keeps the one in use while all ranks' pairs are at
  // most twice, and at least half, of those that it was chosen for.
  void make(const Call& call, Made& to) const {
    Made made;
    made.problem = problem_of(call);
    made.turn = kept.turn_;
    made.pairs = made.problem.total_pairs();
    const Prepared& prepared = kept.prepared(made.problem.started);
    const Made* const like = kept.planner_.latest(call.key_without_numbers());
    const bool keeps_prepared = keeps() && !prepared.algorithm.empty();
    const bool keeps_used = keeps() && like != nullptr && is_near(made.pairs, like->pairs);
    const std::string& asked = keeps_prepared ? prepared.algorithm : keeps_used ? like->algorithm : *algorithm;
    Plan& plan = made.plan = outer_product::make_plan(made.problem, call.machine(), asked, call.shared_method(),
                                                      asked == "auto" ? Evaluated::all : Evaluated::named);
    made.text = plan.algorithm_text();
    std::erase_if(plan.candidates, [&](const Candidate& candidate) { return candidate.algorithm != made.text; });
    if (keeps_prepared) plan.reason = prepared.reason;
    if (leaves == Result::rows) plan.reason = "the only one that computes rows alone";
    plan.threads = static_cast<int>(call.records()[0].threads);
    plan.warning = why_not_valid(plan.machine, made.problem.ranks(), made.problem.group.nodes, plan.threads);
    plan.runs_at_wait = !call.ranks().all_allow_progress_thread;
    made.expanded_pairs = expanded_pairs(call, plan);
    made.memory_bytes = outer_product::workspace_bytes(plan, made.expanded_pairs);
    made.packed_pairs = made.pairs;
    if (plan.chosen().rides) made.riding_bytes = outer_product::riding_bytes(made.problem);
    made.algorithm = keeps_used ? like->algorithm : outer_product::to_keep(plan, *algorithm);
    if (keeps_used) made.pairs = like->pairs;
    if (leaves == Result::plan) kept.keep_choice(call, made, *algorithm, terms.tries);
    to = std::move(made);
  }

  void run(Call& call, const Made& made) {
    call.rides_next_time(kept.tries_.goes_on() ? 0 : made.riding_bytes);
    if (leaves == Result::rows) return make_rows(call, made);
    compute(call, made);
    if (call.any([](const Record& record) { return record.checks_bits != 0; }))
      check_same_bits<T>(call.transport(), gradient);
  }

 private:
  void check_result(const Call& call) const {
    if (leaves == Result::whole) {
      check_arguments(factors, gradient, promised);
      if (promised == nullptr && terms.tries != 0)
        refuse("tries", terms.tries, "0, since only an OuterProduct keeps what it has tried");
    } else if (leaves == Result::rows) {
      if (terms.sum.beta != 0) refuse("beta", terms.sum.beta, "0: the rows are made anew");
      check_row_arguments(factors, *promised);
    } else {
      const patterns::Blocks all(promised->rows, call.transport().size());
      check_sharded_arguments(factors, gradient, *promised, all.size(call.transport().rank()));
    }
  }

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
    Problem problem{.rows = rows, .columns = columns, .type = data_type<T>, .group = call.ranks().group};
    problem.allow_native = terms.allow_native;
    problem.native_sums_vary = problem.group.native && !call.transport().native_sums_have_same_bits();
    problem.wire = terms.sum.wire;
    problem.factor_wire = terms.factor_wire;
    problem.sharded = leaves == Result::own_rows;
    problem.rows_only = leaves == Result::rows;
    problem.started = call.any([](const Record& record) { return record.on_progress_thread != 0; });
    for (const Record& record : call.records()) {
      problem.pairs.push_back(record.pairs);
      problem.sparsity.push_back(record.sparsity());
      problem.staged_result |= record.result_aside != 0;
      problem.given_sparse |= record.may_expand != 0;
    }
    if (!problem.rows_only && !call.any([](const Record& record) { return record.sparsity() != Sparsity{}; }))
      problem.sparsity.clear();
    return problem;
  }

  void compute(Call& call, const Made& made) {
    if (rows == 0 || columns == 0) return;
    const Plan& plan = made.plan;
    const OuterProductAlgorithm& by = *plan.algorithm;
    Arena memory(call.memory(made.memory_bytes));
    const outer_product::CallMemory<T> own(memory, plan, made.expanded_pairs);
    const bool sparse = !plan.problem.sparsity.empty();
    OuterProductCall<T> step{
        .transport = call.transport(),
        .plan = plan,
        .own = sparse ? Factors<T>{}
                      : Factors<T>{outer_product::in_full(factors.a, own.a), outer_product::in_full(factors.b, own.b)},
        .gradient = gradient,
        .scale = static_cast<T>(by.sends_gradient ? terms.sum.scale : terms.sum.scale * terms.sum.alpha),
        .beta = static_cast<T>(terms.sum.beta),
        .memory = memory,
        .sparse_own = sparse ? &factors : nullptr};
    const auto unpack = [&](std::span<T> all) { outer_product::unpack_ridden(call, plan, all); };
    if (by.can_ride && !sparse && call.all_ride()) step.unpack = unpack;
    if (!by.sends_gradient) return by.run(step);
    // Only the sum travels: alpha, and a target's own values, join it afterwards.
    if (!own.sum.empty()) step.gradient = {own.sum.data(), gradient.rows, gradient.columns};
    const T beta = std::exchange(step.beta, T{0});
    by.run(step);
    kernels::update<T>(step.gradient, static_cast<T>(terms.sum.alpha), beta, gradient);
  }

  void make_rows(Call& call, const Made& made) {
    const Plan& plan = made.plan;
    call.together([&] {
      const std::size_t most_rows = outer_product::most_rows(plan.problem);
      result.indices.resize(most_rows);
      result.elements = std::make_unique_for_overwrite<T[]>(most_rows * columns);
    });
    Arena memory(call.memory(plan.workspace_bytes));
    OuterProductCall<T> step{.transport = call.transport(),
                             .plan = plan,
                             .gradient = {result.elements.get(), result.indices.size(), columns},
                             .scale = static_cast<T>(terms.sum.scale * terms.sum.alpha),
                             .memory = memory,
                             .sparse_own = &factors};
    result.indices.resize(outer_product::gather_rows<T>(step, result.indices));
  }
};

template <class T>
void OuterProductCalls<T>::prepare(Transport& transport, const Shape& shape, const OuterProductTerms& terms) {
  object_ = transport.calls().calls + 1;
  Operation operation{*this, Result::plan, shape.rows, shape.columns, terms, &shape};
  Call call = operation.open(transport);
  call.check([&] { operation.check(call); });
  planner_.agree(call, operation);
  call.rides_next_time(tries_.goes_on() ? 0 : planner_.last()->riding_bytes);
}

template <class T>
void OuterProductCalls<T>::run(Transport& transport, const SparseFactors<T>& factors, MatrixView<T> gradient,
                               const OuterProductTerms& terms, const Shape* promised) {
  planner_.run(transport, Operation{*this, Result::whole, gradient.rows, gradient.columns, terms, promised,
                                    with_sane_strides(factors), with_sane_stride(gradient)});
}

template <class T>
void OuterProductCalls<T>::run_sharded(Transport& transport, const SparseFactors<T>& factors, MatrixView<T> own_rows,
                                       const OuterProductTerms& terms, const Shape& promised) {
  planner_.run(transport, Operation{*this, Result::own_rows, promised.rows, promised.columns, terms, &promised,
                                    with_sane_strides(factors), with_sane_stride(own_rows)});
}

template <class T>
GradientRows<T> OuterProductCalls<T>::run_rows(Transport& transport, const SparseFactors<T>& factors,
                                               const OuterProductTerms& terms, const Shape& promised) {
  Operation operation{
      *this, Result::rows, promised.rows, promised.columns, terms, &promised, with_sane_strides(factors)};
  planner_.run(transport, operation);
  return std::move(operation.result);
}

#define INSTANTIATE(T) template class OuterProductCalls<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
