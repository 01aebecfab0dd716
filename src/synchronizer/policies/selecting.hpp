// topk and all others of the family "topk": a share of the elements travels, the rest stays behind in the residual.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "algorithms/topk/algorithm.hpp"
#include "algorithms/topk/operation.hpp"
#include "base/digest.hpp"
#include "base/error_of.hpp"
#include "call/agreement_seconds.hpp"
#include "call/communicator.hpp"
#include "patterns/agreed_errors.hpp"
#include "synchronizer/agree.hpp"
#include "synchronizer/buckets.hpp"
#include "synchronizer/description.hpp"
#include "synchronizer/parameter.hpp"

namespace dsop::synchronizer {

template <class T>
class SelectingPolicy final : public Policy<T> {
 public:
  SelectingPolicy(const PolicyText& text, const Shape& shape) : algorithm_(text.name) {
    parse_topk(algorithm_);
    density_ = parse_density(text);
    check_indices(text, shape);
  }

  void check(Parameter<T>& parameter, const PolicyTerms& terms) override {
    agree_on_errors(terms.transport, error_of([&] {
                      const TopKProblem problem = problem_of(parameter, terms.transport, terms.step.wire);
                      static_cast<void>(topk_cost(problem, terms.machine, algorithm_));  // refuses what can't run
                      calls_ = make_calls(parameter, {}, terms.step.wire);
                      parameter.residual.reserve(parameter.elements());
                    }));
  }

  void start(Parameter<T>& parameter, RunningStep<T>& step) override {
    step.calls.start([this, &parameter, &step] { sum(parameter, step); });
  }

  void end_step(bool well) override {
    if (std::exchange(has_selected_, false) && !well) calls_->go_back_to(state_before_);
  }

  void describe(const Parameter<T>& parameter, Description<T>& description) const override {
    const std::string& made_by = parameter.last_step.algorithm;
    const TopKProblem problem = problem_of(parameter, description.transport, description.wire);
    const Cost cost =
        topk_cost(problem, description.machine, with_exact_sum(problem, description.of_named, parse_topk(algorithm_)));
    const double agreement = agreement_seconds(description.machine, problem.group.nodes, problem.ranks);
    description.alone(parameter, made_by.empty() ? algorithm_ : made_by,
                      Predicted{cost.bytes, agreement + cost.seconds()});
  }

  std::string save() const override { return calls_->state().text(); }
  std::function<void()> load(const Parameter<T>& parameter, const std::string& state, const StepTerms& terms) override {
    const std::shared_ptr<TopKCalls<T>> loaded =
        make_calls(parameter, state.empty() ? TopKState{} : TopKState::from_text(state), terms.wire);
    return [this, loaded] { calls_ = loaded; };
  }

 private:
  static double parse_density(const PolicyText& text) {
    double density = 0;
    const char* const end = text.argument.data() + text.argument.size();
    const auto [last, error] = std::from_chars(text.argument.data(), end, density);
    if (error == std::errc() && last == end && density > 0 && density <= 1) return density;
    refuse("policy", text.whole, text.name + ":DENSITY, a number above 0 and up to 1");
  }

  std::shared_ptr<TopKCalls<T>> make_calls(const Parameter<T>& parameter, TopKState state, Wire wire) const {
    if (state == TopKState{})  // so that parameters draw apart
      state.selection.seed = digest(0, parameter.name);
    return std::make_shared<TopKCalls<T>>(parameter.elements(), TopKOptions{algorithm_, {}, wire}, std::move(state));
  }

  TopKProblem problem_of(const Parameter<T>& parameter, Transport& transport, Wire wire) const {
    return {.elements = parameter.elements(),
            .k = k(parameter),
            .ranks = transport.size(),
            .type = data_type<T>,
            .group = attachment<CommunicatorState>(transport).ranks.group,
            .wire = wire};
  }

  std::size_t k(const Parameter<T>& parameter) const {
    const std::size_t elements = parameter.elements();
    const auto k = static_cast<std::size_t>(std::llround(density_ * static_cast<double>(elements)));
    return std::min(std::max(k, std::size_t{1}), elements);
  }

  // accumulated = residual + scale x gradient. TopKCalls::sum() takes out of it what went into the sum; what is left is
  // the next residual, if the step ends well.
  void sum(Parameter<T>& parameter, const RunningStep<T>& step) {
    const OnBehalf on_behalf(step.transport, parameter.name);
    std::span<T> accumulated;
    all_throw_if<T>(step.transport, error_of([&] {
                      parameter.reserve();
                      calls_->plan_for(step.terms.machine);
                      accumulated = parameter.next_residual();
                      state_before_ = calls_->state();
                    }));
    parameter.make_gradient(static_cast<T>(step.terms.scale),
                            {accumulated.data(), parameter.shape.rows, parameter.shape.columns});
    parameter.keep_next_residual();
    has_selected_ = true;
    parameter.selection.first = Clock::now();
    calls_->select(step.transport, accumulated, k(parameter));
    parameter.selection.last = Clock::now();
    const TopKSum<T> result = calls_->sum(step.transport, accumulated);
    update_target(parameter.given, result.sum);
    parameter.last_step = {.algorithm = result.algorithm,
                           .target = k(parameter),
                           .chosen = result.chosen,
                           .in_sum = result.sum.values.size(),
                           .nans = result.nans,
                           .infinities = result.infinities,
                           .evaluated_local = result.evaluated_local,
                           .evaluated_global = result.evaluated_global,
                           .predicted = calls_->selection().predicted};
  }

  std::string algorithm_;
  double density_ = 1;  // of what is selected
  std::shared_ptr<TopKCalls<T>> calls_;
  TopKState state_before_;     // of `calls_`, before this step
  bool has_selected_ = false;  // in this step
};

inline PolicyKind selecting_policy() {
  return {.form = "NAME:DENSITY with NAME one of " + topk_algorithms().names(),
          .example = "topk:1",
          .takes =
              [](const PolicyText& text) {
                return topk_algorithms().find(text.name.substr(0, text.name.find('('))) != nullptr;
              },
          .selects = true,
          .make = made_as<SelectingPolicy>()};
}

}  // namespace dsop::synchronizer
