// Parameters and their policies.
#include <algorithm>

#include <dsop/types.hpp>

#include "algorithms/outer_product/arguments.hpp"
#include "base/check_wire.hpp"
#include "base/error_of.hpp"
#include "base/refuse.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/state.hpp"

namespace dsop {

using synchronizer::Kind;
using synchronizer::OnBehalf;
using synchronizer::Policy;

namespace {

// What travels with indices must not have too many elements for them.
void check_size(const Shape& shape, const Policy& policy) {
  const std::size_t elements = shape.rows * shape.columns;
  if ((policy.kind == Kind::sparse || policy.selects()) && elements > sparse::most_elements)
    refuse("the number of elements under policy " + policy.text, elements,
           "at most " + std::to_string(sparse::most_elements));
}

void say(Call& call, const Shape& shape, const std::string& policy) {
  call.same("rows", shape.rows).same("columns", shape.columns).same("policy", std::string_view(policy));
  call.own().pairs = shape.max_pairs & Record::dense;
}

}  // namespace

template <class T>
Synchronizer<T>::State::State(Transport& transport_, const SynchronizerOptions& options_)
    : transport(transport_), options(options_), packing_(options_.bucket_bytes), calls_(transport_, options_.overlap) {
  transport.calls().queue->wait_for_all();
  object = transport.calls().calls + 1;
  terms_.machine = options.machine;
  terms_.wire = options.wire;
  agree("making a synchronizer", "", error_of([&] {
          if (options.machine) check_machine(*options.machine);
          check_wire("wire", options.wire, data_type<T>, "gradients");
        }),
        [&](Call& call) {
          call.same("bucket_bytes", options.bucket_bytes).same("residual_holds_step", options.residual_holds_step);
        });
}

// give() outside a step may send nothing: ranks that have not made it would take that for another call of their own.
template <class T>
void Synchronizer<T>::State::tell_early_error(std::string& subject, std::string& error) {
  if (!early_) return;
  subject = std::move(early_->subject);
  error = std::move(early_->error);
  early_.reset();
}

template <class T>
void Synchronizer<T>::State::add(const std::string& name, const Shape& shape, const std::string& text) {
  transport.calls().queue->wait_for_all();
  Policy policy;
  const std::string error = error_of([&] {
    check_between_steps("add()");
    if (name.empty()) refuse("name", "empty", "a name");
    if (by_name_.contains(name)) refuse("name", name, "one that add() has not registered before");
    check_shape<T>(shape, terms_);
    policy = synchronizer::parse_policy(text);
    check_size(shape, policy);
  });
  const bool some_rank_gives_factors =
      agree("registering a parameter", name, error, [&](Call& call) { say(call, shape, text); });

  auto parameter = std::make_unique<Parameter>(name, shape);
  take_policy(*parameter, policy, some_rank_gives_factors);
  by_name_[name] = parameter.get();
  parameters.push_back(std::move(parameter));
}

template <class T>
void Synchronizer<T>::State::set_policy(const std::string& name, const std::string& text) {
  transport.calls().queue->wait_for_all();
  Policy policy;
  Shape shape{.max_pairs = 0};
  const std::string error = error_of([&] {
    check_between_steps("set_policy()");
    shape = find(name).shape;
    policy = synchronizer::parse_policy(text);
    check_size(shape, policy);
  });
  const bool some_rank_gives_factors =
      agree("changing a parameter's policy", name, error, [&](Call& call) { say(call, shape, text); });
  take_policy(find(name), policy, some_rank_gives_factors);
}

// Throws ArgumentError if the policy names an algorithm that can't sum the parameter.
template <class T>
void Synchronizer<T>::State::check_can_serve(const Parameter& parameter, const Policy& policy) const {
  const Machine machine = options.machine.value_or(transport.default_machine());
  const bool native = transport.has_native_collectives();
  if (policy.kind == Kind::dense)
    make_dense_plan(dense_algorithms(), {parameter.elements(), transport.size(), data_type<T>, native, options.wire},
                    machine, policy.algorithm);
  if (policy.kind == Kind::sparse) {
    const std::vector<std::size_t> all(static_cast<std::size_t>(transport.size()), Sparsity::dense);
    SparseProblem problem{parameter.elements(), all, data_type<T>, native};
    problem.wire = options.wire;
    make_sparse_plan(problem, machine, policy.algorithm);
  }
}

// If it fails, it does on all ranks, and leaves the parameter as it was.
template <class T>
void Synchronizer<T>::State::take_policy(Parameter& parameter, const Policy& policy, bool some_rank_gives_factors) {
  const OnBehalf on_behalf(transport, parameter.name);
  Options terms = terms_;
  terms.algorithm = policy.algorithm;
  if (policy.kind == Kind::outer_product && some_rank_gives_factors) parameter.prepare_outer_product(transport, terms);
  std::unique_ptr<TopKCalls<T>> selecting;
  agree_on_errors(transport, error_of([&] {
                    check_can_serve(parameter, policy);
                    if (!policy.selects()) return;
                    selecting = parameter.make_selecting(policy, {}, terms);
                    parameter.residual.reserve(parameter.elements());
                  }));
  if (policy.selects()) parameter.residual.resize(parameter.elements());
  parameter.selecting = std::move(selecting);
  parameter.policy = policy;
  parameter.forget_last_step();
}

#define INSTANTIATE(T)                                                                             \
  template Synchronizer<T>::State::State(Transport&, const SynchronizerOptions&);                  \
  template void Synchronizer<T>::State::tell_early_error(std::string&, std::string&);              \
  template void Synchronizer<T>::State::add(const std::string&, const Shape&, const std::string&); \
  template void Synchronizer<T>::State::set_policy(const std::string&, const std::string&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
