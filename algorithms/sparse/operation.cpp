#include "algorithms/sparse/operation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check_wire.hpp"
#include "base/refuse.hpp"
#include "call/start_call.hpp"
#include "sparse/arguments.hpp"
#include "sparse/wire.hpp"

namespace dsop {
namespace {

// How many elements the ranks' vectors have that are expanded: all, where some rank's is no smaller sparse.
std::size_t expanded_elements(const Call& call, std::size_t dimension) {
  return call.any([](const Record& record) { return record.may_expand != 0; }) ? dimension : 0;
}

bool are_near(const SparseProblem& l, const SparseProblem& r) {
  const auto near = [](double left, double right) { return std::abs(left - right) <= 0.05 * std::max(left, right); };
  const auto largest = [](const SparseProblem& p) {
    return static_cast<double>(std::min(p.largest_nonzeros(), p.elements));
  };
  const int P = l.ranks();
  return near(l.expected_union(1), r.expected_union(1)) && near(l.expected_union(P), r.expected_union(P)) &&
         near(largest(l), largest(r));
}

// How many elements the sum has; of a dense one by every sixteenth block.
template <class T>
double elements_in(const SparseVectorView<T>& sum) {
  if (!sum.dense()) return static_cast<double>(sum.indices.size());
  constexpr std::size_t block = 1024;
  const std::size_t stride = sum.dimension < 64 * block ? block : 16 * block;
  std::size_t count = 0;
  std::size_t seen = 0;
  for (std::size_t first = 0; first < sum.dimension; first += stride) {
    const std::span<const T> part = sum.values.subspan(first, std::min(block, sum.dimension - first));
    count += sparse::count_nonzeros(part);
    seen += part.size();
  }
  return std::floor(static_cast<double>(count) / static_cast<double>(seen) * static_cast<double>(sum.dimension));
}

}  // namespace

template <class T>
struct SparseCalls<T>::Operation {
  SparseCalls& kept;
  const SparseVectorView<T>& given;
  const SparseAllreduceOptions& options;

  bool is_larger_sparse = false;
  SparseSum<T> result = {.sum = {.dimension = given.dimension}};

  Call open(Transport& transport) const {
    return {transport, "sparse allreduce", given.dimension, 1, data_type<T>, kept.object_};
  }

  void check(Call& call) {
    check_vector("own", given);
    if (options.machine) check_machine(*options.machine);
    check_wire("wire", options.wire, data_type<T>, "values");
    if (options.algorithm != "auto") parse_algorithm(options.algorithm, "algorithm", sparse_algorithms());
    is_larger_sparse = !given.dense() && given.indices.size() > sparse::most_indices<T>(given.dimension, options.wire);
    call.record().take_sparsity({.a = given.dense() || is_larger_sparse ? Sparsity::dense : given.indices.size()});
    call.record().may_expand = is_larger_sparse;
  }

  void say(Call& call) const {
    call.same("dimension", given.dimension)
        .same("algorithm", std::string_view(options.algorithm))
        .same("wire", options.wire)
        .same_machine(options.machine, options.algorithm == "auto");
  }

  // What learns nothing chooses anew for other numbers, unless there is no choice.
  bool serves(const Call& call, PlanEntry& made) const {
    SparseProblem& problem = kept.problem_;
    take_problem(call, made);
    const bool may_adapt = kept.learns_ || options.algorithm == made.text;
    if (!may_adapt && problem.nonzeros != made.chosen_for.nonzeros) return false;
    if (!are_near(problem, made.chosen_for)) return false;
    adapt_plan(made.plan, problem.nonzeros);
    made.expanded = expanded_elements(call, given.dimension);
    return made.has(memory_bytes(made), made.plan.result_bytes);
  }

  // Every rank sees the same records and has seen the same sums, so all make the same plan.
  void make(const Call& call, PlanEntry& made) const {
    take_problem(call, made);
    SparsePlan plan = make_sparse_plan(kept.problem_, call.machine(), options.algorithm);
    made.text = plan.algorithm_text();
    made.plan = std::move(plan);
    made.chosen_for = kept.problem_;
    made.expanded = expanded_elements(call, given.dimension);
    made.take(memory_bytes(made), made.plan.result_bytes, given.dimension * sizeof(T));
  }

  void take_result(const PlanEntry& made) {
    result.memory = std::make_unique_for_overwrite<T[]>(made.result_bytes / sizeof(T));
    result.algorithm = made.text;
  }

