#include "algorithms/outer_product/family.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "algorithms/outer_product/arguments.hpp"
#include "algorithms/outer_product/gather_rows.hpp"
#include "algorithms/outer_product/ride.hpp"
#include "calls/same_bits.hpp"
#include "kernels/add.hpp"
#include "patterns/blocks.hpp"
#include "sparse/factor.hpp"

namespace dsop {
namespace {

template <class T>
void describe_factors(Record& own, const SparseFactors<T>& factors, bool find_zeros) {
  const auto is_sparse = [](const FactorView<T>& factor) {
    return std::holds_alternative<SparseMatrixView<T>>(factor);
  };
  own.take_sparsity({sparse::elements_to_send(factors.a, find_zeros), sparse::elements_to_send(factors.b, find_zeros)});
  own.given_sparse = is_sparse(factors.a) || is_sparse(factors.b);
}

// The memory of the largest rank's factors in full, if one gives sparse ones to an algorithm that does not take them.
std::size_t expanded_elements(const Call& call, const Plan& plan) {
  std::size_t pairs = 0;
  for (const Record& record : call.records())
    if (record.given_sparse != 0) pairs = std::max(pairs, std::size_t{record.pairs});
  return plan.problem.sparsity.empty() ? pairs * (plan.problem.rows + plan.problem.columns) : 0;
}

// The factors as matrices, those that are sparse expanded.
template <class T>
Factors<T> in_full(const SparseFactors<T>& factors, std::span<T> memory) {
  const auto matrix = [&](const FactorView<T>& factor) {
    if (const auto* const dense = std::get_if<MatrixView<const T>>(&factor)) return *dense;
    const MatrixView<const T> expanded(memory.data(), sparse::rows_of(factor), sparse::columns_of(factor));
    sparse::expand(factor, memory);
    memory = memory.subspan(expanded.rows * expanded.columns);
    return expanded;
  };
  const MatrixView<const T> a = matrix(factors.a);
  return {a, matrix(factors.b)};
}

bool is_near(std::size_t pairs, std::size_t chosen_for) {
  return pairs <= 2 * chosen_for && chosen_for <= 2 * pairs;
}

template <class T>
void copy_or_add(std::span<const T> result, MatrixView<T> gradient, bool accumulate) {
  for (std::size_t i = 0; i < gradient.rows; ++i) {
    const std::span<const T> from = result.subspan(i * gradient.columns, gradient.columns);
    const std::span<T> to(gradient.row(i), gradient.columns);
    if (accumulate)
      kernels::add<T>(to, to, from);
    else
      std::copy(from.begin(), from.end(), to.begin());
  }
}

}  // namespace

template <class T>
void OuterProductCalls<T>::prepare(Transport& transport, const Shape& shape, const Options& options) {
  object_ = transport.calls().calls + 1;
  Call call(transport, "preparing an outer product", shape.rows, shape.columns, data_type<T>, object_);
  call.check([&] { check_shape<T>(shape, options); });
  const Asked asked{shape.rows, shape.columns, named_algorithm(call, options), options};
  call.own().pairs = shape.planned_pairs() & Record::dense;
  call.check([&] { call.own().take_sparsity(outer_product::expected_sparsity(shape, data_type<T>)); });
  agree_and_plan(call, asked, nullptr);
  const Plan& plan = made_->plan;
  const bool keeps_parameter = plan.auto_is_measured;  // the formula's may be another one for fewer pairs
  prepared_algorithm_ = asked.algorithm != "auto" ? asked.algorithm
                        : keeps_parameter         ? plan.algorithm_text()
                                                  : plan.algorithm_name();
  prepared_reason_ = plan.reason;
}

template <class T>
void OuterProductCalls<T>::run(Transport& transport, const SparseFactors<T>& given, MatrixView<T> gradient,
                               const Options& options, const Shape* promised) {
  const SparseFactors<T> factors = with_sane_strides(given);
  gradient = with_sane_stride(gradient);
  Call call(transport, "outer product", gradient.rows, gradient.columns, data_type<T>, object_);
  call.check([&] { check_arguments(factors, gradient, options, promised); });
  const Asked asked{gradient.rows, gradient.columns, named_algorithm(call, options), options};
  call.check([&] { describe_factors(call.own(), factors, options.find_zeros); });
  call.own().result_aside = options.accumulate || !gradient.contiguous();
  call.own().large_stride = gradient.stride > std::numeric_limits<std::int32_t>::max();
  call.own().checks_bits = options.check_bits;
  agree_and_plan(call, asked, &factors);
  compute(call, factors, gradient, options);
  if (call.any([](const Record& record) { return record.checks_bits != 0; })) check_same_bits<T>(transport, gradient);
}

template <class T>
void OuterProductCalls<T>::run_sharded(Transport& transport, const SparseFactors<T>& given, MatrixView<T> own_rows,
                                       const Options& options, const Shape& promised) {
  static const std::string automatic = "auto";
  const SparseFactors<T> factors = with_sane_strides(given);
  own_rows = with_sane_stride(own_rows);
  Call call(transport, "sharded outer product", promised.rows, promised.columns, data_type<T>, object_);
  call.check([&] {
    const patterns::Blocks rows(promised.rows, transport.size());
    check_sharded_arguments(factors, own_rows, options, promised, rows.size(transport.rank()));
  });
  agree_and_plan(call, {promised.rows, promised.columns, automatic, options, true}, &factors);
  compute(call, factors, own_rows, options);
}

template <class T>
GradientRows<T> OuterProductCalls<T>::run_rows(Transport& transport, const SparseFactors<T>& given,
                                               const Options& options, const Shape& promised) {
  static const std::string allgather = "allgather";
  const SparseFactors<T> factors = with_sane_strides(given);
  Call call(transport, "outer product's rows", promised.rows, promised.columns, data_type<T>, object_);
  call.check([&] { check_row_arguments(factors, options, promised); });
  call.check([&] { describe_factors(call.own(), factors, options.find_zeros); });
  agree_and_plan(call, {promised.rows, promised.columns, allgather, options, false, true}, &factors);

  const Plan& plan = made_->plan;
  GradientRows<T> result{promised.rows, promised.columns};
  call.together([&] {
    const std::size_t most_rows = outer_product::most_rows(plan.problem);
    result.indices.resize(most_rows);
    result.elements = std::make_unique_for_overwrite<T[]>(most_rows * promised.columns);
  });
  Arena memory(call.memory(plan.workspace_bytes));
  OuterProductCall<T> step{.transport = transport,
                           .plan = plan,
                           .gradient = {result.elements.get(), result.indices.size(), promised.columns},
                           .scale = static_cast<T>(options.scale),
                           .memory = memory,
                           .sparse_own = &factors};
  result.indices.resize(outer_product::gather_rows<T>(step, result.indices));
  return result;
}

// Where the caller leaves the algorithm open, the environment may name it; a layer asks it once.
template <class T>
const std::string& OuterProductCalls<T>::named_algorithm(Call& call, const Options& options) {
  const bool is_prepared = !prepared_algorithm_.empty();
  const char* const name = options.algorithm != "auto" || is_prepared ? nullptr : std::getenv("DSOP_ALGORITHM");
  if (name == nullptr || *name == 0) return options.algorithm;
  environment_ = name;
  call.check([&] {
    if (environment_ != "auto") parse_algorithm(environment_, "DSOP_ALGORITHM", outer_product_algorithms());
  });
  return environment_;
}

template <class T>
void OuterProductCalls<T>::say(Call& call, const Asked& asked) {
  call.same("rows", asked.rows)
      .same("columns", asked.columns)
      .same("algorithm", std::string_view(asked.algorithm))
      .same_now("scale", asked.options.scale)
      .same("accumulate", asked.options.accumulate)
      .same("wire", asked.options.wire)
      .same_machine(asked.options.machine);
}

template <class T>
Problem OuterProductCalls<T>::problem_of(const Call& call, const Asked& asked) {
  Problem problem{.rows = asked.rows, .columns = asked.columns, .type = data_type<T>};
  problem.native_collectives = call.transport().has_native_collectives();
  problem.wire = asked.options.wire;
  problem.sharded = asked.sharded;
  problem.rows_only = asked.rows_only;
  problem.nodes = call.ranks().nodes;
  for (const Record& record : call.records()) {
    problem.pairs.push_back(record.pairs);
    problem.sparsity.push_back(record.sparsity());
    problem.staged_result |= record.result_aside != 0;
  }
  if (!problem.rows_only && !call.any([](const Record& record) { return record.sparsity() != Sparsity{}; }))
    problem.sparsity.clear();
  return problem;
}

// A layer keeps to the algorithm that it was prepared with; dsop() to the one in use while the pairs of all ranks are
// within twice of those that it was chosen for.
template <class T>
std::string OuterProductCalls<T>::algorithm_for(const Asked& asked, std::size_t pairs, const InUse* in_use) const {
  if (asked.sharded || asked.rows_only) return asked.algorithm;
  if (!prepared_algorithm_.empty()) return prepared_algorithm_;
  if (in_use != nullptr && is_near(pairs, in_use->pairs)) return in_use->algorithm;
  return asked.algorithm;
}

template <class T>
void OuterProductCalls<T>::agree_and_plan(Call& call, const Asked& asked, const SparseFactors<T>* factors) {
  say(call, asked);
  if (factors != nullptr) {
    call.own().pairs = sparse::rows_of(factors->a) & Record::dense;
    const std::string& algorithm = prepared_algorithm_.empty() ? asked.algorithm : prepared_algorithm_;
    if (!asked.sharded && !asked.rows_only && (algorithm == "auto" || algorithm == "allgather"))
      outer_product::ride(call, *factors);
  }
  call.agree();
  shown_.reset();
  try {
    find_or_make(call, asked);
  } catch (const AgreedError&) {  // some ranks may have kept what others have not
    in_use_.clear();
    plans_.clear();
    throw;
  }
  call.rides_next_time(made_->riding_bytes);
}

// Plans are functions of what all ranks have said, so all ranks make the same, and come to the same exchanges.
template <class T>
void OuterProductCalls<T>::find_or_make(Call& call, const Asked& asked) {
  const std::size_t shape_length = call.key().size();
  const std::uint64_t digest = call.add_numbers_to_key();
  const auto shape = std::span(call.key()).first(shape_length);
  made_ = plans_.find(call.key(), digest);
  bool is_first = false;
  std::string error;
  if (made_ == nullptr) {
    std::size_t pairs = 0;
    for (const Record& record : call.records()) pairs += record.pairs;
    InUse* const in_use = in_use_.find(shape, call.key_digest());
    is_first = in_use == nullptr;
    error = error_of([&] {
      made_ = &plans_.insert(call.key(), digest, make(call, asked, algorithm_for(asked, pairs, in_use)));
      const Plan& plan = made_->plan;
      const InUse now{asked.algorithm != "auto" ? asked.algorithm
                      : plan.auto_is_measured   ? plan.algorithm_text()
                                                : plan.algorithm_name(),
                      pairs};
      if (is_first)
        in_use_.insert(shape, call.key_digest(), now);
      else if (!is_near(pairs, in_use->pairs))
        *in_use = now;
    });
  }
  const std::size_t pairs = made_ == nullptr ? 0 : made_->plan.pair_bounds.back();
  if (!is_first && error.empty() && !call.must_grow(made_->memory_bytes, pairs)) return;
  call.together([&] {
    if (!error.empty()) throw Error(error);
    call.grow(made_->memory_bytes, pairs);
  });
}

template <class T>
auto OuterProductCalls<T>::make(const Call& call, const Asked& asked, const std::string& algorithm) const -> Made {
  Made made{.problem = problem_of(call, asked)};
  made.plan = outer_product::make_plan(made.problem, call.machine(), algorithm, call.shared_method(),
                                       algorithm == "auto" ? Evaluated::all : Evaluated::named);
  Plan& plan = made.plan;
  const std::string chosen = plan.algorithm_text();
  std::erase_if(plan.candidates, [&](const Candidate& candidate) { return candidate.algorithm != chosen; });
  if (!prepared_algorithm_.empty() && !asked.sharded) plan.reason = prepared_reason_;
  if (asked.rows_only) plan.reason = "the only one that makes rows alone";
  plan.runs_at_wait = !call.ranks().all_allow_progress_thread;
  made.expanded_elements = expanded_elements(call, plan);
  Arena memory;
  memory.take<T>(made.expanded_elements);
  memory.take<std::byte>(plan.workspace_bytes);
  made.memory_bytes = memory.bytes();
  if (plan.algorithm->can_ride) made.riding_bytes = outer_product::riding_bytes(made.problem);
  return made;
}

template <class T>
const Plan& OuterProductCalls<T>::plan() const {
  if (!shown_) {
    const Plan& plan = made_->plan;
    shown_ = plan;
    shown_->candidates = outer_product::make_plan(made_->problem, plan.machine, plan.algorithm_text(),
                                                  plan.shared_method, Evaluated::all)
                             .candidates;
  }
  return *shown_;
}

template <class T>
void OuterProductCalls<T>::compute(Call& call, const SparseFactors<T>& factors, MatrixView<T> gradient,
                                   const Options& options) {
  const Plan& plan = made_->plan;
  const OuterProductAlgorithm& algorithm = *plan.algorithm;
  if (plan.problem.rows == 0 || plan.problem.columns == 0) return;
  Arena memory(call.memory(made_->memory_bytes));
  const std::span<T> expanded = memory.take<T>(made_->expanded_elements);
  const bool sparse = !plan.problem.sparsity.empty();
  OuterProductCall<T> step{.transport = call.transport(),
                           .plan = plan,
                           .own = sparse ? Factors<T>{} : in_full(factors, expanded),
                           .gradient = gradient,
                           .scale = static_cast<T>(options.scale),
                           .accumulate = options.accumulate,
                           .memory = memory,
                           .sparse_own = sparse ? &factors : nullptr};
  const auto unpack = [&](std::span<T> all) { outer_product::unpack_ridden(call, plan, all); };
  if (algorithm.can_ride && !sparse && call.all_ride()) step.unpack = unpack;
  if (!plan.problem.staged_result || !algorithm.sends_gradient) {
    algorithm.run(step);
    return;
  }
  const std::span<T> result = memory.take<T>(gradient.rows * gradient.columns);
  step.gradient = {result.data(), gradient.rows, gradient.columns};
  step.accumulate = false;
  algorithm.run(step);
  copy_or_add<T>(result, gradient, options.accumulate);
}

#define INSTANTIATE(T) template class OuterProductCalls<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
