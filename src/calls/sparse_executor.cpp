#include "calls/sparse_executor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "algorithms/sparse/algorithm.hpp"
#include "calls/error_of.hpp"
#include "calls/sparse_arguments.hpp"
#include "calls/terms.hpp"
#include "sparse/wire.hpp"
#include "transport/stall.hpp"

namespace dsop {
namespace {

template <class T>
bool is_smaller_sparse(const SparseVectorView<T>& x, Wire wire) {
  return !x.dense() && x.indices.size() <= sparse::most_indices<T>(x.dimension, wire);
}

SparseProblem problem_of_vectors(const std::vector<Header>& headers, const Transport& transport) {
  SparseProblem problem{.elements = headers[0].common.rows, .type = headers[0].common.type};
  problem.native_collectives = transport.has_native_collectives();
  problem.wire = headers[0].common.wire;
  for (const Header& header : headers) problem.nonzeros.push_back(header.own.sparsity.a);
  return problem;
}

}  // namespace

template <class T>
SparseSum<T> SparseExecutor<T>::run(Transport& transport, const SparseVectorView<T>& given,
                                    const SparseAllreduceOptions& options, std::size_t regions) {
  const WithinCall within_call(transport, Operation::sparse_allreduce, given.dimension, 1, data_type<T>);
  agree(transport, given, options, regions);
  SparseSum<T> result;
  const bool planned = std::exchange(planned_, false);  // until all ranks have agreed
  agree_on_errors(transport, error_of([&] {
                    make_plan(transport, options, planned);
                    result = take_memory(given);
                  }));
  planned_ = true;
  if (given.dimension == 0) return result;

  const bool larger_sparse = !given.dense() && !is_smaller_sparse(given, options.wire);
  const SparseVectorView<T> own = larger_sparse ? sparse::expand<T>(given, expanded_.elements()) : given;
  const std::span<T> memory(result.memory.get(), plan_.result_bytes / sizeof(T));
  if (transport.size() == 1) {
    result.sum = sparse::copy<T>(own, memory);
    result.sum.first = given.first;
    return result;
  }
  Arena arena(workspace_.elements().first(plan_.workspace_bytes));
  SparseCall<T> call{transport, plan_, own, memory, arena, blocks_};
  plan_.algorithm->run(call);
  result.sum = call.sum;
  result.sum.first = given.first;
  if (learns_ && options.algorithm == "auto") learn_overlap(result.sum);
  return result;
}

template <class T>
void SparseExecutor<T>::agree(Transport& transport, const SparseVectorView<T>& own,
                              const SparseAllreduceOptions& options, std::size_t regions) {
  const std::string error = error_of([&] {
    check_vector("own", own);
    if (options.machine) check_machine(*options.machine);
    if (options.wire == Wire::bf16 && data_type<T> != DataType::f32)
      refuse("wire", name(options.wire), "full for values in " + std::string(name(data_type<T>)));
    if (options.algorithm != "auto") parse_algorithm(options.algorithm, "algorithm", sparse_algorithms());
  });
  Options terms;
  terms.algorithm = options.algorithm;
  terms.machine = options.machine;
  terms.wire = options.wire;
  Header header = make_header(transport, 0, Operation::sparse_allreduce, terms);
  header.common.type = data_type<T>;
  header.common.rows = own.dimension;
  header.common.first = own.first;
  header.common.regions = regions;
  header.own.sparsity.a = is_smaller_sparse(own, options.wire) ? own.indices.size() : Sparsity::dense;
  exchange_headers(transport, header, error, headers_);
}

// Every rank sees the same headers and has seen the same sums, so all make the same plan.
template <class T>
void SparseExecutor<T>::make_plan(const Transport& transport, const SparseAllreduceOptions& options, bool planned) {
  CommonTerms terms = headers_[0].common;
  if (terms.rows != planned_for_.rows) drawn_from_ = 0;
  terms.call = terms.first = terms.regions = 0;  // don't matter to a plan
  SparseProblem problem = problem_of_vectors(headers_, transport);
  problem.drawn_from = drawn_from_;
  if (planned && terms == planned_for_ && serves(problem)) {
    adapt_plan(plan_, problem.nonzeros);
    return;
  }
  plan_ = make_sparse_plan(problem, options.machine.value_or(transport.default_machine()), options.algorithm);
  planned_problem_ = std::move(problem);
  planned_for_ = terms;
}

template <class T>
bool SparseExecutor<T>::serves(const SparseProblem& problem) const {
  if (!learns_) return problem.nonzeros == planned_problem_.nonzeros;
  const auto near = [](double left, double right) { return std::abs(left - right) <= 0.05 * std::max(left, right); };
  const auto largest = [](const SparseProblem& p) {
    return static_cast<double>(std::min(p.largest_nonzeros(), p.elements));
  };
  const int P = problem.ranks();
  return near(problem.expected_union(1), planned_problem_.expected_union(1)) &&
         near(problem.expected_union(P), planned_problem_.expected_union(P)) &&
         near(largest(problem), largest(planned_problem_));
}

// Of a dense sum looks at every sixteenth block.
template <class T>
void SparseExecutor<T>::learn_overlap(const SparseVectorView<T>& sum) {
  std::size_t count = sum.indices.size();
  if (sum.dense()) {
    constexpr std::size_t block = 1024;
    const std::size_t stride = sum.dimension < 64 * block ? block : 16 * block;
    std::size_t seen = 0;
    for (std::size_t first = 0; first < sum.dimension; first += stride) {
      const std::span<const T> part = sum.values.subspan(first, std::min(block, sum.dimension - first));
      count += sparse::count_nonzeros(part);
      seen += part.size();
    }
    count = static_cast<std::size_t>(static_cast<double>(count) / static_cast<double>(seen) *
                                     static_cast<double>(sum.dimension));
  }
  drawn_from_ = plan_.problem.drawn_from_of(static_cast<double>(count));
}

// All that the call needs, so that nothing fails between two messages.
template <class T>
SparseSum<T> SparseExecutor<T>::take_memory(const SparseVectorView<T>& own) {
  workspace_.at_least(plan_.workspace_bytes);
  if (!own.dense() && !is_smaller_sparse(own, plan_.problem.wire)) expanded_.at_least(own.dimension * sizeof(T));
  blocks_.bounds_bytes.assign(plan_.problem.nonzeros.size() + 1, 0);
  return {{.dimension = own.dimension, .first = own.first},
          std::make_unique_for_overwrite<T[]>(plan_.result_bytes / sizeof(T)),
          plan_.algorithm_text()};
}

template class SparseExecutor<float>;
template class SparseExecutor<double>;

}  // namespace dsop
