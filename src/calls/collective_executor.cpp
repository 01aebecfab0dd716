#include "calls/collective_executor.hpp"

#include <algorithm>
#include <type_traits>

#include "calls/error_of.hpp"
#include "calls/refuse.hpp"
#include "calls/terms.hpp"
#include "transport/stall.hpp"

namespace dsop {
namespace {

template <class T>
void check_arguments(const Transport& transport, std::span<T> data, int root, const CollectiveOptions& options) {
  if (data.data() == nullptr && !data.empty()) refuse("data", "null", "memory for its elements");
  if (root < 0 || root >= transport.size())
    refuse("root", root, "a rank from 0 to " + std::to_string(transport.size() - 1));
  if (options.machine) check_machine(*options.machine);
}

}  // namespace

template <class T>
void CollectiveExecutor<T>::run(Transport& transport, Operation operation, std::span<T> data, int root,
                                const CollectiveOptions& options) {
  const WithinCall within_call(transport, operation, data.size(), 1, data_type<T>);
  Options terms;
  terms.algorithm = options.algorithm;
  terms.machine = options.machine;
  agree(transport, operation, data.size(), root, terms,
        error_of([&] { check_arguments(transport, data, root, options); }));
  run_agreed(transport, data, root);
}

// The plan is a function of what the ranks agree on: if they do, each has made the same one.
template <class T>
void CollectiveExecutor<T>::agree(Transport& transport, Operation operation, std::size_t elements, int root,
                                  const Options& options, const std::string& own_error) {
  Header own = make_header(transport, 0, operation, options);
  own.common.type = data_type<T>;
  own.common.rows = elements;
  own.common.columns = 1;
  own.common.root = root;
  const auto plan = [&] {
    plan_ = plan_for(transport, own.common, options);
    workspace_.at_least(plan_.workspace_bytes);
  };
  exchange_headers(transport, own, own_error.empty() ? error_of(plan) : own_error, headers_);
}

template <class T>
void CollectiveExecutor<T>::run_agreed(Transport& transport, std::span<T> data, int root) {
  if (data.empty() || transport.size() == 1) return;
  Arena memory(workspace_.elements());
  DenseCall<T> call{transport, data, memory, plan_.parameter, {}, root};
  if constexpr (std::is_same_v<T, float>)
    if (plan_.wire == Wire::bf16) return plan_.algorithm->run_bf16(call);
  plan_.algorithm->run(call);
}

template <class T>
const CollectivePlan& CollectiveExecutor<T>::plan_for(const Transport& transport, const CommonTerms& terms,
                                                      const Options& options) {
  constexpr std::size_t most_known = 64;
  CommonTerms of_any_call = terms;
  of_any_call.call = of_any_call.parameter = 0;
  of_any_call.scale = 1;  // no plan depends on it
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.terms == of_any_call; });
  if (found != known_.end()) return found->plan;
  const DenseProblem problem{.elements = terms.rows,
                             .ranks = transport.size(),
                             .type = terms.type,
                             .native_collectives = transport.has_native_collectives(),
                             .wire = terms.wire,
                             .root = terms.root};
  CollectivePlan plan = make_collective_plan(collective_algorithms(terms.operation), problem,
                                             options.machine.value_or(transport.default_machine()), options.algorithm);
  if (known_.size() == most_known) known_.clear();
  return known_.emplace_back(Known{of_any_call, std::move(plan)}).plan;
}

template class CollectiveExecutor<float>;
template class CollectiveExecutor<double>;

}  // namespace dsop
