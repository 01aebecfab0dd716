#include "synchronizer/parameter.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <dsop/types.hpp>

#include "base/error_of.hpp"
#include "synchronizer/agree.hpp"

namespace dsop::synchronizer {

template <class T>
Route Parameter<T>::route() const {
  if (policy.kind == Kind::none) return Route::none;
  if (policy.kind == Kind::top_k) return Route::top_k;
  if (policy.kind == Kind::sparse) return Route::sparse;
  if (policy.kind == Kind::outer_product && residual.empty()) {
    if (given.factors()) return Route::outer_product;
    if (given.vector()) return Route::sparse;
  }
  return Route::dense;
}

template <class T>
void Parameter<T>::end_step(bool well) {
  const LeftBehind left_behind = std::exchange(left_behind_, LeftBehind::the_same);
  if (!well) {
    if (left_behind == LeftBehind::next) selecting->go_back_to(state_before_);
    last_step = {};
  } else if (left_behind == LeftBehind::next) {
    residual.swap(next_residual_);
  } else if (left_behind == LeftBehind::nothing) {
    residual = std::vector<T>();
    next_residual_ = std::vector<T>();
  }
}

template <class T>
void Parameter<T>::prepare_outer_product(Transport& transport, const Options& options) {
  OuterProductCalls<T> prepared;
  prepared.prepare(transport, shape, options);
  outer_product_ = std::move(prepared);
}

template <class T>
void Parameter<T>::sum_outer_product(Transport& transport, const Options& options) {
  const OnBehalf on_behalf(transport, name);
  Options terms = options;
  terms.algorithm = policy.algorithm;
  outer_product_.run(transport, std::get<SparseFactors<T>>(given.own), given.gradient, terms, &shape);
  last_step = {.algorithm = outer_product_.algorithm_text()};
}

// What is to be summed, in the form that is smaller.
template <class T>
SparseVectorView<T> Parameter<T>::sparse_values(T factor) {
  if (given.vector() && residual.empty()) {
    const auto& own = std::get<SparseVectorView<T>>(given.own);
    const std::span<T> values = values_.at_least(own.values.size());
    std::transform(own.values.begin(), own.values.end(), values.begin(), [&](T value) { return factor * value; });
    return {own.dimension, own.indices, values};
  }
  reserve();
  const MatrixView<T> G = given.gradient;
  const std::span<T> whole = G.contiguous() ? std::span<T>(G.data, elements()) : whole_.at_least(elements());
  make_gradient(factor, {whole.data(), G.rows, G.columns});
  const std::size_t nonzeros = sparse::count_nonzeros<T>(whole);
  if (nonzeros > sparse::most_indices<T>(elements())) return {elements(), {}, whole};
  return sparse::compress<T>(whole, indices_.at_least(nonzeros).data(), values_.at_least(nonzeros).data());
}

template <class T>
void Parameter<T>::sum_sparse(Transport& transport, const Options& options) {
  const OnBehalf on_behalf(transport, name);
  SparseVectorView<T> values;
  fail_on_all<T>(transport, error_of([&] { values = sparse_values(static_cast<T>(options.scale)); }));
  const bool is_family = policy.kind == Kind::sparse;
  const SparseSum<T> result = sparse_.run(
      transport, values,
      {.algorithm = is_family ? policy.algorithm : "auto", .machine = options.machine, .wire = options.wire}, 1);
  forget_residual();
  own_gradient_.make({result.sum, given.gradient}, T{1}, {}, given.gradient);
  last_step = {.algorithm = result.algorithm, .in_sum = result.sum.values.size()};
}

template <class T>
std::unique_ptr<TopKCalls<T>> Parameter<T>::make_selecting(const Policy& of, TopKState state,
                                                           const Options& options) const {
  if (state == TopKState{}) state.selection.seed = std::hash<std::string>()(name);  // so that parameters draw apart
  return std::make_unique<TopKCalls<T>>(elements(), TopKOptions{of.algorithm, options.machine, options.wire},
                                        std::move(state));
}

// The next residual is the last and the gradient, but for what the sum has.
template <class T>
void Parameter<T>::sum_selected(Transport& transport, const Options& options) {
  const OnBehalf on_behalf(transport, name);
  fail_on_all<T>(transport, error_of([&] {
                   reserve();
                   next_residual_.resize(elements());
                   state_before_ = selecting->state();
                 }));
  make_gradient(static_cast<T>(options.scale), {next_residual_.data(), shape.rows, shape.columns});
  left_behind_ = LeftBehind::next;
  const TopKSum<T> result = selecting->run(transport, next_residual_, policy.k(elements()));
  own_gradient_.make({result.sum, given.gradient}, T{1}, {}, given.gradient);
  last_step = {.algorithm = result.algorithm,
               .target = policy.k(elements()),
               .chosen = result.chosen,
               .in_sum = result.sum.values.size(),
               .nans = result.nans,
               .infinities = result.infinities,
               .evaluated_local = result.evaluated_local,
               .evaluated_global = result.evaluated_global};
}

template <class T>
void Parameter<T>::keep_own(Transport& transport, const Options& options) {
  const OnBehalf on_behalf(transport, name);
  fail_on_all<T>(transport, error_of([&] { reserve(); }));
  own_gradient_.make(given, static_cast<T>(options.scale), {}, given.gradient);
  last_step = {};
}

#define INSTANTIATE(T) template class Parameter<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop::synchronizer
