// The public calls.
#include <dsop/sparse_allreduce.hpp>

#include <cstdint>
#include <utility>

#include "algorithms/sparse/family.hpp"

namespace dsop {

namespace {

template <class T>
SparseCalls<T>& next_calls_of(Transport& transport) {
  transport.calls().queue->wait_for_all();
  return calls_of<SparseCalls<T>>(transport);
}

}  // namespace

template <class T>
SparseSum<T> sparse_allreduce(Communicator communicator, const std::type_identity_t<SparseVectorView<T>>& own,
                              const SparseAllreduceOptions& options) {
  Transport& transport = communicator.transport();
  return next_calls_of<T>(transport).run(transport, own, options, 1);
}

template <class T>
std::vector<SparseSum<T>> sparse_allreduce_regions(
    Communicator communicator, const std::type_identity_t<std::span<const SparseVectorView<T>>>& regions,
    const SparseAllreduceOptions& options) {
  Transport& transport = communicator.transport();
  SparseCalls<T>& calls = next_calls_of<T>(transport);
  std::vector<SparseSum<T>> sums;
  make_for_call(transport, [&] { sums.reserve(regions.size()); });
  if (regions.empty()) calls.run(transport, {}, options, 0);  // others may have some, and then all throw
  for (const SparseVectorView<T>& region : regions)
    sums.push_back(calls.run(transport, region, options, regions.size()));
  return sums;
}

template <class T>
Pending start_sparse_allreduce(Communicator communicator, const std::type_identity_t<SparseVectorView<T>>& own,
                               SparseSum<T>& sum, const SparseAllreduceOptions& options) {
  Transport& transport = communicator.transport();
  return Pending(transport.calls().queue->start(
      [&transport, own, &sum, options] { sum = calls_of<SparseCalls<T>>(transport).run(transport, own, options, 1); },
      transport.allows_progress_thread()));
}

template <class T>
struct SparseAllreduce<T>::Impl {
  Transport& transport;
  SparseAllreduceOptions options;
  SparseCalls<T> calls;
  std::shared_ptr<StartedCall> last_started = {};

  ~Impl() {
    if (last_started) last_started->queue->wait(*last_started);
  }
};

// Making the object counts as a call, so that its number is its own.
template <class T>
SparseAllreduce<T>::SparseAllreduce(Communicator communicator, SparseAllreduceOptions options) {
  Transport& transport = communicator.transport();
  transport.calls().queue->wait_for_all();
  const std::uint64_t object = ++transport.calls().calls;
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
  impl_->transport.calls().queue->wait_for_all();
  return impl_->calls.run(impl_->transport, own, impl_->options, 1);
}

template <class T>
Pending SparseAllreduce<T>::start(const SparseVectorView<T>& own, SparseSum<T>& sum) {
  Impl& impl = *impl_;
  impl.last_started = impl.transport.calls().queue->start(
      [&impl, own, &sum] { sum = impl.calls.run(impl.transport, own, impl.options, 1); },
      impl.transport.allows_progress_thread());
  return Pending(impl.last_started);
}

#define INSTANTIATE(T)                                                                                             \
  template SparseSum<T> sparse_allreduce(Communicator, const SparseVectorView<T>&, const SparseAllreduceOptions&); \
  template std::vector<SparseSum<T>> sparse_allreduce_regions(                                                     \
      Communicator, const std::span<const SparseVectorView<T>>&, const SparseAllreduceOptions&);                   \
  template Pending start_sparse_allreduce(Communicator, const SparseVectorView<T>&, SparseSum<T>&,                 \
                                          const SparseAllreduceOptions&);                                          \
  template class SparseAllreduce<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
}  // namespace dsop
