#include "algorithms/outer_product/family.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "algorithms/outer_product/arguments.hpp"
#include "algorithms/outer_product/call_memory.hpp"
#include "algorithms/outer_product/gather_rows.hpp"
#include "algorithms/outer_product/ride.hpp"
#include "base/refuse.hpp"
#include "calls/same_bits.hpp"
#include "kernels/update.hpp"
#include "patterns/blocks.hpp"
#include "sparse/factor.hpp"

namespace dsop {
namespace {

template <class T>
void describe_factors(Record& own, const SparseFactors<T>& factors, const Options& options) {
  const auto is_sparse = [](const FactorView<T>& factor) {
    return std::holds_alternative<SparseMatrixView<T>>(factor);
  };
  const auto to_send = [&](const FactorView<T>& factor) {
    return sparse::elements_to_send(factor, options.find_zeros, options.factor_wire);
  };
  own.take_sparsity({to_send(factors.a), to_send(factors.b)});
  own.may_expand = is_sparse(factors.a) || is_sparse(factors.b);
}

}  // namespace

template <class T>
void OuterProductCalls<T>::prepare(Transport& transport, const Shape& shape, const Options& options) {
  object_ = transport.calls().calls + 1;
  Call call(transport, "preparing an outer product", shape.rows, shape.columns, data_type<T>, object_);
  call.check([&] { check_shape<T>(shape, options); });
  const Terms terms{shape.rows, shape.columns, named_algorithm(call, options), options};
  call.own().pairs = shape.planned_pairs() & Record::dense;
  call.check(
      [&] { call.own().take_sparsity(outer_product::expected_sparsity(shape, data_type<T>, options.factor_wire)); });
  agree_and_plan(call, terms, nullptr);
}

template <class T>
void OuterProductCalls<T>::run(Transport& transport, const SparseFactors<T>& given, MatrixView<T> gradient,
                               const Options& options, const Shape* promised) {
  const SparseFactors<T> factors = with_sane_strides(given);
  gradient = with_sane_stride(gradient);
  Call call(transport, "outer product", gradient.rows, gradient.columns, data_type<T>, object_);
  call.check([&] { check_arguments(factors, gradient, options, promised); });
  call.check([&] {
    if (promised == nullptr && options.tries != 0)
      refuse("tries", options.tries, "0, since only an OuterProduct keeps what it has tried");
  });
  const Terms terms{gradient.rows, gradient.columns, named_algorithm(call, options), options};
  call.check([&] { describe_factors(call.own(), factors, options); });
  call.own().result_aside = beta_of(options) != 0 || !gradient.contiguous();
  call.own().large_stride = gradient.stride > std::numeric_limits<std::int32_t>::max();
  call.own().checks_bits = options.check_bits;
  if (tries_.goes_on()) call.own().take_last_call(last_run_seconds_);
  agree_and_plan(call, terms, &factors);
  using Clock = std::chrono::steady_clock;
  const auto start = tries_.goes_on() ? Clock::now() : Clock::time_point();
  compute(call, factors, gradient, options);
  if (tries_.goes_on()) last_run_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
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
  call.check([&] { describe_factors(call.own(), factors, options); });
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
                           .scale = static_cast<T>(options.scale * options.alpha),
                           .memory = memory,
                           .sparse_own = &factors};
  result.indices.resize(outer_product::gather_rows<T>(step, result.indices));
  return result;
}

template <class T>
void OuterProductCalls<T>::compute(Call& call, const SparseFactors<T>& factors, MatrixView<T> gradient,
                                   const Options& options) {
  const Plan& plan = made_->plan;
  const OuterProductAlgorithm& algorithm = *plan.algorithm;
  if (plan.problem.rows == 0 || plan.problem.columns == 0) return;
  Arena memory(call.memory(made_->memory_bytes));
  const outer_product::CallMemory<T> own(memory, plan, made_->expanded_pairs);
  const bool sparse = !plan.problem.sparsity.empty();
  OuterProductCall<T> step{
      .transport = call.transport(),
      .plan = plan,
      .own = sparse ? Factors<T>{}
                    : Factors<T>{outer_product::in_full(factors.a, own.a), outer_product::in_full(factors.b, own.b)},
      .gradient = gradient,
      .scale = static_cast<T>(algorithm.sends_gradient ? options.scale : options.scale * options.alpha),
      .beta = static_cast<T>(beta_of(options)),
      .memory = memory,
      .sparse_own = sparse ? &factors : nullptr};
  const auto unpack = [&](std::span<T> all) { outer_product::unpack_ridden(call, plan, all); };
  if (algorithm.can_ride && !sparse && call.all_ride()) step.unpack = unpack;
  if (!algorithm.sends_gradient) return algorithm.run(step);
  // Only the sum travels: alpha, and a target's own values, join it afterwards.
  if (!own.sum.empty()) step.gradient = {own.sum.data(), gradient.rows, gradient.columns};
  const T beta = std::exchange(step.beta, T{0});
  algorithm.run(step);
  kernels::update<T>(step.gradient, static_cast<T>(options.alpha), beta, gradient);
}

#define INSTANTIATE(T) template class OuterProductCalls<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
