#include "planning/dense_executor.hpp"

#include "planning/error_of.hpp"
#include "planning/terms.hpp"

namespace dsop {

// The plan is a function of what the ranks agree on: if they do, each has made the same one.
template <class T>
void DenseExecutor<T>::agree(Transport& transport, std::size_t elements, const Options& options,
                             const std::string& own_error) {
  Header own = make_header(transport, 0, Operation::allreduce, options);
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
  const CollectivePlan plan = make_collective_plan(
      dense_algorithms(), problem, options.machine.value_or(transport.default_machine()), options.algorithm);
  const std::size_t bytes = plan.workspace_elements * sizeof(T);
  if (bytes > workspace_.bytes()) workspace_.resize(bytes);
  plan_ = plan;
  planned_for_ = terms;
}

template <class T>
void DenseExecutor<T>::sum(Transport& transport, std::span<T> data) {
  if (data.empty() || transport.size() == 1) return;
  DenseCall<T> call{transport, data, workspace_.elements().first(plan_.workspace_elements), plan_.parameter};
  plan_.algorithm->run(call);
}

template class DenseExecutor<float>;
template class DenseExecutor<double>;

}  // namespace dsop
