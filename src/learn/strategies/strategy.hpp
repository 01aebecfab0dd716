// How a step of training goes over several ranks: where gradients are summed and where weights are updated.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>

#include <dsop/sparse.hpp>

#include "learn/layers/parameter.hpp"

namespace dsop::learn {

/// Elements of all parameters whose policies select, in a step.
struct Selected {
  std::size_t target = 0;     ///< k; 0: nothing is selected
  std::size_t chosen = 0;     ///< by this rank
  std::size_t predicted = 0;  ///< by this rank's thresholds alone: see ParameterStep
  std::size_t in_sum = 0;     ///< of the sums
  /// Of how many parameters under ok-topk this rank's threshold was found anew, and that of the sum.
  std::size_t local_evaluations = 0;
  std::size_t global_evaluations = 0;
  std::set<std::string> algorithms = {};  ///< that ran, with their numbers and what summed beneath
  /// What Ok-Topk's sums miss, in steps in which it was asked for: see synchronized.cpp.
  std::optional<double> xi = std::nullopt;
};

/// What holds of a strategy in every step.
struct StrategyTraits {
  bool updates_weights = true;       ///< this rank gets the sums; other ranks then get its weights
  bool keeps_ranks_equal = true;     ///< all ranks' values have the same bits after settle()
  bool sums_in_gradients = true;     ///< sums go into Parameter::gradient alone, whatever the target is
  bool gradients_hold_rate = false;  ///< sums are already multiplied by the learning rate
};

/// What a strategy has done.
struct StrategyReport {
  Selected selected = {};            ///< in the last step
  double communication_seconds = 0;  ///< that its calls have taken so far, without products of factors and selection
  double selection_seconds = 0;      ///< that they have spent so far on choosing elements
};

/// A step: begin(); the model calls need() for a parameter before it computes with its value, forward, and give() for
/// each, last layer first, as soon as backpropagation has the factors of its gradient and reads its value no more;
/// finish(); where it updates_weights, the optimizer updates each parameter after its need_sum(); share_weights().
template <class T>
class Strategy {
 public:
  explicit Strategy(const StrategyTraits& traits_ = {}) : traits(traits_) {}
  virtual ~Strategy() = default;

  virtual void begin(double /*learning_rate*/) {}
  virtual void need(Parameter<T>&) {}
  /// Factors stay the caller's until finish() returns, and where the parameter's target is, until need_sum() does.
  virtual void give(Parameter<T>& parameter, const SparseFactors<T>& factors) = 0;
  /// Returns when all targets hold their sums, or (Wang et al.'s algorithm 1) these are on their way.
  virtual void finish() {}
  /// Waits for a parameter's sum.
  virtual void need_sum(Parameter<T>&) {}
  /// Returns when the step's values are there, or (algorithm 1) on their way: need() waits for them.
  virtual void share_weights() {}
  /// Waits until all values are there. All ranks, after the same step.
  virtual void settle() {}

  virtual std::string describe() const = 0;
  /// What this rank must keep to go on bit by bit, between steps.
  virtual void save(std::ostream&) const {}
  virtual void load(std::istream&, std::size_t /*steps*/) {}

  const StrategyReport& report() const { return report_; }

  const StrategyTraits traits;

 protected:
  StrategyReport report_;
};

}  // namespace dsop::learn
