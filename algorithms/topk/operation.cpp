#include "algorithms/topk/operation.hpp"

#include <algorithm>
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
#include "call/start_call.hpp"

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
  const std::size_t most = capacity(*algorithm, choice_.k, elements_);
  const std::span<sparse::Index> indices = indices_.at_least(most);
  const std::span<T> chosen = chosen_.at_least(most);
  if (elements_ > 0) choice_.selection = selector_->select(values, choice_.k, indices, chosen);
  std::size_t& count = choice_.selection.chosen;
  const bool may_have_zeros = choice_.selection.threshold == 0 && !algorithm->sends_k;
  if (may_have_zeros) count = without_zeros<T>(indices.first(count), chosen.first(count));
  choice_.indices = indices.first(count);
  choice_.own = {elements_, choice_.indices, chosen.first(count)};
}

template <class T>
struct TopKCalls<T>::Operation {
  TopKCalls& kept;
  std::span<T> values;

  const Choice& choice = kept.choice_;
  const TopKOptions& options = kept.options_;
  TopKSum<T> result = {.chosen = choice.selection.chosen,
                       .nans = choice.selection.nans,
                       .infinities = choice.selection.infinities,
                       .evaluated_local = choice.selection.evaluated};

  Call open(Transport& transport) const {
    return {transport, "top-k allreduce", kept.elements_, choice.k, data_type<T>, kept.object_};
  }

  void check(Call& call) const {
    if (!choice.error.empty()) throw ArgumentError(choice.error);
    call.record().take_sparsity({.a = choice.selection.chosen});
  }

  void say(Call& call) const {
    call.same("elements", kept.elements_)
        .same("k", choice.k)
        .same_unplanned("the state's step", kept.state_.selection.step)
        .same_unplanned("the hash of the state's global threshold and bounds", hash_of_common(kept.state_))
        .same("algorithm", std::string_view(options.algorithm))
        .same("wire", options.wire)
        .same_machine(options.machine, false);
  }

  // What is chosen by the ranks' numbers is chosen anew for others, so that a run that goes on from a checkpoint has
  // the same bits.
  bool serves(const Call& call, PlanEntry& made) const {
    const std::vector<std::size_t>& chosen = chosen_of_ranks(call);
    if (most_threads(call) > made.threads) return false;
    if (chosen == made.plan.chosen) return true;
    if (made.plan.chooses_exact_sum) return false;
    adapt_plan(made.plan, chosen);
    return made.has(made.plan.workspace_bytes, made.plan.result_bytes) &&
           cut_elements(made.plan) <= made.cut_elements && 2 * made.plan.total_chosen() >= made.chosen_for;
  }

  // Takes all that the call needs, so that nothing fails between two messages.
  void make(const Call& call, PlanEntry& made) const {
    const TopKProblem problem{.elements = kept.elements_,
                              .k = choice.k,
                              .ranks = call.transport().size(),
                              .type = data_type<T>,
                              .group = call.ranks().group,
                              .wire = options.wire};
    TopKPlan plan = make_topk_plan(problem, call.machine(), kept.named_, chosen_of_ranks(call));
    made.text = algorithm_text(plan);
    made.plan = std::move(plan);
    made.chosen_for = made.plan.total_chosen();
    made.threads = most_threads(call);
    made.take(made.plan.workspace_bytes, made.plan.result_bytes, kept.elements_ * sizeof(T));
    made.cut_elements = std::min(cut_elements(made.plan) * 9 / 8, kept.elements_);
    selection::reserve_cut(made.cut_elements, kept.memory_);
    kept.state_.bounds.reserve(made.plan.chosen.size() + 1);
  }

  Cost cost(const Call& call, const PlanEntry& made) const {
    if (call.transport().size() == 1 || made.plan.total_chosen() == 0) return {};
    return made.plan.algorithm->cost(made.plan, call.machine());
  }

  void take_result(const PlanEntry& made) {
    result.memory = std::make_unique_for_overwrite<T[]>(made.result_bytes / sizeof(T));
    result.algorithm = made.text;
  }

  void run(const Call& call, PlanEntry& made) {
    TopKPlan& plan = made.plan;
    result.sum.dimension = kept.elements_;
    if (plan.total_chosen() == 0) return;
    const std::span<T> memory(result.memory.get(), plan.result_bytes / sizeof(T));
    if (call.transport().size() == 1) {
      result.sum = topk::copy_smaller_form(choice.own, memory);
      result.took_part = topk::intersect(choice.indices, result.sum);
      topk::leave_out(values, result.took_part, Wire::full);
      return;
    }
    Arena arena(call.memory(made.memory_bytes));
    Exchange& exchange = plan.algorithm->exact_sum.empty() ? plan.exchange : plan.exact.exchange;
    TopKCall<T> step{call.transport(), plan,   values, choice.own, choice.indices,
                     kept.state_,      memory, arena,  exchange,   kept.memory_};
    plan.algorithm->run(step);
    result.sum = step.sum;
    result.evaluated_global = step.evaluated_global;
    result.took_part = step.took_part;
  }

 private:
  const std::vector<std::size_t>& chosen_of_ranks(const Call& call) const {
    kept.chosen_of_ranks_.clear();
    for (const Record& record : call.records()) kept.chosen_of_ranks_.push_back(record.sparsity().a);
    return kept.chosen_of_ranks_;
  }

  static std::uint64_t most_threads(const Call& call) {
    std::uint64_t most = 0;
    for (const Record& record : call.records()) most = std::max(most, std::uint64_t{record.threads});
    return most;
  }

  static std::size_t cut_elements(const TopKPlan& plan) {
    return plan.algorithm->exact_sum.empty() ? std::min(topk::reduced_elements(plan), plan.problem.elements) : 0;
  }
};

template <class T>
TopKSum<T> TopKCalls<T>::sum(Transport& transport, std::span<T> values) {
  Operation operation{*this, values};
  try {
    planned_.run(transport, operation);
  } catch (const AgreedError&) {
    selector_.reset();
    throw;
  }
  state_.selection.step = selector_->state().step;
  state_.selection.threshold = selector_->state().threshold;
  return std::move(operation.result);
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
