#include "algorithms/topk/family.hpp"

#include <bit>
#include <memory>

#include "algorithms/selection/cut.hpp"
#include "algorithms/topk/residual.hpp"
#include "algorithms/topk/split_and_reduce.hpp"
#include "base/check_aligned.hpp"
#include "base/checked.hpp"
#include "base/error_of.hpp"
#include "base/mix.hpp"
#include "base/refuse.hpp"
#include "transport/start_call.hpp"

namespace dsop {
namespace {

std::uint64_t hash_of_common(const TopKState& state) {
  std::uint64_t hash = mix(std::bit_cast<std::uint64_t>(state.global_threshold));
  for (const std::uint64_t bound : state.bounds) hash = mix(hash ^ bound);
  return hash;
}

void check_bounds(const std::vector<std::uint64_t>& bounds, std::size_t elements) {
  if (bounds.empty()) return;
  if (bounds.front() != 0) refuse("state.bounds[0]", bounds.front(), 0);
  for (std::size_t b = 1; b < bounds.size(); ++b)
    if (bounds[b] < bounds[b - 1])
      refuse("state.bounds[" + std::to_string(b) + "]", bounds[b], "at least " + std::to_string(bounds[b - 1]));
  if (bounds.back() != elements)
    refuse("the last of state.bounds", bounds.back(), "the elements, " + std::to_string(elements));
}

/// How many of the chosen elements are not zero; they stand first then.
template <class T>
std::size_t without_zeros(std::span<sparse::Index> indices, std::span<T> chosen) {
  std::size_t count = 0;
  for (std::size_t e = 0; e < chosen.size(); ++e)
    if (chosen[e] != T{0}) {
      indices[count] = indices[e];
      chosen[count++] = chosen[e];
    }
  return count;
}

}  // namespace

template <class T>
void TopKCalls<T>::select(const Transport& transport, std::span<const T> values, std::size_t k) {
  if (state_.bounds.size() != static_cast<std::size_t>(transport.size()) + 1) state_.bounds.clear();
  choice_ = {k};
  choice_.error = error_of([&] {
    check(values, k);
    choose(transport, values);
  });
}

template <class T>
TopKSum<T> TopKCalls<T>::sum(Transport& transport, std::span<T> values) {
  Call call(transport, "top-k allreduce", elements_, choice_.k, data_type<T>, object_);
  call.check([&] {
    if (!choice_.error.empty()) throw ArgumentError(choice_.error);
  });
  say(call);
  call.own().take_sparsity({.a = choice_.selection.chosen});
  const Selection& selection = choice_.selection;
  TopKSum<T> result{.chosen = selection.chosen,
                    .nans = selection.nans,
                    .infinities = selection.infinities,
                    .evaluated_local = selection.evaluated};
  try {
    call.agree();
    call.together([&] {
      make_plan(call);
      take_memory(call, result);
    });
  } catch (const AgreedError&) {
    selector_.reset();
    throw;
  }
  run_algorithm(call, values, result);
  state_.selection.step = selector_->state().step;
  state_.selection.threshold = selector_->state().threshold;
  return result;
}

template <class T>
void TopKCalls<T>::check(std::span<const T> values, std::size_t k) {
  if (elements_ > sparse::most_elements)
    refuse("elements", elements_, "at most " + std::to_string(sparse::most_elements));
  if (values.size() != elements_) refuse("values.size()", values.size(), "the elements, " + std::to_string(elements_));
  check_aligned(values.data(), "values");
  if (k > elements_) refuse("k", k, "at most values.size() = " + std::to_string(elements_));
  if (options_.machine) check_machine(*options_.machine);
  if (named_.algorithm == nullptr) named_ = parse_topk(options_.algorithm);
  check_bounds(state_.bounds, elements_);
}

// Ranks draw different numbers from equal seeds. Of fewer than k that are not zero a selection fills up with zeros,
// which nobody needs.
template <class T>
void TopKCalls<T>::choose(const Transport& transport, std::span<const T> values) {
  const TopKAlgorithm* const algorithm = named_.algorithm;
  if (!selector_) {
    std::string name = algorithm->selection;
    if (!algorithm->parameter.name.empty()) name += '(' + number_text(named_.parameter) + ')';
    SelectionState state = state_.selection;
    state.seed = mix(state.seed) + static_cast<std::uint64_t>(transport.rank());
    selector_.emplace(name, state);
  }
  const std::size_t room = room_for(*algorithm, choice_.k, elements_);
  const std::span<sparse::Index> indices = indices_.at_least(room);
  const std::span<T> chosen = chosen_.at_least(room);
  if (elements_ > 0) choice_.selection = selector_->select(values, choice_.k, indices, chosen);
  std::size_t& count = choice_.selection.chosen;
  const bool may_have_zeros = choice_.selection.threshold == 0 && !algorithm->sends_k;
  if (may_have_zeros) count = without_zeros<T>(indices.first(count), chosen.first(count));
  choice_.indices = indices.first(count);
  choice_.own = {elements_, choice_.indices, chosen.first(count)};
}

template <class T>
void TopKCalls<T>::say(Call& call) const {
  call.same("elements", elements_)
      .same("k", choice_.k)
      .same_now("the state's step", state_.selection.step)
      .same_now("the hash of the state's global threshold and bounds", hash_of_common(state_))
      .same("algorithm", std::string_view(options_.algorithm))
      .same("wire", options_.wire)
      .same_machine(options_.machine, false);
}

// Every rank sees the same records, so all make the same plan.
template <class T>
void TopKCalls<T>::make_plan(const Call& call) {
  chosen_of_ranks_.clear();
  for (const Record& record : call.records()) chosen_of_ranks_.push_back(record.sparsity().a);
  if (plan_.algorithm != nullptr && plan_.problem.k == choice_.k && plan_.chosen == chosen_of_ranks_) return;
  const TopKProblem problem{.elements = elements_,
                            .k = choice_.k,
                            .ranks = call.transport().size(),
                            .type = data_type<T>,
                            .native_collectives = call.transport().has_native_collectives(),
                            .wire = options_.wire,
                            .nodes = call.ranks().nodes};
  plan_ = {};
  plan_ = make_topk_plan(problem, call.machine(), named_, chosen_of_ranks_);
  plan_text_ = algorithm_text(plan_);
}

// All that the call needs, so that nothing fails between two messages.
template <class T>
void TopKCalls<T>::take_memory(Call& call, TopKSum<T>& result) {
  call.grow(plan_.workspace_bytes);
  blocks_.bounds_bytes.assign(plan_.chosen.size() + 1, 0);
  state_.bounds.reserve(plan_.chosen.size() + 1);
  if (plan_.algorithm->exact_sum.empty())
    selection::reserve_cut(std::min(topk::reduced_elements(plan_), elements_), memory_);
  result.memory = std::make_unique_for_overwrite<T[]>(plan_.result_bytes / sizeof(T));
  result.algorithm = plan_text_;
}

template <class T>
void TopKCalls<T>::run_algorithm(const Call& call, std::span<T> values, TopKSum<T>& result) {
  result.sum.dimension = elements_;
  if (plan_.total_chosen() == 0) return;
  const std::span<T> memory(result.memory.get(), plan_.result_bytes / sizeof(T));
  if (call.transport().size() == 1) {
    result.sum = topk::copy_smaller_form(choice_.own, memory);
    result.took_part = topk::those_in(result.sum, choice_.indices);
    topk::leave_out(values, result.took_part, Wire::full);
    return;
  }
  Arena arena(call.memory(plan_.workspace_bytes));
  TopKCall<T> step{call.transport(), plan_,  values, choice_.own, choice_.indices,
                   state_,           memory, arena,  blocks_,     memory_};
  plan_.algorithm->run(step);
  result.sum = step.sum;
  result.evaluated_global = step.evaluated_global;
  result.took_part = step.took_part;
}

// The public class.
template <class T>
struct TopKAllreduce<T>::Impl {
  Transport& transport;
  TopKCalls<T> calls;
  LastStarted last_started = {};
};

template <class T>
TopKAllreduce<T>::TopKAllreduce(Communicator communicator, std::size_t elements, TopKOptions options, TopKState state) {
  Transport& transport = communicator.transport();
  const std::uint64_t object = number_of_new_object(transport);
  impl_ = std::unique_ptr<Impl>(new Impl{transport, {elements, std::move(options), std::move(state), object}});
}

template <class T>
TopKAllreduce<T>::TopKAllreduce(TopKAllreduce&&) noexcept = default;
template <class T>
TopKAllreduce<T>& TopKAllreduce<T>::operator=(TopKAllreduce&&) noexcept = default;
template <class T>
TopKAllreduce<T>::~TopKAllreduce() = default;

template <class T>
TopKSum<T> TopKAllreduce<T>::run(std::span<T> values, std::size_t k) {
  return make_call(impl_->transport, [&] { return impl_->calls.run(impl_->transport, values, k); });
}

template <class T>
Pending TopKAllreduce<T>::start(std::span<T> values, std::size_t k, TopKSum<T>& sum) {
  Impl& impl = *impl_;
  return impl.last_started.start(impl.transport,
                                 [&impl, values, k, &sum] { sum = impl.calls.run(impl.transport, values, k); });
}

template <class T>
const TopKState& TopKAllreduce<T>::state() const {
  impl_->last_started.wait();
  return impl_->calls.state();
}

#define INSTANTIATE(T)         \
  template class TopKCalls<T>; \
  template class TopKAllreduce<T>;
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
