#include "calls/executor.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include "algorithms/outer_product/gather_rows.hpp"
#include "calls/arguments.hpp"
#include "calls/error_of.hpp"
#include "calls/same_bits.hpp"
#include "calls/sane_strides.hpp"
#include "calls/terms.hpp"
#include "kernels/add.hpp"
#include "kernels/outer_product.hpp"
#include "patterns/blocks.hpp"
#include "sparse/factor.hpp"
#include "transport/call_state.hpp"

namespace dsop {
namespace {

// Where the caller leaves the algorithm open, the environment may name it.
void ask_environment(Options& options) {
  const char* const name = std::getenv("DSOP_ALGORITHM");
  if (options.algorithm != "auto" || name == nullptr || *name == 0) return;
  options.algorithm = name;
  if (options.algorithm != "auto") parse_algorithm(options.algorithm, "DSOP_ALGORITHM", outer_product_algorithms());
}

template <class T>
bool is_sparse(const FactorView<T>& factor) {
  return std::holds_alternative<SparseMatrixView<T>>(factor);
}

template <class T>
void describe_factors(OwnTerms& own, const SparseFactors<T>& factors, const Options& options) {
  own.sparsity = {sparse::elements_to_send(factors.a, options.find_zeros),
                  sparse::elements_to_send(factors.b, options.find_zeros)};
  own.given_sparse = is_sparse(factors.a) || is_sparse(factors.b);
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
void Executor<T>::prepare(Transport& transport, const Shape& shape, const Options& options) {
  Options resolved = options;
  const std::string error = error_of([&] {
    ask_environment(resolved);
    check_shape<T>(shape, resolved);
  });
  const WithinCall within_call(transport, Operation::prepare_outer_product, shape.rows, shape.columns, data_type<T>);
  object_ = transport.calls().calls + 1;
  Header own = make_header(transport, object_, Operation::prepare_outer_product, resolved);
  own.common.rows = shape.rows;
  own.common.columns = shape.columns;
  own.own.pairs = shape.planned_pairs();
  if (error.empty()) own.own.sparsity = expected_sparsity(shape, data_type<T>);
  agree_and_plan(transport, own, error, resolved);
  prepared_ = plan_;
  const bool keeps_parameter = plan_.auto_is_measured;  // the formula's may be another one for fewer pairs
  prepared_algorithm_ = resolved.algorithm != "auto" ? resolved.algorithm
                        : keeps_parameter            ? plan_.algorithm_text()
                                                     : plan_.algorithm_name();
}

template <class T>
void Executor<T>::run(Transport& transport, const SparseFactors<T>& given, MatrixView<T> gradient,
                      const Options& options, const Shape* promised) {
  const SparseFactors<T> factors = with_sane_strides(given);
  gradient = with_sane_stride(gradient);
  const WithinCall within_call(transport, Operation::outer_product, gradient.rows, gradient.columns, data_type<T>);
  Options resolved = options;
  const std::string error = error_of([&] {
    if (!prepared_) ask_environment(resolved);
    check_arguments(factors, gradient, resolved, promised);
  });
  Header own = make_header(transport, object_, Operation::outer_product, resolved);
  own.common.rows = gradient.rows;
  own.common.columns = gradient.columns;
  own.own.pairs = sparse::rows_of(factors.a);
  if (error.empty()) describe_factors(own.own, factors, options);
  own.own.staged_result |= !gradient.contiguous();
  own.own.strides_fit_blas = gradient.stride <= std::numeric_limits<std::int32_t>::max();
  agree_and_plan(transport, own, error, resolved);
  compute(transport, factors, gradient, resolved);
  if (std::any_of(headers_.begin(), headers_.end(), [](const Header& header) { return header.own.checks_bits; }))
    check_same_bits<T>(transport, gradient);
}

template <class T>
void Executor<T>::run_sharded(Transport& transport, const SparseFactors<T>& given, MatrixView<T> own_rows,
                              const Options& options, const Shape& promised) {
  const SparseFactors<T> factors = with_sane_strides(given);
  own_rows = with_sane_stride(own_rows);
  const std::string error = error_of([&] {
    const patterns::Blocks rows(promised.rows, transport.size());
    check_sharded_arguments(factors, own_rows, options, promised, rows.size(transport.rank()));
  });
  const WithinCall within_call(transport, Operation::sharded_outer_product, promised.rows, promised.columns,
                               data_type<T>);
  Header own = make_header(transport, object_, Operation::sharded_outer_product, options);
  own.common.rows = promised.rows;
  own.common.columns = promised.columns;
  own.own.pairs = sparse::rows_of(factors.a);
  own.own.staged_result = false;  // the rows are written once, wherever they lie
  agree_and_plan(transport, own, error, options);
  compute(transport, factors, own_rows, options);
}

template <class T>
GradientRows<T> Executor<T>::run_rows(Transport& transport, const SparseFactors<T>& given, const Options& options,
                                      const Shape& promised) {
  const SparseFactors<T> factors = with_sane_strides(given);
  const std::string error = error_of([&] { check_row_arguments(factors, options, promised); });
  const WithinCall within_call(transport, Operation::outer_product_rows, promised.rows, promised.columns, data_type<T>);
  Header own = make_header(transport, object_, Operation::outer_product_rows, options);
  own.common.rows = promised.rows;
  own.common.columns = promised.columns;
  own.own.pairs = sparse::rows_of(factors.a);
  if (error.empty()) describe_factors(own.own, factors, options);
  agree_and_plan(transport, own, error, options);

  GradientRows<T> result{promised.rows, promised.columns};
  agree_on_errors(transport, error_of([&] {
                    const std::size_t most_rows = outer_product::most_rows(plan_.problem);
                    result.indices.resize(most_rows);
                    result.elements = std::make_unique_for_overwrite<T[]>(most_rows * promised.columns);
                  }));
  Arena memory(workspace_.elements().first(plan_.workspace_bytes));
  OuterProductCall<T> call{transport,
                           plan_,
                           {},
                           {result.elements.get(), result.indices.size(), promised.columns},
                           static_cast<T>(options.scale),
                           false,
                           memory,
                           &factors};
  result.indices.resize(outer_product::gather_rows<T>(call, result.indices));
  return result;
}

template <class T>
std::string Executor<T>::algorithm_for(Operation operation, const Options& options) const {
  if (operation == Operation::outer_product_rows) return "allgather";
  if (operation == Operation::sharded_outer_product) return "auto";
  return prepared_ ? prepared_algorithm_ : options.algorithm;
}

// Every rank sees the same headers, so all make the same plan, and all come to the exchange of errors.
template <class T>
void Executor<T>::agree_and_plan(Transport& transport, Header& own, const std::string& own_error,
                                 const Options& options) {
  own.common.type = data_type<T>;
  exchange_headers(transport, own, own_error, headers_);
  if (same_terms(headers_, planned_for_)) return;
  planned_for_.clear();
  const std::string error = error_of([&] {
    plan_ = make_plan(problem_of(headers_, transport), options.machine.value_or(transport.default_machine()),
                      algorithm_for(own.common.operation, options), shared_method(headers_));
    if (prepared_ && own.common.operation == Operation::outer_product) plan_.reason = prepared_->reason;
    if (own.common.operation == Operation::outer_product_rows) plan_.reason = "the only one that makes rows alone";
    plan_.runs_at_wait = std::any_of(headers_.begin(), headers_.end(),
                                     [](const Header& header) { return !header.own.allows_progress_thread; });
    take_memory(own.own);
  });
  try {
    agree_on_errors(transport, error);
  } catch (const ArgumentError&) {
    workspace_ = {};
    planned_for_.clear();
    throw;
  }
}

// All that a call with this plan needs, so that nothing fails between two messages.
template <class T>
void Executor<T>::take_memory(const OwnTerms& own) {
  planned_for_ = headers_;
  const auto at_least = [](auto& workspace, std::size_t bytes) {
    try {
      workspace.at_least(bytes);
    } catch (const std::bad_alloc&) {
      throw Error("no memory for a workspace of " + std::to_string(bytes) + " bytes");
    }
  };
  at_least(workspace_, plan_.workspace_bytes);
  if (own.given_sparse && plan_.problem.sparsity.empty())
    at_least(expanded_, own.pairs * (plan_.problem.rows + plan_.problem.columns) * sizeof(T));
  kernels::reserve_product<T>(plan_.problem.total_pairs());
}

// The factors as matrices, those that are sparse expanded.
template <class T>
Factors<T> Executor<T>::in_full(const SparseFactors<T>& factors) {
  std::span<T> room = expanded_.elements();
  const auto matrix = [&](const FactorView<T>& factor) {
    if (const auto* const dense = std::get_if<MatrixView<const T>>(&factor)) return *dense;
    const MatrixView<const T> expanded(room.data(), sparse::rows_of(factor), sparse::columns_of(factor));
    sparse::expand(factor, room);
    room = room.subspan(expanded.rows * expanded.columns);
    return expanded;
  };
  const MatrixView<const T> a = matrix(factors.a);
  return {a, matrix(factors.b)};
}

template <class T>
void Executor<T>::compute(Transport& transport, const SparseFactors<T>& factors, MatrixView<T> gradient,
                          const Options& options) {
  const OuterProductAlgorithm& algorithm = *plan_.algorithm;
  if (plan_.problem.rows == 0 || plan_.problem.columns == 0) return;
  const bool sparse = !plan_.problem.sparsity.empty();
  Arena memory(workspace_.elements().first(plan_.workspace_bytes));
  OuterProductCall<T> call{transport,
                           plan_,
                           sparse ? Factors<T>{} : in_full(factors),
                           gradient,
                           static_cast<T>(options.scale),
                           options.accumulate,
                           memory,
                           sparse ? &factors : nullptr};
  if (!plan_.problem.staged_result || !algorithm.sends_gradient) {
    algorithm.run(call);
    return;
  }
  const std::span<T> result = memory.take<T>(gradient.rows * gradient.columns);
  call.gradient = {result.data(), gradient.rows, gradient.columns};
  call.accumulate = false;
  algorithm.run(call);
  copy_or_add<T>(result, gradient, options.accumulate);
}

template class Executor<float>;
template class Executor<double>;

}  // namespace dsop
