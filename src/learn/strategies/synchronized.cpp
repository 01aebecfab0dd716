#include "learn/strategies/synchronized.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include <dsop/collectives.hpp>
#include <dsop/selection.hpp>

#include "base/shown.hpp"
#include "launch/launch.hpp"
#include "learn/stopwatch.hpp"
#include "synchronizer/own_gradient.hpp"
#include "synchronizer/policy.hpp"

namespace dsop::learn {
namespace {

using synchronizer::policy_kind;
using synchronizer::PolicyText;

bool has_xi(const std::string& policy) {
  return policy.starts_with("ok-topk");
}

/// A parameter's name and policy.
struct NamedParameter {
  std::string name;
  std::string policy;
  bool selects;  ///< what is not selected waits, after the dense steps
};

std::vector<NamedParameter> with_policies(const std::vector<Parameter<float>*>& parameters,
                                          const SynchronizedOptions& options) {
  std::string for_all = "dsop";
  for (const std::string& text : options.policies)
    if (text.find('=') == std::string::npos) for_all = text;

  std::vector<NamedParameter> named;
  for (const Parameter<float>* const parameter : parameters) {
    const bool small = parameter->value.elements().size() < options.sparsify_from;
    named.push_back({parameter->name, small && policy_kind(PolicyText(for_all)).selects ? "dense" : for_all, false});
  }
  for (const std::string& text : options.policies) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    const auto found = std::ranges::find(named, name, &NamedParameter::name);
    if (found == named.end()) {
      std::string message = "--sync " + shown(text) + ": no parameter is named " + shown(name) + ", expected one of";
      for (const Parameter<float>* const parameter : parameters) message.append(" ").append(parameter->name);
      throw ArgumentError(message);
    }
    found->policy = text.substr(equals + 1);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {  // its text, though --dense-steps may let it begin much later
    const Shape shape{.rows = parameters[i]->value.rows(), .columns = parameters[i]->value.columns()};
    try {
      const synchronizer::NamedPolicy<float> known(PolicyText(named[i].policy), shape);
      named[i].selects = known.kind->selects;
    } catch (const ArgumentError& error) {
      throw ArgumentError("parameter " + named[i].name + ": " + error.what());
    }
  }
  if (options.xi_every > 0 && std::ranges::none_of(named, has_xi, &NamedParameter::policy))
    throw ArgumentError("--xi-every " + std::to_string(options.xi_every) + ": no parameter is under ok-topk");
  return named;
}

StrategyTraits traits_of(const Transport& transport, const std::vector<NamedParameter>& parameters,
                         const SynchronizedOptions& options) {
  const auto sums = [](const NamedParameter& parameter) { return policy_kind(PolicyText(parameter.policy)).sums; };
  return {.keeps_ranks_equal = transport.size() == 1 || std::ranges::all_of(parameters, sums),
          .sums_in_gradients = options.residual_holds_step || options.xi_every > 0,
          .gradients_hold_rate = options.residual_holds_step};
}

/// A parameter's part in a step. The first two are this rank's and become their sums over all ranks.
struct XiPart {
  std::vector<float> gradient = {};
  std::vector<float> accumulated = {};  ///< the gradient and the residual from before the step, added
  std::span<const float> sum = {};      ///< that the step has given, with about k elements that are not zero
  std::size_t k = 0;
};

std::vector<float> largest(const std::vector<float>& values, std::size_t k) {
  std::vector<std::uint32_t> indices(k);
  std::vector<float> chosen(k), all(values.size());
  Selector<float> exact("exact");
  exact.select(values, k, indices, chosen);
  for (std::size_t e = 0; e < k; ++e) all[indices[e]] = chosen[e];
  return all;
}

// What is lost by taking the largest of sums of largest: xi of Li and Hoefler, "Near-Optimal Sparse Allreduce for
// Distributed Deep Learning" (PPoPP 2022), section 5.1, assumption 1, of all parts as one vector: || Topk(mean of
// accumulated) - sum's mean || / || mean of gradients ||, means over ranks; NaN or infinity where no rank has a
// gradient. Topk is exact, of each part for itself; the sum is what the algorithm chose, as in the paper. All ranks;
// the same on each. Cost: two dense allreduces a part.
double xi(Transport& transport, std::map<std::string, XiPart>& parts) {
  double missed = 0, whole = 0;
  for (auto& [name, part] : parts) {
    allreduce<float>(transport, part.gradient);
    allreduce<float>(transport, part.accumulated);
    const std::vector<float> best = largest(part.accumulated, part.k);
    for (std::size_t i = 0; i < best.size(); ++i) {
      missed += std::pow(static_cast<double>(best[i]) - static_cast<double>(part.sum[i]), 2);
      whole += std::pow(static_cast<double>(part.gradient[i]), 2);
    }
  }
  return std::sqrt(missed / whole);
}

class Synchronized final : public Strategy<float> {
 public:
  Synchronized(Transport& transport, const std::vector<Parameter<float>*>& parameters,
               std::vector<NamedParameter> named, const SynchronizedOptions& options)
      : Strategy(traits_of(transport, named, options)),
        transport_(transport),
        synchronizer_(transport, {.bucket_bytes = options.bucket_bytes,
                                  .residual_holds_step = options.residual_holds_step,
                                  .overlap = options.overlap,
                                  .machine = options.machine,
                                  .wire = options.wire}),
        parameters_(std::move(named)),
        dense_steps_(options.dense_steps),
        xi_every_(options.xi_every) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& [name, policy, selects] = parameters_[i];
      const Matrix<float>& value = parameters[i]->value;
      synchronizer_.add(name,
                        {.rows = value.rows(),
                         .columns = value.columns(),
                         .max_pairs = parameters[i]->max_pairs,
                         .expected_pairs = parameters[i]->expected_pairs},
                        dense_steps_ > 0 && selects ? "dense" : policy);
      if (xi_every_ > 0 && has_xi(policy)) xi_parts_[name].gradient.resize(value.elements().size());
    }
  }

