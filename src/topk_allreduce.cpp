// The public class.
#include <dsop/topk_allreduce.hpp>

#include "algorithms/topk/family.hpp"
#include "transport/call_state.hpp"

namespace dsop {

template <class T>
struct TopKAllreduce<T>::Impl {
  Transport& transport;
  TopKCalls<T> calls;
  std::shared_ptr<StartedCall> last_started = {};

  ~Impl() { wait_for_started(); }
  void wait_for_started() const {
    if (last_started) last_started->queue->wait(*last_started);
  }
};

template <class T>
TopKAllreduce<T>::TopKAllreduce(Communicator communicator, std::size_t elements, TopKOptions options, TopKState state)
    : impl_(new Impl{communicator.transport(), {elements, std::move(options), std::move(state)}}) {}

template <class T>
TopKAllreduce<T>::TopKAllreduce(TopKAllreduce&&) noexcept = default;
template <class T>
TopKAllreduce<T>& TopKAllreduce<T>::operator=(TopKAllreduce&&) noexcept = default;
template <class T>
TopKAllreduce<T>::~TopKAllreduce() = default;

template <class T>
TopKSum<T> TopKAllreduce<T>::run(std::span<T> values, std::size_t k) {
  impl_->transport.calls().queue->wait_for_all();
  return impl_->calls.run(impl_->transport, values, k);
}

template <class T>
Pending TopKAllreduce<T>::start(std::span<T> values, std::size_t k, TopKSum<T>& sum) {
  Impl& impl = *impl_;
  impl.last_started =
      impl.transport.calls().queue->start([&impl, values, k, &sum] { sum = impl.calls.run(impl.transport, values, k); },
                                          impl.transport.allows_progress_thread());
  return Pending(impl.last_started);
}

template <class T>
const TopKState& TopKAllreduce<T>::state() const {
  impl_->wait_for_started();
  return impl_->calls.state();
}

#define INSTANTIATE(T) template class TopKAllreduce<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
}  // namespace dsop
