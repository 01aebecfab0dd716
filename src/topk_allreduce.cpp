// The public class.
#include <dsop/topk_allreduce.hpp>

#include "algorithms/topk/family.hpp"
#include "transport/call_state.hpp"

namespace dsop {

template <class T>
struct TopKAllreduce<T>::Impl {
  Transport& transport;
  TopKCalls<T> calls;
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
const TopKState& TopKAllreduce<T>::state() const {
  return impl_->calls.state();
}

#define INSTANTIATE(T) template class TopKAllreduce<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
}  // namespace dsop