  void run(const Call& call, PlanEntry& made) {
    if (given.dimension == 0) return;
    Arena memory(call.memory(made.memory_bytes));
    const std::span<T> expanded = memory.take<T>(made.expanded);
    const SparseVectorView<T> own = is_larger_sparse ? sparse::expand<T>(given, expanded) : given;
    const std::span<T> sum(result.memory.get(), made.plan.result_bytes / sizeof(T));
    SparseCall<T> step{call.transport(), made.plan, own, sum, memory, made.plan.exchange};
    if (call.transport().size() == 1)
      step.sum = sparse::copy<T>(own, step.result);
    else
      made.plan.algorithm->run(step);
    result.sum = step.sum;
    if (kept.learns_ && options.algorithm == "auto")
      made.drawn_from = made.plan.problem.drawn_from_of(elements_in(result.sum));
  }

 private:
  void take_problem(const Call& call, const PlanEntry& made) const {
    SparseProblem& problem = kept.problem_;
    problem.elements = given.dimension;
    problem.type = data_type<T>;
    problem.group = call.ranks().group;
    problem.wire = options.wire;
    problem.drawn_from = made.drawn_from;
    problem.nonzeros.clear();
    for (const Record& record : call.records()) problem.nonzeros.push_back(record.sparsity().a);
  }

  static std::size_t memory_bytes(const PlanEntry& made) {
    Arena memory;
    memory.take<T>(made.expanded);
    memory.take<std::byte>(made.plan.workspace_bytes);
    return memory.bytes();
  }
};

template <class T>
SparseSum<T> SparseCalls<T>::run(Transport& transport, const SparseVectorView<T>& own,
                                 const SparseAllreduceOptions& options) {
  Operation operation{*this, own, options};
  planned_.run(transport, operation);
  return std::move(operation.result);
}

// The public calls.
template <class T>
SparseSum<T> sparse_allreduce(Communicator communicator, const std::type_identity_t<SparseVectorView<T>>& own,
                              const SparseAllreduceOptions& options) {
  Transport& transport = communicator.transport();
  return make_call(transport, [&] { return calls_of<SparseCalls<T>>(transport).run(transport, own, options); });
}

template <class T>
Pending start_sparse_allreduce(Communicator communicator, const std::type_identity_t<SparseVectorView<T>>& own,
                               SparseSum<T>& sum, const SparseAllreduceOptions& options) {
  Transport& transport = communicator.transport();
  return Pending(start_call(transport, [&transport, own, &sum, options] {
    sum = calls_of<SparseCalls<T>>(transport).run(transport, own, options);
  }));
}

template <class T>
struct SparseAllreduce<T>::Impl {
  Transport& transport;
  SparseAllreduceOptions options;
  SparseCalls<T> calls;
  LastStarted last_started = {};
};

template <class T>
SparseAllreduce<T>::SparseAllreduce(Communicator communicator, SparseAllreduceOptions options) {
  Transport& transport = communicator.transport();
  const std::uint64_t object = number_of_new_object(transport);
  impl_ = std::unique_ptr<Impl>(new Impl{transport, std::move(options), SparseCalls<T>(true, object)});
}

template <class T>
SparseAllreduce<T>::SparseAllreduce(SparseAllreduce&&) noexcept = default;
template <class T>
SparseAllreduce<T>& SparseAllreduce<T>::operator=(SparseAllreduce&&) noexcept = default;
template <class T>
SparseAllreduce<T>::~SparseAllreduce() = default;

template <class T>
SparseSum<T> SparseAllreduce<T>::run(const SparseVectorView<T>& own) {
  return make_call(impl_->transport, [&] { return impl_->calls.run(impl_->transport, own, impl_->options); });
}

template <class T>
Pending SparseAllreduce<T>::start(const SparseVectorView<T>& own, SparseSum<T>& sum) {
  Impl& impl = *impl_;
  return impl.last_started.start(impl.transport,
                                 [&impl, own, &sum] { sum = impl.calls.run(impl.transport, own, impl.options); });
}

#define INSTANTIATE(T)                                                                                             \
  template class SparseCalls<T>;                                                                                   \
  template SparseSum<T> sparse_allreduce(Communicator, const SparseVectorView<T>&, const SparseAllreduceOptions&); \
  template Pending start_sparse_allreduce(Communicator, const SparseVectorView<T>&, SparseSum<T>&,                 \
                                          const SparseAllreduceOptions&);                                          \
  template class SparseAllreduce<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
