#include "learn/strategies/synchronized.hpp"

#include <algorithm>
#include <map>

#include "base/shown.hpp"
#include "launch/launch.hpp"
#include "learn/strategies/local_product.hpp"
#include "learn/strategies/xi.hpp"
#include "synchronizer/policy.hpp"

namespace dsop::learn {
namespace {

using synchronizer::policy_kind;
using synchronizer::PolicyText;

bool has_xi(const std::string& policy) {
  return policy.starts_with("ok-topk");
}

std::vector<std::string> policies_of(const std::vector<Parameter<float>*>& parameters,
                                     const SynchronizedOptions& options) {
  std::string for_all = "dsop";
  for (const std::string& text : options.policies)
    if (text.find('=') == std::string::npos) for_all = text;

  std::vector<std::string> policies;
  for (const Parameter<float>* const parameter : parameters) {
    const bool small = parameter->value.elements().size() < options.sparsify_from;
    policies.push_back(small && policy_kind(PolicyText(for_all)).selects ? "dense" : for_all);
  }
  for (const std::string& text : options.policies) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    const auto found = std::find_if(parameters.begin(), parameters.end(), [&](auto* p) { return p->name == name; });
    if (found == parameters.end()) {
      std::string message = "--sync " + shown(text) + ": no parameter is named " + shown(name) + ", expected one of";
      for (const Parameter<float>* const parameter : parameters) message.append(" ").append(parameter->name);
      throw ArgumentError(message);
    }
    policies[static_cast<std::size_t>(found - parameters.begin())] = text.substr(equals + 1);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {  // its text, though --dense-steps may let it begin much later
    const Shape shape{.rows = parameters[i]->value.rows(), .columns = parameters[i]->value.columns()};
    try {
      const synchronizer::NamedPolicy<float> known(PolicyText(policies[i]), shape);
    } catch (const ArgumentError& error) {
      throw ArgumentError("parameter " + parameters[i]->name + ": " + error.what());
    }
  }
  if (options.xi_every > 0 && std::none_of(policies.begin(), policies.end(), has_xi))
    throw ArgumentError("--xi-every " + std::to_string(options.xi_every) + ": no parameter is under ok-topk");
  return policies;
}

class Synchronized final : public Strategy<float> {
 public:
  Synchronized(Transport& transport, const std::vector<Parameter<float>*>& parameters,
               const SynchronizedOptions& options)
      : transport_(transport),
        synchronizer_(transport, {.bucket_bytes = options.bucket_bytes,
                                  .residual_holds_step = options.residual_holds_step,
                                  .overlap = options.overlap,
                                  .machine = options.machine,
                                  .wire = options.wire,
                                  .tries = options.tries}),
        dense_steps_(options.dense_steps),
        xi_every_(options.xi_every),
        gradients_hold_rate_(options.residual_holds_step) {
    std::vector<std::string> policies;
    launch::on_all_ranks(transport, [&] { policies = policies_of(parameters, options); });
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Matrix<float>& value = parameters[i]->value;
      const bool starts_dense = dense_steps_ > 0 && policy_kind(PolicyText(policies[i])).selects;
      names_.push_back(parameters[i]->name);
      synchronizer_.add(names_.back(),
                        {.rows = value.rows(),
                         .columns = value.columns(),
                         .max_pairs = parameters[i]->max_pairs,
                         .expected_pairs = parameters[i]->expected_pairs},
                        starts_dense ? "dense" : policies[i]);
      if (starts_dense) after_dense_steps_.emplace_back(names_.back(), policies[i]);
      if (xi_every_ > 0 && has_xi(policies[i])) xi_parts_[names_.back()].gradient.resize(value.elements().size());
    }
    keeps_ranks_equal_ = transport.size() == 1 || std::all_of(policies.begin(), policies.end(), [](const auto& policy) {
                           return policy_kind(PolicyText(policy)).sums;
                         });
  }

