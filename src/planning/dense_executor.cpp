#include "planning/dense_executor.hpp"

#include "planning/error_of.hpp"
#include "planning/terms.hpp"

namespace dsop {

// The plan is a function of what the ranks agree on: if they do, each has made the same one.
template <class T>
void DenseExecutor<T>::agree(Transport& transport, std::size_t elements, const Options& options,
                             const std::string& own_error) {
  Header own = make_header(transport, 0, Operation::dense_allreduce, options);
  own.common.type = data_type<T>;
  own.common.rows = elements;
  own.common.columns = 1;
  const std::string error = error_of([&] { make_plan(transport, own.common, options); });
  exchange_headers(transport, own, own_error.empty() ? error : own_error, headers_);
}

template <class T>
void DenseExecutor<T>::make_plan(const Transport& transport, CommonTerms terms, const Options& options) {
  terms.call = terms.parameter = 0;
  terms.scale = 1;
  if (plan_.algorithm != nullptr && terms == planned_for_) return;
  plan_ = {};
  const DenseProblem problem{terms.rows, transport.size(), terms.type, transport.has_native_collectives()};
  const DensePlan plan =
      make_dense_plan(problem, options.machine.value_or(transport.default_machine()), options.algorithm);
  workspace_elements_ = plan.algorithm->workspace_elements(problem, plan.parameter);
  if (workspace_elements_ * sizeof(T) > workspace_.bytes()) workspace_.resize(workspace_elements_ * sizeof(T));
  plan_ = plan;
  planned_for_ = terms;
}

template <class T>
void DenseExecutor<T>::sum(Transport& transport, std::span<T> data) {
  if (data.empty() || transport.size() == 1) return;
  DenseCall<T> call{transport, data, workspace_.elements().first(workspace_elements_), plan_.parameter};
  plan_.algorithm->run(call);
}

template class DenseExecutor<float>;
template class DenseExecutor<double>;

}  // namespace dsop
