// The public class.
#include <dsop/synchronizer.hpp>

#include <algorithm>

#include <dsop/types.hpp>

#include "synchronizer/state.hpp"

namespace dsop {

template <class T>
Synchronizer<T>::Synchronizer(Communicator communicator, SynchronizerOptions options)
    : state_(std::make_unique<State>(communicator.transport(), options)) {}
template <class T>
Synchronizer<T>::Synchronizer(Synchronizer&&) noexcept = default;
template <class T>
Synchronizer<T>& Synchronizer<T>::operator=(Synchronizer&&) noexcept = default;
template <class T>
Synchronizer<T>::~Synchronizer() = default;

template <class T>
void Synchronizer<T>::add(const std::string& name, const Shape& shape, const std::string& policy,
                          const BiasOf& bias_of) {
  state_->add(name, shape, policy, bias_of);
}
template <class T>
void Synchronizer<T>::set_policy(const std::string& name, const std::string& policy) {
  state_->set_policy(name, policy);
}

template <class T>
void Synchronizer<T>::begin(const Step& step) {
  state_->begin(step);
}
template <class T>
void Synchronizer<T>::give(const std::string& name, const Factors<T>& factors, MatrixView<T> target,
                           const Update& update) {
  state_->give(name, {SparseFactors<T>(factors), target, update});
}
template <class T>
void Synchronizer<T>::give(const std::string& name, const SparseFactors<T>& factors, MatrixView<T> target,
                           const Update& update) {
  state_->give(name, {factors, target, update});
}
template <class T>
void Synchronizer<T>::give(const std::string& name, MatrixView<T> gradient) {
  state_->give(name, {{}, gradient});
}
template <class T>
void Synchronizer<T>::give(const std::string& name, const SparseVectorView<T>& own, MatrixView<T> target,
                           const Update& update) {
  state_->give(name, {own, target, update});
}
template <class T>
void Synchronizer<T>::fail(const std::string& name, const std::string& error) {
  state_->fail(name, error.empty() ? "the step was given up" : error);
}

template <class T>
void Synchronizer<T>::finish() {
  state_->finish();
}

template <class T>
std::string Synchronizer<T>::describe() const {
  state_->check_between_steps("describe()");
  return state_->describe();
}
template <class T>
std::span<const T> Synchronizer<T>::residual(const std::string& name) const {
  state_->check_between_steps("residual()");
  return state_->find(name).residual;
}
template <class T>
void Synchronizer<T>::reset_residuals() {
  state_->check_between_steps("reset_residuals()");
  for (const auto& parameter : state_->parameters) std::ranges::fill(parameter->residual, T{0});
}
template <class T>
ParameterStep Synchronizer<T>::last_step(const std::string& name) const {
  state_->check_between_steps("last_step()");
  return state_->find(name).last_step;
}

template <class T>
void Synchronizer<T>::save(std::ostream& out) const {
  state_->check_between_steps("save()");
  state_->save(out);
}
template <class T>
void Synchronizer<T>::load(std::istream& in) {
  state_->load(in);
}

#define INSTANTIATE(T) template class Synchronizer<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
