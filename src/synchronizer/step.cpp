// One step, from begin() to finish().
#include <algorithm>
#include <cmath>
#include <utility>

#include <dsop/types.hpp>

#include "algorithms/outer_product/arguments.hpp"
#include "base/error_of.hpp"
#include "base/refuse.hpp"
#include "sparse/arguments.hpp"
#include "sparse/overlap.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/state.hpp"
#include "transport/interrupt.hpp"

namespace dsop {

template <class T>
void Synchronizer<T>::State::begin(const Step& step) {
  const double factor = step.scale * (options.residual_holds_step ? step.learning_rate : 1);
  if (is_interrupted_)
    throw TransportError("begin() after an interrupted wait, expected no more calls: those of the last step may run");
  std::string error = error_of([&] {
    check_between_steps("begin()");
    for (const auto& [name, value] : {std::pair("scale", step.scale), std::pair("learning_rate", step.learning_rate),
                                      std::pair("scale times learning_rate", factor)})
      if (!std::isfinite(static_cast<T>(value)))
        refuse(name, value, "a finite number in " + std::string(dsop::name(data_type<T>)));
  });
  if (!has_begun_) {
    has_begun_ = true;
    order.clear();
    targets_.clear();
    owns_.clear();
    step_.buckets.begin_step();
    for (const auto& parameter : parameters) {
      parameter->is_given = parameter->follows = false;
      parameter->last_step = {};
    }
    step_.terms.scale = factor;
  }
  if (deferred_error_ || !error.empty()) tell_failure("", std::move(error));
}

// In place of a call, so that the other ranks hear it in their next one: at once if that can have started.
template <class T>
void Synchronizer<T>::State::tell_failure(std::string subject, std::string error) {
  take_deferred_error(subject, error);
  const auto tell = [this, subject = std::move(subject), error = std::move(error)] {
    const synchronizer::OnBehalf on_behalf(transport, subject);
    synchronizer::all_throw_if<T>(transport, error);
  };
  calls_.start(tell, std::any_of(parameters.begin(), parameters.end(),
                                 [](const auto& parameter) { return parameter->policy.how->starts_at_once(); }));
}

namespace {

/// What a sum is made of: take(range) for each array of its values.
template <class T, class Take>
void each_own_range(const synchronizer::Given<T>& given, const Take& take) {
  if (const auto* const factors = std::get_if<SparseFactors<T>>(&given.own)) {
    take(memory_range(factors->a));
    take(memory_range(factors->b));
  } else if (const auto* const own = std::get_if<SparseVectorView<T>>(&given.own)) {
    take(memory_range(own->values));
  }
}

[[noreturn]] void refuse_overlap(const std::string& which, const std::string& what) {
  throw ArgumentError(which + " overlaps " + what + ", expected memory of its own");
}

}  // namespace

// Also of what was given before in this step. Of several that it meets the one that was given first is named.
template <class T>
void Synchronizer<T>::State::check_apart(const Given& given) const {
  enum class Met { target, own_of_earlier, target_of_earlier };
  const MemoryRange target = memory_range(given.target);
  std::pair met(order.size(), Met::target);
  const auto note = [&](std::size_t earlier, Met how) { met = std::min(met, std::pair(earlier, how)); };
  targets_.each_that_meets(target, [&](std::size_t earlier) {
    if (share_elements<T>(given.target, order[earlier]->given.target)) note(earlier, Met::target);
  });
  owns_.each_that_meets(target, [&](std::size_t earlier) { note(earlier, Met::own_of_earlier); });
  each_own_range(given, [&](const MemoryRange& own) {
    if (given.vector() && meet(target, own)) refuse_overlap("gradient", "own");
    targets_.each_that_meets(own, [&](std::size_t earlier) { note(earlier, Met::target_of_earlier); });
  });
  const auto [earlier, how] = met;
  if (earlier == order.size()) return;
  const std::string parameter = "parameter " + order[earlier]->name;
  if (how == Met::target) refuse_overlap("gradient", "that of " + parameter);
  if (how == Met::own_of_earlier) refuse_overlap("gradient", "what was given for " + parameter);
  refuse_overlap("what is given", "the gradient of " + parameter);
}

template <class T>
void Synchronizer<T>::State::check_given(const Parameter& parameter, const Given& given) const {
  if (!has_begun_) throw ArgumentError("give() stands outside a step, expected after begin()");
  if (parameter.is_given) throw ArgumentError("it is given twice in one step, expected once at most");
  const auto* const factors = std::get_if<SparseFactors<T>>(&given.own);
  check_arguments<T>(factors != nullptr ? *factors : SparseFactors<T>(Factors<T>{}), given.target, &parameter.shape);
  check_sum<T>({step_.terms.scale, given.update.alpha, given.update.beta});
  if (given.update.beta != 0 && options.residual_holds_step && parameter.policy.kind->selects)
    refuse(
        "beta", given.update.beta,
        "0 under policy " + parameter.policy.text + ", whose residual holds the learning rate (residual_holds_step)");
  check_apart(given);
  const auto* const own = std::get_if<SparseVectorView<T>>(&given.own);
  if (own == nullptr) return;
  check_vector("own", *own);
  if (own->dimension != parameter.elements())
    refuse("own.dimension", own->dimension, "the gradient's " + std::to_string(parameter.elements()));
}

template <class T>
void Synchronizer<T>::State::give(const std::string& name, Given given) {
  Parameter* parameter = nullptr;
  std::string error = error_of([&] {
    parameter = &find(name);
    check_given(*parameter, given);
  });
  if (!error.empty()) return fail(name, error);
  given.target = with_canonical_stride(given.target);
  parameter->given = given;
  parameter->is_given = true;
  targets_.add(memory_range(given.target), order.size());
  each_own_range(given, [&](const MemoryRange& own) { owns_.add(own, order.size()); });
  order.push_back(parameter);
  parameter->policy.how->start(*parameter, step_);
}

template <class T>
void Synchronizer<T>::State::fail(const std::string& name, const std::string& error) {
  if (has_begun_) return tell_failure(name, error);
  if (!deferred_error_) deferred_error_ = {name, error};
}

template <class T>
void Synchronizer<T>::State::finish() {
  if (!has_begun_) tell_failure("", "finish() stands outside a step, expected after begin()");
  const synchronizer::Clock::time_point waits_from = synchronizer::Clock::now();
  for (Parameter* const parameter : order)
    if (parameter->weight != nullptr && !parameter->weight->is_given && parameter->follows)
      step_.buckets.add_bias(*parameter, step_);
  step_.buckets.close_all(step_);
  has_begun_ = false;
  calls_.start([this] { end_step(); });
  const auto end_parameters = [&](bool well) {
    for (const auto& parameter : parameters) parameter->end_step(well);
  };
  try {
    calls_.finish();
  } catch (const Interrupted&) {  // the wait: its calls go on, and with them what they use
    is_interrupted_ = true;
    throw;
  } catch (...) {
    end_parameters(false);
    throw;
  }
  end_parameters(true);
  for (Parameter* const parameter : order) {
    parameter->last_step.selection_seconds = parameter->selection.seconds_since(waits_from);
    parameter->ends_bucket = false;
  }
  step_.buckets.note_last();
  ++steps;
}

// All ranks find out here if one has given fewer parameters than the others.
template <class T>
void Synchronizer<T>::State::end_step() {
  if (step_names_.order != order) step_names_ = StepNames(order);
  agree(synchronizer::end_of_step, step_names_.names, "", [&](Call& call) {
    call.same_unplanned(options.residual_holds_step ? "scale times learning_rate" : "scale", step_.terms.scale);
    for (std::size_t i = 0; i < order.size(); ++i)
      call.same_unplanned(step_names_.alphas[i].c_str(), order[i]->given.update.alpha)
          .same_unplanned(step_names_.betas[i].c_str(), order[i]->given.update.beta);
  });
}

#define INSTANTIATE(T)                                                   \
  template void Synchronizer<T>::State::begin(const Step&);              \
  template void Synchronizer<T>::State::give(const std::string&, Given); \
  template void Synchronizer<T>::State::finish();
DSOP_FOR_ELEMENT_TYPES(INSTANTIATE)

}  // namespace dsop
