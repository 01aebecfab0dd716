#include "planning/dense_executor.hpp"

#include "planning/error_of.hpp"
#include "planning/terms.hpp"

namespace dsop {

template <class T>
void DenseExecutor<T>::agree(Transport& transport, std::size_t elements, const Options& options,
                             const std::string& own_error) {
  Header own = make_header(transport, 0, Operation::dense_allreduce, options);
  own.common.type = data_type<T>;
  own.common.rows = elements;
  own.common.columns = 1;
  exchange_headers(transport, own, own_error, headers_);
  if (same_terms(headers_, planned_for_)) return;
  planned_for_.clear();
  agree_on_errors(
      transport, error_of([&] {
        const DenseProblem problem{elements, transport.size(), data_type<T>, transport.has_native_collectives()};
        plan_ = make_dense_plan(problem, options.machine.value_or(transport.default_machine()), options.algorithm);
        workspace_elements_ = plan_.algorithm->workspace_elements(problem, plan_.parameter);
        if (workspace_elements_ * sizeof(T) > workspace_.bytes()) workspace_.resize(workspace_elements_ * sizeof(T));
      }));
  planned_for_ = headers_;
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
