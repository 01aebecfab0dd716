#include "algorithms/sparse/family.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check_wire.hpp"
#include "base/refuse.hpp"
#include "sparse/arguments.hpp"
#include "sparse/wire.hpp"
#include "transport/start_call.hpp"

namespace dsop {
namespace {

template <class T>
bool is_smaller_sparse(const SparseVectorView<T>& x, Wire wire) {
  return !x.dense() && x.indices.size() <= sparse::most_indices<T>(x.dimension, wire);
}

/// A rank's vector in full, where some rank's is no smaller sparse.
template <class T>
struct ExpandedVector {
  ExpandedVector(Arena& arena, std::size_t dimension, bool some_expand)
      : elements(arena.take<T>(some_expand ? dimension : 0)) {}
  std::span<T> elements;
};

template <class T>
void check(const SparseVectorView<T>& own, const SparseAllreduceOptions& options) {
  check_vector("own", own);
  if (options.machine) check_machine(*options.machine);
  check_wire("wire", options.wire, data_type<T>, "values");
  if (options.algorithm != "auto") parse_algorithm(options.algorithm, "algorithm", sparse_algorithms());
}

}  // namespace

template <class T>
SparseSum<T> SparseCalls<T>::run(Transport& transport, const SparseVectorView<T>& given,
                                 const SparseAllreduceOptions& options) {
  Call call(transport, "sparse allreduce", given.dimension, 1, data_type<T>, object_);
  call.check([&] { check(given, options); });
  call.same("dimension", given.dimension)
      .same("algorithm", std::string_view(options.algorithm))
      .same("wire", options.wire)
      .same_machine(options.machine, options.algorithm == "auto");
  const bool larger_sparse = !given.dense() && !is_smaller_sparse(given, options.wire);
  call.own().take_sparsity({.a = given.dense() || larger_sparse ? Sparsity::dense : given.indices.size()});
  call.own().may_expand = larger_sparse;
  call.agree();

  SparseSum<T> result{.sum = {.dimension = given.dimension}};
  bool some_expand = false;
  std::size_t memory_bytes = 0;
  try {
    call.together([&] {
      find_or_make(call, given, options);
      const SparsePlan& plan = made_->plan;
      some_expand = call.any([](const Record& record) { return record.may_expand != 0; });
      Arena memory;
      static_cast<void>(ExpandedVector<T>(memory, given.dimension, some_expand));
      memory.take<std::byte>(plan.workspace_bytes);
      call.grow(memory_bytes = memory.bytes());
      blocks_.bounds_bytes.assign(plan.problem.nonzeros.size() + 1, 0);
      result.memory = std::make_unique_for_overwrite<T[]>(plan.result_bytes / sizeof(T));
      result.algorithm = plan.algorithm_text();
    });
  } catch (const AgreedError&) {  // some ranks may have kept what others have not
    plans_.clear();
    made_ = nullptr;
    throw;
  }
  if (given.dimension == 0) return result;

  const SparsePlan& plan = made_->plan;
  Arena memory(call.memory(memory_bytes));
  const ExpandedVector<T> expanded(memory, given.dimension, some_expand);
  const SparseVectorView<T> own = larger_sparse ? sparse::expand<T>(given, expanded.elements) : given;
  const std::span<T> sum_memory(result.memory.get(), plan.result_bytes / sizeof(T));
  if (transport.size() == 1) {
    result.sum = sparse::copy<T>(own, sum_memory);
    return result;
  }
  SparseCall<T> step{transport, plan, own, sum_memory, memory, blocks_};
  plan.algorithm->run(step);
  result.sum = step.sum;
  if (learns_ && options.algorithm == "auto") learn_overlap(result.sum);
  return result;
}

// Every rank sees the same records and has seen the same sums, so all make the same plan.
template <class T>
void SparseCalls<T>::find_or_make(Call& call, const SparseVectorView<T>& own, const SparseAllreduceOptions& options) {
  made_ = plans_.find(call.key(), call.key_digest());
  problem_.elements = own.dimension;
  problem_.type = data_type<T>;
  problem_.native_collectives = call.transport().has_native_collectives();
  problem_.wire = options.wire;
  problem_.nodes = call.ranks().nodes;
  problem_.drawn_from = made_ == nullptr ? 0 : made_->drawn_from;
  problem_.nonzeros.clear();
  for (const Record& record : call.records()) problem_.nonzeros.push_back(record.sparsity().a);
  if (made_ != nullptr && serves(*made_, problem_)) return adapt_plan(made_->plan, problem_.nonzeros);
  SparsePlan plan = make_sparse_plan(problem_, call.machine(), options.algorithm);
  if (made_ == nullptr) made_ = &plans_.insert(call.key(), call.key_digest(), {});
  made_->chosen_for = problem_;
  made_->plan = std::move(plan);
}

template <class T>
bool SparseCalls<T>::serves(const Made& made, const SparseProblem& problem) const {
  if (!learns_) return problem.nonzeros == made.chosen_for.nonzeros;
  const auto near = [](double left, double right) { return std::abs(left - right) <= 0.05 * std::max(left, right); };
  const auto largest = [](const SparseProblem& p) {
    return static_cast<double>(std::min(p.largest_nonzeros(), p.elements));
  };
  const int P = problem.ranks();
  return near(problem.expected_union(1), made.chosen_for.expected_union(1)) &&
         near(problem.expected_union(P), made.chosen_for.expected_union(P)) &&
         near(largest(problem), largest(made.chosen_for));
}

// Of a dense sum looks at every sixteenth block.
template <class T>
void SparseCalls<T>::learn_overlap(const SparseVectorView<T>& sum) {
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
  made_->drawn_from = made_->plan.problem.drawn_from_of(static_cast<double>(count));
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
