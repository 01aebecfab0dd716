// The public calls.
#include <dsop/dsop.hpp>

#include "algorithms/outer_product/family.hpp"
#include "call/start_call.hpp"

namespace dsop {

Machine machine(Communicator communicator) {
  Transport& transport = communicator.transport();
  return make_call(transport, [&]() -> Machine {
    Call call(transport, "asking for the machine", 0, 0, DataType::f32);
    call.same_machine(std::nullopt, true).agree();
    return call.machine();
  });
}

template <class T>
void dsop(Communicator communicator, const std::type_identity_t<Factors<T>>& factors, MatrixView<T> gradient,
          const Options& options) {
  dsop<T>(communicator, SparseFactors<T>(factors), gradient, options);
}

template <class T>
void dsop(Communicator communicator, const std::type_identity_t<SparseFactors<T>>& factors, MatrixView<T> gradient,
          const Options& options) {
  Transport& transport = communicator.transport();
  make_call(transport, [&] {
    calls_of<OuterProductCalls<T>>(transport).run(transport, factors, gradient, terms_of(options), nullptr);
  });
}

template <class T>
struct OuterProduct<T>::State {
  Transport& transport;
  Shape shape;
  Options options;
  OuterProductCalls<T> calls = {};
  LastStarted last_started = {};
};

template <class T>
OuterProduct<T>::OuterProduct(Communicator communicator, Shape shape, Options options) {
  Transport& transport = communicator.transport();
  make_call(transport, [&] {
    state_ = make_for_call(transport, [&] {
      return std::unique_ptr<State>(new State{transport, shape, std::move(options)});
    });
    state_->calls.prepare(transport, shape, terms_of(state_->options));
  });
}

template <class T>
OuterProduct<T>::OuterProduct(OuterProduct&&) noexcept = default;
template <class T>
OuterProduct<T>& OuterProduct<T>::operator=(OuterProduct&&) noexcept = default;
template <class T>
OuterProduct<T>::~OuterProduct() = default;

template <class T>
void OuterProduct<T>::run(const Factors<T>& factors, MatrixView<T> gradient) {
  run(SparseFactors<T>(factors), gradient);
}

template <class T>
void OuterProduct<T>::run_sharded(const Factors<T>& factors, MatrixView<T> own_rows) {
  make_call(state_->transport, [&] {
    state_->calls.run_sharded(state_->transport, factors, own_rows, terms_of(state_->options), state_->shape);
  });
}

template <class T>
void OuterProduct<T>::run(const SparseFactors<T>& factors, MatrixView<T> gradient) {
  make_call(state_->transport, [&] {
    state_->calls.run(state_->transport, factors, gradient, terms_of(state_->options), &state_->shape);
  });
}

template <class T>
GradientRows<T> OuterProduct<T>::run_rows(const SparseFactors<T>& factors) {
  return make_call(state_->transport, [&] {
    return state_->calls.run_rows(state_->transport, factors, terms_of(state_->options), state_->shape);
  });
}

template <class T>
Pending OuterProduct<T>::start(const Factors<T>& factors, MatrixView<T> gradient) {
  return start(SparseFactors<T>(factors), gradient);
}

template <class T>
Pending OuterProduct<T>::start(const SparseFactors<T>& factors, MatrixView<T> gradient) {
  State& state = *state_;
  return state.last_started.start(state.transport, [&state, factors, gradient] {
    state.calls.run(state.transport, factors, gradient, terms_of(state.options), &state.shape);
  });
}

template <class T>
const Plan& OuterProduct<T>::plan() const {
  state_->last_started.wait();
  return state_->calls.plan();
}

#define INSTANTIATE(T)                                                                      \
  template void dsop(Communicator, const Factors<T>&, MatrixView<T>, const Options&);       \
  template void dsop(Communicator, const SparseFactors<T>&, MatrixView<T>, const Options&); \
  template class OuterProduct<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
}  // namespace dsop
