// Parameters and their policies.
#include <algorithm>

#include <dsop/types.hpp>

#include "calls/arguments.hpp"
#include "calls/error_of.hpp"
#include "calls/refuse.hpp"
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

}  // namespace

template <class T>
Synchronizer<T>::State::State(Transport& transport_, const SynchronizerOptions& options_)
    : transport(transport_), options(options_), packing_(options_.bucket_bytes), calls_(transport_, options_.overlap) {
  transport.calls().queue->wait_for_all();
  object = transport.calls().calls + 1;
  terms_.machine = options.machine;
  terms_.wire = options.wire;
  Header own;
  own.common.rows = options.bucket_bytes;
  own.common.accumulate = options.residual_holds_step;
  agree(Operation::make_synchronizer, "", own, error_of([&] {
          if (options.machine) check_machine(*options.machine);
          if (!can_travel_as(options.wire, data_type<T>))
            refuse("wire", name(options.wire), "full for gradients in " + std::string(name(data_type<T>)));
        }));
  for (const Header& header : headers_) runs_at_finish |= !header.own.allows_progress_thread;
}

// give() outside a step may send nothing: ranks that have not made it would take that for another call of their own.
template <class T>
void Synchronizer<T>::State::tell_early_error(std::string& subject, std::string& error) {
  if (!early_) return;
  subject = std::move(early_->subject);
  error = std::move(early_->error);
  early_.reset();
}

// Of `own`, what is special to the operation is there: shape, policy and so on. An error within a step ends it: the
// other ranks have heard it in place of the step's next call.
template <class T>
void Synchronizer<T>::State::agree(Operation operation, std::string subject, const Header& own, std::string error) {
  tell_early_error(subject, error);
  const OnBehalf on_behalf(transport, subject);
  const WithinCall within_call(transport, operation, own.common.rows, own.common.columns, data_type<T>);
  Options terms = terms_;
  terms.algorithm = own.common.algorithm.data();
  terms.accumulate = own.common.accumulate;
  if (operation != Operation::end_step) terms.scale = 1;
  Header header = make_header(transport, object, operation, terms);
  header.common.type = data_type<T>;
  header.common.rows = own.common.rows;
  header.common.columns = own.common.columns;
  header.common.step = own.common.step;
  header.own.pairs = own.own.pairs;
  try {
    exchange_headers(transport, header, error, headers_);
  } catch (...) {
    if (has_begun_) calls_.fail(std::current_exception());
    throw;
  }
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
  Header own;
  own.common.rows = shape.rows;
  own.common.columns = shape.columns;
  own.own.pairs = shape.max_pairs;
  text.copy(own.common.algorithm.data(), own.common.algorithm.size() - 1);
  agree(Operation::register_parameter, name, own, error);

  auto parameter = std::make_unique<Parameter>(name, shape);
  take_policy(*parameter, policy);
  by_name_[name] = parameter.get();
  parameters.push_back(std::move(parameter));
}

template <class T>
void Synchronizer<T>::State::set_policy(const std::string& name, const std::string& text) {
  transport.calls().queue->wait_for_all();
  Policy policy;
  Header own;
  text.copy(own.common.algorithm.data(), own.common.algorithm.size() - 1);
  const std::string error = error_of([&] {
    check_between_steps("set_policy()");
    const Shape& shape = find(name).shape;
    own.common.rows = shape.rows;
    own.common.columns = shape.columns;
    own.own.pairs = shape.max_pairs;
    policy = synchronizer::parse_policy(text);
    check_size(shape, policy);
  });
  agree(Operation::change_policy, name, own, error);
  take_policy(find(name), policy);
}

// Throws ArgumentError if the policy names an algorithm that can't sum the parameter.
template <class T>
void Synchronizer<T>::State::check_can_serve(const Parameter& parameter, const Policy& policy) const {
  const Machine machine = options.machine.value_or(transport.default_machine());
  const bool native = transport.has_native_collectives();
  if (policy.kind == Kind::dense)
    make_collective_plan(dense_algorithms(),
                         {parameter.elements(), transport.size(), data_type<T>, native, options.wire}, machine,
                         policy.algorithm);
  if (policy.kind == Kind::sparse) {
    const std::vector<std::size_t> all(static_cast<std::size_t>(transport.size()), Sparsity::dense);
    SparseProblem problem{parameter.elements(), all, data_type<T>, native};
    problem.wire = options.wire;
    make_sparse_plan(problem, machine, policy.algorithm);
  }
}

// If it fails, it does on all ranks, and leaves the parameter as it was.
template <class T>
void Synchronizer<T>::State::take_policy(Parameter& parameter, const Policy& policy) {
  const OnBehalf on_behalf(transport, parameter.name);
  const bool some_rank_gives_factors =
      std::any_of(headers_.begin(), headers_.end(), [](const Header& header) { return header.own.pairs > 0; });
  Options terms = terms_;
  terms.algorithm = policy.algorithm;
  if (policy.kind == Kind::outer_product && some_rank_gives_factors) parameter.prepare_outer_product(transport, terms);
  std::unique_ptr<TopKExecutor<T>> selecting;
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
  template void Synchronizer<T>::State::agree(Operation, std::string, const Header&, std::string); \
  template void Synchronizer<T>::State::tell_early_error(std::string&, std::string&);              \
  template void Synchronizer<T>::State::add(const std::string&, const Shape&, const std::string&); \
  template void Synchronizer<T>::State::set_policy(const std::string&, const std::string&);
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
