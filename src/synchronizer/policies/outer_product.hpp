// dsop, dsop-bf16: outer products of factors, as OuterProduct makes them, or in a bucket with others'. What is given
// otherwise, or has a residual, is summed as it stands.
#pragma once

#include "algorithms/outer_product/operation.hpp"
#include "algorithms/outer_product/sharing.hpp"
#include "base/check_wire.hpp"
#include "base/error_of.hpp"
#include "patterns/agreed_errors.hpp"
#include "synchronizer/policies/dense.hpp"
#include "synchronizer/policies/sparse.hpp"

namespace dsop::synchronizer {

template <class T>
class OuterProductPolicy final : public Policy<T> {
 public:
  OuterProductPolicy(const PolicyText& text, const Shape&)
      : algorithm_(algorithm_of(text, outer_product_algorithms())),
        factor_wire_(text.name == "dsop-bf16" ? Wire::bf16 : Wire::full) {
    check_wire(("the factor_wire of policy " + text.whole).c_str(), factor_wire_, data_type<T>, "factors");
  }

  void check(Parameter<T>& parameter, const PolicyTerms& terms) override {
    if (terms.most_pairs == 0) return;
    OuterProductCalls<T> calls;
    calls.run(terms.transport, {Output::plan_only, call_terms(terms.step), &parameter.shape});
    Shared shared = Shared::nothing;
    std::size_t bytes_in_bucket = 0;
    BucketKey in_bucket;
    agree_on_errors(terms.transport, error_of([&] {
                      in_bucket = {.algorithm = calls.named(algorithm_), .factor_wire = factor_wire_};
                      bytes_in_bucket = outer_product::factor_bucket_bytes(calls.problem(), terms.most_pairs);
                      shared = outer_product::choose_shared(calls.problem(), terms.machine, in_bucket.algorithm,
                                                            bytes_in_bucket, terms.bucket_bytes);
                    }));
    calls_ = std::move(calls);
    shared_ = shared;
    bytes_in_bucket_ = bytes_in_bucket;
    in_bucket_ = std::move(in_bucket);
    was_alone_ = false;
  }

  void start(Parameter<T>& parameter, RunningStep<T>& step) override {
    if (is_to_follow(parameter)) {
      parameter.follows = true;
      return;
    }
    Parameter<T>* const bias = parameter.bias;
    if (bias != nullptr && bias->follows && (other_way(parameter) != nullptr || shared_ != Shared::factors))
      step.buckets.add_bias(*bias, step);
    if (Policy<T>* const other = other_way(parameter)) return other->start(parameter, step);
    was_alone_ = false;
    if (shared_ == Shared::factors) return step.buckets.add(parameter, in_bucket_, bytes_in_bucket_, step);
    step.calls.start([this, &parameter, &step] { sum_alone(parameter, step.transport, step.terms); });
  }

  void sum_alone(Parameter<T>& parameter, Transport& transport, const StepTerms& terms) override {
    const OnBehalf on_behalf(transport, parameter.name);
    was_alone_ = true;
    calls_.run(transport, {Output::whole, call_terms(terms, parameter.given.update), &parameter.shape,
                           std::get<SparseFactors<T>>(parameter.given.own), parameter.given.target});
    parameter.last_step = {.algorithm = calls_.algorithm_text()};
  }

  void describe(const Parameter<T>& parameter, Description<T>& description) const override {
    if (parameter.follows || (!parameter.is_given && is_to_follow(parameter)))
      return description.alone(parameter, "column sums of " + parameter.weight->name, Predicted{});
    if (const Policy<T>* const other = other_way(parameter)) return other->describe(parameter, description);
    if (shared_ == Shared::factors && !was_alone_)
      return description.in_bucket(parameter, in_bucket_, bytes_in_bucket_, &calls_.problem());
    if (!calls_.has_plan()) return description.alone(parameter, "known after a step", {});
    const Plan& plan = calls_.plan();
    description.alone(parameter, plan.algorithm_text(), Predicted{plan.cost().bytes, plan.seconds()});
  }
  bool chooses() const override { return algorithm_ == "auto"; }
  outer_product::Shared shared() const override { return shared_; }
  std::function<void()> load(const Parameter<T>& parameter, const std::string& state, const StepTerms&) override {
    if (!state.empty())  // of a version that could try algorithms
      refuse("the algorithm of " + parameter.name + ", which was tried, in the saved state", state,
             "none: name it, as policy " + PolicyText(parameter.policy.text).name + ':' + state);
    return [] {};
  }

 private:
  using Shared = outer_product::Shared;

  OuterProductTerms call_terms(const StepTerms& step, const Update& update = {}) const {
    return {.algorithm = algorithm_,
            .machine = step.machine,
            .sum = {step.scale, update.alpha, update.beta, step.wire},
            .factor_wire = factor_wire_};
  }

  /// Whether it is a bias whose weight's factors are still to come, into a bucket.
  static bool is_to_follow(const Parameter<T>& parameter) {
    const Parameter<T>* const weight = parameter.weight;
    return weight != nullptr && !weight->is_given && weight->policy.how->shared() == Shared::factors &&
           parameter.residual.empty();
  }

  Policy<T>* other_way(const Parameter<T>& parameter) const {
    const bool is_factors = parameter.given.factors() && shared_ != Shared::gradient;
    if (!parameter.residual.empty() || (!is_factors && !parameter.given.vector())) return dense_.get();
    return parameter.given.vector() ? sparse_.get() : nullptr;
  }

  std::string algorithm_;
  Wire factor_wire_;
  OuterProductCalls<T> calls_;
  Shared shared_ = Shared::nothing;
  bool was_alone_ = false;  // in the last step
  std::size_t bytes_in_bucket_ = 0;
  BucketKey in_bucket_;
  std::unique_ptr<Policy<T>> dense_ = std::make_unique<DensePolicy<T>>();
  std::unique_ptr<Policy<T>> sparse_ = std::make_unique<SparsePolicy<T>>();
};

inline PolicyKind outer_product_policy() {
  return kind_named("dsop", made_as<OuterProductPolicy>());
}

inline PolicyKind rounded_outer_product_policy() {
  PolicyKind kind = kind_named("dsop-bf16", made_as<OuterProductPolicy>());
  kind.for_f32_alone = true;
  return kind;
}

}  // namespace dsop::synchronizer
