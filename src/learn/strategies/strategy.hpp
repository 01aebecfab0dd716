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
  /// What Ok-Topk's sums miss, in steps in which it was asked for: see strategies/xi.hpp.
  std::optional<double> xi = std::nullopt;
};

/// A step: begin(); the model calls need() for a parameter before it computes with its value, forward, and give() for
/// each, last layer first, as soon as backpropagation has the factors of its gradient and reads its value no more;
/// finish(); where updates_weights(), the optimizer updates each parameter after its need_sum(); share_weights().
template <class T>
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual void begin(double learning_rate) = 0;
  virtual void need(Parameter<T>& parameter) = 0;
  /// Factors stay the caller's until finish() returns, and where the parameter's target is, until need_sum() does.
  virtual void give(Parameter<T>& parameter, const SparseFactors<T>& factors) = 0;
  /// Returns when all targets hold their sums, or (Wang et al.'s algorithm 1) these are on their way.
  virtual void finish() = 0;
  /// Waits for a parameter's sum.
  virtual void need_sum(Parameter<T>&) {}
  /// Whether this rank gets the sums; other ranks then get its weights.
  virtual bool updates_weights() const { return true; }
  /// Returns when the step's values are there, or (algorithm 1) on their way: need() waits for them.
  virtual void share_weights() {}
  /// Waits until all values are there. All ranks, after the same step.
  virtual void settle() = 0;

  /// Whether all ranks' values have the same bits after settle().
  virtual bool keeps_ranks_equal() const { return true; }
  /// Whether sums can only go into Parameter::gradient, whatever the target is.
  virtual bool sums_in_gradients() const = 0;
  /// Whether the sums are already multiplied by the learning rate.
  virtual bool gradients_hold_rate() const { return false; }
  /// In the last step.
  virtual Selected selected() const { return {}; }
  /// What its calls have spent so far on products of factors alone, while they had nothing to wait for.
  virtual double product_seconds() const { return 0; }
  /// What its calls have spent so far on choosing elements, while they had nothing to wait for.
  virtual double selection_seconds() const { return 0; }
  virtual std::string describe() const = 0;
  /// What this rank must keep to go on bit by bit, between steps.
  virtual void save(std::ostream&) const {}
  virtual void load(std::istream&, std::size_t /*steps*/) {}
};

}  // namespace dsop::learn
