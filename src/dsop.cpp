// The public calls.
#include <dsop/dsop.hpp>

#include "algorithms/outer_product/operation.hpp"
#include "call/start_call.hpp"

namespace dsop {

static OuterProductTerms terms_of(const Options& options) {
  return {.algorithm = options.algorithm,
          .machine = options.machine,
          .sum = {options.scale, options.alpha, options.beta, options.wire},
          .factor_wire = options.factor_wire,
          .allow_native = options.allow_native,
          .find_zeros = options.find_zeros,
          .check_bits = options.check_bits};
}

Machine machine(Communicator communicator) {
  Transport& transport = communicator.transport();
  return make_call(transport, [&]() -> Machine {
    Call call(transport, "asking for the machine", 0, 0, DataType::f32);
    call.same_machine(std::nullopt, true).agree();
    return call.machine();
  });
}

Arrivals arrivals(Communicator communicator) {
  Transport& transport = communicator.transport();
  transport.calls().queue->wait_for_all();
  return attachment<CommunicatorState>(transport).log.arrivals();
}

const Plan& last_plan(Communicator communicator) {
  Transport& transport = communicator.transport();
  transport.calls().queue->wait_for_all();
  const auto plan_of = attachment<CommunicatorState>(transport).last_plan;
  if (plan_of == nullptr) throw ArgumentError("last_plan() before any dsop() on this communicator, expected one");
  return plan_of(transport);
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
    calls_of<OuterProductCalls<T>>(transport).run(transport,
                                                  {Output::whole, terms_of(options), nullptr, factors, gradient});
    attachment<CommunicatorState>(transport).last_plan = [](Transport& of) -> const Plan& {
      return attachment<OuterProductCalls<T>>(of).plan();
    };
  });
}

template <class T>
struct OuterProduct<T>::State {
  Transport& transport;
  Shape shape;
  Options options;
  OuterProductCalls<T> calls = {};
  LastStarted last_started = {};

  GradientRows<T> run(Output output, const SparseFactors<T>& factors = Factors<T>{}, MatrixView<T> gradient = {}) {
    return calls.run(transport, {output, terms_of(options), &shape, factors, gradient});
  }
};

template <class T>
OuterProduct<T>::OuterProduct(Communicator communicator, Shape shape, Options options) {
  Transport& transport = communicator.transport();
  make_call(transport, [&] {
    state_ = make_for_call(transport, [&] {
      return std::unique_ptr<State>(new State{transport, shape, std::move(options)});
    });
    state_->run(Output::plan_only);
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
  make_call(state_->transport, [&] { state_->run(Output::own_rows, factors, own_rows); });
}

template <class T>
void OuterProduct<T>::run(const SparseFactors<T>& factors, MatrixView<T> gradient) {
  make_call(state_->transport, [&] { state_->run(Output::whole, factors, gradient); });
}

template <class T>
GradientRows<T> OuterProduct<T>::run_rows(const SparseFactors<T>& factors) {
  return make_call(state_->transport, [&] { return state_->run(Output::nonzero_rows, factors); });
}

template <class T>
Pending OuterProduct<T>::start(const Factors<T>& factors, MatrixView<T> gradient) {
  return start(SparseFactors<T>(factors), gradient);
}

template <class T>
Pending OuterProduct<T>::start(const SparseFactors<T>& factors, MatrixView<T> gradient) {
  State& state = *state_;
  return state.last_started.start(state.transport,
                                  [&state, factors, gradient] { state.run(Output::whole, factors, gradient); });
}

template <class T>
const Plan& OuterProduct<T>::plan() const {
  state_->transport.calls().queue->wait_for_all();  // the log is the communicator's
  return state_->calls.plan();
}

#define INSTANTIATE(T)                                                                      \
  template void dsop(Communicator, const Factors<T>&, MatrixView<T>, const Options&);       \
  template void dsop(Communicator, const SparseFactors<T>&, MatrixView<T>, const Options&); \
  template class OuterProduct<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)
}  // namespace dsop