  void begin(double learning_rate) override {
    const AddedSeconds timed(report_.communication_seconds);
    if (steps_ == dense_steps_) end_dense_steps();
    ++steps_;
    const bool measures_xi = xi_every_ > 0 && steps_ > dense_steps_ && steps_ % xi_every_ == 0;
    report_.selected = {.xi = measures_xi ? std::optional(0.0) : std::nullopt};
    if (measures_xi) keep_residuals();
    rate_ = traits.gradients_hold_rate ? static_cast<float>(learning_rate) : 1;
    synchronizer_.begin({.scale = 1, .learning_rate = learning_rate});
  }

  void give(Parameter<float>& parameter, const SparseFactors<float>& factors) override {
    const AddedSeconds timed(report_.communication_seconds);
    if (report_.selected.xi) accumulate(parameter, factors);
    synchronizer_.give(parameter.name, factors, parameter.target, parameter.update);
  }

  void finish() override {
    const AddedSeconds timed(report_.communication_seconds);
    synchronizer_.finish();
    for (const NamedParameter& parameter : parameters_) add(synchronizer_.last_step(parameter.name));
    if (!report_.selected.xi) return;
    for (auto& [name, part] : xi_parts_) part.k = synchronizer_.last_step(name).target;
    report_.selected.xi = xi(transport_, xi_parts_);
  }

  std::string describe() const override { return synchronizer_.describe(); }
  void save(std::ostream& out) const override { synchronizer_.save(out); }
  void load(std::istream& in, std::size_t steps) override {
    steps_ = steps;
    if (steps_ > dense_steps_) end_dense_steps();
    synchronizer_.load(in);
  }

 private:
  void add(const ParameterStep& last) {
    report_.selection_seconds += last.selection_seconds;
    report_.communication_seconds -= last.selection_seconds;
    if (last.target == 0) return;
    Selected& all = report_.selected;
    all.target += last.target;
    all.chosen += last.chosen;
    all.predicted += last.predicted;
    all.in_sum += last.in_sum;
    all.local_evaluations += last.evaluated_local ? 1 : 0;
    all.global_evaluations += last.evaluated_global ? 1 : 0;
    all.algorithms.insert(last.algorithm);
  }
  void end_dense_steps() {
    if (dense_steps_ == 0) return;
    for (const auto& [name, policy, selects] : parameters_)
      if (selects) synchronizer_.set_policy(name, policy);
  }
  void keep_residuals() {
    for (auto& [name, part] : xi_parts_) {
      const std::span<const float> residual = synchronizer_.residual(name);
      part.accumulated.assign(part.gradient.size(), 0.0F);
      std::ranges::copy(residual, part.accumulated.begin());
    }
  }
  void accumulate(Parameter<float>& parameter, const SparseFactors<float>& factors) {
    const auto found = xi_parts_.find(parameter.name);
    if (found == xi_parts_.end()) return;
    XiPart& part = found->second;
    const MatrixView<float> gradient(part.gradient.data(), parameter.value.rows(), parameter.value.columns());
    const synchronizer::Given<float> given{factors, gradient};
    product_.reserve(given);
    product_.make(given, rate_, {}, gradient);
    for (std::size_t i = 0; i < part.gradient.size(); ++i) part.accumulated[i] += part.gradient[i];
    part.sum = parameter.gradient.elements();
  }
  Transport& transport_;
  Synchronizer<float> synchronizer_;
  std::vector<NamedParameter> parameters_;
  std::size_t dense_steps_;
  std::size_t xi_every_;
  std::size_t steps_ = 0;
  std::map<std::string, XiPart> xi_parts_ = {};  // of parameters under ok-topk, by name
  synchronizer::OwnGradient<float> product_;
  float rate_ = 1;
};

}  // namespace

std::unique_ptr<Strategy<float>> make_synchronized(Transport& transport, std::vector<Parameter<float>*> parameters,
                                                   const SynchronizedOptions& options) {
  std::vector<NamedParameter> named;
  launch::on_all_ranks(transport, [&] { named = with_policies(parameters, options); });
  return std::make_unique<Synchronized>(transport, parameters, std::move(named), options);
}

}  // namespace dsop::learn