  void begin(double learning_rate) override {
    if (steps_ == dense_steps_) end_dense_steps();
    ++steps_;
    measures_xi_ = xi_every_ > 0 && steps_ > dense_steps_ && steps_ % xi_every_ == 0;
    if (measures_xi_) keep_residuals();
    rate_ = gradients_hold_rate_ ? static_cast<float>(learning_rate) : 1;
    synchronizer_.begin({.scale = 1, .learning_rate = learning_rate});
  }
  void need(Parameter<float>&) override {}

  void give(Parameter<float>& parameter, const SparseFactors<float>& factors) override {
    if (measures_xi_) accumulate(parameter, factors);
    synchronizer_.give(parameter.name, factors, parameter.target, parameter.update);
  }

  void finish() override {
    synchronizer_.finish();
    for (const std::string& name : names_) selection_seconds_ += synchronizer_.last_step(name).selection_seconds;
    if (measures_xi_) measure_xi();
  }

  void settle() override {}
  Selected selected() const override {
    Selected all{.xi = measures_xi_ ? std::optional(xi_) : std::nullopt};
    for (const std::string& name : names_) {
      const ParameterStep last = synchronizer_.last_step(name);
      if (last.target == 0) continue;
      all.target += last.target;
      all.chosen += last.chosen;
      all.predicted += last.predicted;
      all.in_sum += last.in_sum;
      all.local_evaluations += last.evaluated_local ? 1 : 0;
      all.global_evaluations += last.evaluated_global ? 1 : 0;
      all.algorithms.insert(last.algorithm);
    }
    return all;
  }
  bool keeps_ranks_equal() const override { return keeps_ranks_equal_; }
  bool sums_in_gradients() const override { return gradients_hold_rate_ || xi_every_ > 0; }
  bool gradients_hold_rate() const override { return gradients_hold_rate_; }
  double selection_seconds() const override { return selection_seconds_; }
  std::string describe() const override { return synchronizer_.describe(); }
  void save(std::ostream& out) const override { synchronizer_.save(out); }
  void load(std::istream& in, std::size_t steps) override {
    steps_ = steps;
    if (steps_ > dense_steps_) end_dense_steps();
    synchronizer_.load(in);
  }

 private:
  void end_dense_steps() {
    for (const auto& [name, policy] : after_dense_steps_) synchronizer_.set_policy(name, policy);
    after_dense_steps_.clear();
  }
  void keep_residuals() {
    for (auto& [name, part] : xi_parts_) {
      const std::span<const float> residual = synchronizer_.residual(name);
      part.accumulated.assign(part.gradient.size(), 0.0F);
      std::copy(residual.begin(), residual.end(), part.accumulated.begin());
    }
  }
  void accumulate(Parameter<float>& parameter, const SparseFactors<float>& factors) {
    const auto found = xi_parts_.find(parameter.name);
    if (found == xi_parts_.end()) return;
    XiPart& part = found->second;
    local_product<float>(factors, {part.gradient.data(), parameter.value.rows(), parameter.value.columns()});
    for (std::size_t i = 0; i < part.gradient.size(); ++i) part.accumulated[i] += part.gradient[i] *= rate_;
    part.sum = parameter.gradient.elements();
  }
  void measure_xi() {
    for (auto& [name, part] : xi_parts_) part.k = synchronizer_.last_step(name).target;
    xi_ = xi(transport_, xi_parts_);
  }

  Transport& transport_;
  Synchronizer<float> synchronizer_;
  std::vector<std::string> names_;
  std::size_t dense_steps_;
  std::vector<std::pair<std::string, std::string>> after_dense_steps_ = {};  // names and policies
  std::size_t xi_every_;
  std::size_t steps_ = 0;
  bool measures_xi_ = false;                     // in this step, or the last
  std::map<std::string, XiPart> xi_parts_ = {};  // of parameters under ok-topk, by name
  double xi_ = 0;
  double selection_seconds_ = 0;
  float rate_ = 1;
  bool gradients_hold_rate_;
  bool keeps_ranks_equal_ = true;
};

}  // namespace

std::unique_ptr<Strategy<float>> make_synchronized(Transport& transport, std::vector<Parameter<float>*> parameters,
                                                   const SynchronizedOptions& options) {
  return std::make_unique<Synchronized>(transport, parameters, options);
}

}  // namespace dsop::learn
