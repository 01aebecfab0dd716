// Parameters and their policies.
#include <algorithm>
#include <memory>

#include <dsop/types.hpp>

#include "algorithms/outer_product/arguments.hpp"
#include "base/check_wire.hpp"
#include "base/error_of.hpp"
#include "base/refuse.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/state.hpp"

namespace dsop {

using synchronizer::NamedPolicy;
using synchronizer::OnBehalf;
using synchronizer::PolicyText;

namespace {

void say(Call& call, const Shape& shape, const std::string& policy) {
  call.same("rows", shape.rows).same("columns", shape.columns).same("policy", std::string_view(policy));
  call.record().pairs = shape.max_pairs & Record::dense;
}

}  // namespace

template <class T>
Synchronizer<T>::State::State(Transport& transport_, const SynchronizerOptions& options_)
    : transport(transport_),
      options(options_),
      has_given_machine_(options_.machine.has_value()),
      step_{.transport = transport_, .calls = calls_, .buckets = synchronizer::Buckets<T>(options_.bucket_bytes)},
      calls_(transport_, options_.overlap) {
  step_.terms = {.wire = options.wire, .machine = options.machine};
  make_call(transport, [&] {
    object = transport.calls().calls + 1;
    agree("making a synchronizer", "", error_of([&] {
            if (options.machine) check_machine(*options.machine);
            check_wire("wire", options.wire, data_type<T>, "gradients");
          }),
          [&](Call& call) {
            call.same("bucket_bytes", options.bucket_bytes).same("residual_holds_step", options.residual_holds_step);
          });
  });
}

// give() outside a step may send nothing: ranks that have not made it would take that for another call of their own.
template <class T>
void Synchronizer<T>::State::take_deferred_error(std::string& subject, std::string& error) {
  if (!deferred_error_) return;
  subject = std::move(deferred_error_->subject);
  error = std::move(deferred_error_->error);
  deferred_error_.reset();
}

template <class T>
void Synchronizer<T>::State::add(const std::string& name, const Shape& shape, const std::string& text,
                                 const BiasOf& bias_of) {
  make_call(transport, [&] {
    NamedPolicy<T> policy;
    std::unique_ptr<Parameter> parameter;
    Parameter* weight = nullptr;
    const std::string error = error_of([&] {
      check_between_steps("add()");
      if (name.empty()) refuse("name", "empty", "a name");
      if (by_name_.contains(name)) refuse("name", name, "one that add() has not registered before");
      check_shape<T>(shape);
      policy = NamedPolicy<T>(PolicyText(text), shape);
      parameter = std::make_unique<Parameter>(name, shape);
      weight = weight_of(bias_of, shape);
    });
    const auto say_all = [&](Call& call) {
      say(call, shape, text);
      call.same("bias_of", std::string_view(bias_of.weight)).same("errors", static_cast<int>(bias_of.errors));
    };
    const std::size_t most_pairs = agree("registering a parameter", name, error, say_all, policy.chooses());
    take_policy(*parameter, std::move(policy), most_pairs);
    if (weight != nullptr) {
      parameter->weight = weight;
      parameter->errors_are_a = bias_of.errors == 'a';
      weight->bias = parameter.get();
    }
    by_name_[name] = parameter.get();
    parameters.push_back(std::move(parameter));
  });
}

/// Null where it names none.
template <class T>
synchronizer::Parameter<T>* Synchronizer<T>::State::weight_of(const BiasOf& bias_of, const Shape& shape) const {
  if (bias_of.weight.empty()) return nullptr;
  const auto found = by_name_.find(bias_of.weight);
  if (found == by_name_.end()) refuse("bias_of", bias_of.weight, "one that add() has registered");
  Parameter& weight = *found->second;
  if (weight.bias != nullptr) refuse("bias_of", bias_of.weight, "one without a bias: it has " + weight.bias->name);
  if (bias_of.errors != 'a' && bias_of.errors != 'b') refuse("errors", std::string(1, bias_of.errors), "a or b");
  const std::size_t width = bias_of.errors == 'a' ? weight.shape.rows : weight.shape.columns;
  if (shape.rows != 1) refuse("rows", shape.rows, "1, of a bias");
  if (shape.columns != width)
    refuse("columns", shape.columns, "the " + std::to_string(width) + " of " + bias_of.weight + "'s errors");
  return &weight;
}

template <class T>
void Synchronizer<T>::State::set_policy(const std::string& name, const std::string& text) {
  make_call(transport, [&] {
    NamedPolicy<T> policy;
    Shape shape{.max_pairs = 0};
    const std::string error = error_of([&] {
      check_between_steps("set_policy()");
      shape = find(name).shape;
      policy = NamedPolicy<T>(PolicyText(text), shape);
    });
    const std::size_t most_pairs = agree(
        "changing a parameter's policy", name, error, [&](Call& call) { say(call, shape, text); }, policy.chooses());
    take_policy(find(name), std::move(policy), most_pairs);
  });
}

// If it fails, it does on all ranks, and leaves the parameter as it was.
template <class T>
void Synchronizer<T>::State::take_policy(Parameter& parameter, NamedPolicy<T> policy, std::size_t most_pairs) {
  const OnBehalf on_behalf(transport, parameter.name);
  policy.how->check(parameter, terms(most_pairs));
  if (policy.kind->selects) parameter.residual.resize(parameter.elements());
  parameter.most_pairs = most_pairs;
  parameter.policy = std::move(policy);
  parameter.last_step = {};
}

// Plans the parameters as if they had been registered with this machine. Where a probe has found it, it is for those
// that choose an algorithm; where the program has given it, for all. If it fails, it does on all ranks.
template <class T>
void Synchronizer<T>::State::plan_for(const Machine& machine, bool is_probed) {
  MachineSource& own = attachment<CommunicatorState>(transport).own_machine;
  if (is_probed && own.takes_probed())
    own.take(transport, std::make_shared<const Machine>(machine));
  else
    options.machine = step_.terms.machine = machine;
  for (const auto& parameter : parameters) {
    const OnBehalf on_behalf(transport, parameter->name);
    if (parameter->policy.how->chooses()) parameter->policy.how->check(*parameter, terms(parameter->most_pairs));
  }
}

#define INSTANTIATE(T)                                                                                            \
  template Synchronizer<T>::State::State(Transport&, const SynchronizerOptions&);                                 \
  template void Synchronizer<T>::State::take_deferred_error(std::string&, std::string&);                          \
  template void Synchronizer<T>::State::add(const std::string&, const Shape&, const std::string&, const BiasOf&); \
  template void Synchronizer<T>::State::set_policy(const std::string&, const std::string&);                       \
  template void Synchronizer<T>::State::plan_for(const Machine&, bool);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
