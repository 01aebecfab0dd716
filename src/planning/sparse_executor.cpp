#include "planning/sparse_executor.hpp"

#include <limits>

#include "planning/call_state.hpp"
#include "planning/error_of.hpp"
#include "planning/sparse_arguments.hpp"
#include "planning/terms.hpp"
#include "sparse/algorithm.hpp"

namespace dsop {
namespace {

template <class T>
bool is_smaller_sparse(const SparseVectorView<T>& x) {
  return !x.dense() && x.indices.size() <= sparse::most_indices<T>(x.dimension);
}

SparseProblem problem_of_vectors(const std::vector<Header>& headers, const Transport& transport) {
  SparseProblem problem{.elements = headers[0].common.rows, .type = headers[0].common.type};
  problem.native_collectives = transport.has_native_collectives();
  for (const Header& header : headers) problem.nonzeros.push_back(header.own.sparsity.a);
  return problem;
}

template <class T>
void at_least(Workspace<T>& workspace, std::size_t bytes) {
  if (bytes > workspace.bytes()) workspace.resize(bytes);
}

}  // namespace

template <class T>
SparseSum<T> SparseExecutor<T>::run(Transport& transport, const SparseVectorView<T>& given,
                                    const SparseAllreduceOptions& options) {
  const WithinCall within_call(transport, Operation::sparse_allreduce, given.dimension, 1, data_type<T>);
  agree(transport, given, options);
  SparseSum<T> result;
  agree_on_errors(transport, error_of([&] {
                    make_plan(transport, options);
                    result = take_memory(given);
                  }));
  if (given.dimension == 0) return result;

  SparseVectorView<T> own = given;
  if (!given.dense() && !is_smaller_sparse(given)) {
    own = {given.dimension, {}, expanded_.elements().first(given.dimension)};
    sparse::expand<T>(given, expanded_.elements());
  }
  const std::span<T> memory(result.memory.get(), plan_.result_bytes / sizeof(T));
  if (transport.size() == 1) {
    result.sum = sparse::copy<T>(own, memory);
    return result;
  }
  SparseCall<T> call{transport, plan_, own, memory, workspace_.elements().first(plan_.workspace_bytes), blocks_};
  plan_.algorithm->run(call);
  result.sum = call.sum;
  return result;
}

template <class T>
void SparseExecutor<T>::agree(Transport& transport, const SparseVectorView<T>& own,
                              const SparseAllreduceOptions& options) {
  const std::string error = error_of([&] {
    check_vector("own", own);
    if (options.machine) check_machine(*options.machine);
    if (options.algorithm != "auto") parse_algorithm(options.algorithm, "algorithm", sparse_algorithms());
  });
  Options terms;
  terms.algorithm = options.algorithm;
  terms.machine = options.machine;
  Header header = make_header(transport, 0, Operation::sparse_allreduce, terms);
  header.common.type = data_type<T>;
  header.common.rows = own.dimension;
  header.common.columns = 1;
  header.own.sparsity.a = is_smaller_sparse(own) ? own.indices.size() : Sparsity::dense;
  exchange_headers(transport, header, error, headers_);
}

// Every rank sees the same headers, so all make the same plan.
template <class T>
void SparseExecutor<T>::make_plan(const Transport& transport, const SparseAllreduceOptions& options) {
  if (same_terms(headers_, planned_for_)) return;
  planned_for_.clear();
  plan_ = make_sparse_plan(problem_of_vectors(headers_, transport),
                           options.machine.value_or(transport.default_machine()), options.algorithm);
  planned_for_ = headers_;
}

// All that the call needs, so that nothing fails between two messages.
template <class T>
SparseSum<T> SparseExecutor<T>::take_memory(const SparseVectorView<T>& own) {
  at_least(workspace_, plan_.workspace_bytes);
  if (!own.dense() && !is_smaller_sparse(own)) at_least(expanded_, own.dimension * sizeof(T));
  blocks_.bounds_bytes.assign(plan_.problem.nonzeros.size() + 1, 0);
  return {{own.dimension, {}, {}},
          std::make_unique_for_overwrite<T[]>((plan_.result_bytes + sizeof(T) - 1) / sizeof(T)),
          plan_.algorithm_text()};
}

template class SparseExecutor<float>;
template class SparseExecutor<double>;

}  // namespace dsop
