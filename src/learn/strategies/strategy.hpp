// How a step of training goes over several ranks: where gradients are summed and where weights are renewed.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>

#include <dsop/sparse.hpp>

#include "learn/layers/parameter.hpp"

namespace dsop::learn {

/// An optimiser's step with the gradients that stand in the parameters.
struct Renewal {
  std::function<void()> all;
  /// Of one parameter, by its place in the model; empty where a step needs all gradients at once, to clip them. A step
  /// calls it for every parameter, or all() once.
  std::function<void(std::size_t)> one = {};
};

/// Elements of all parameters whose policies select, in a step.
struct Selected {
  std::size_t target = 0;  ///< k; 0: nothing is selected
  std::size_t chosen = 0;  ///< by this rank
  std::size_t in_sum = 0;  ///< of the sums
  /// Of how many parameters under ok-topk this rank's threshold was found anew, and that of the sum.
  std::size_t local_evaluations = 0;
  std::size_t global_evaluations = 0;
  std::set<std::string> algorithms = {};  ///< that ran, with their numbers and what summed beneath
  /// What Ok-Topk's sums miss, in steps in which it was asked for: see strategies/xi.hpp.
  std::optional<double> xi = std::nullopt;
};

/// In each step a model calls need() for a parameter before it computes with its value, forward, and give() for each as
/// soon as backpropagation has the factors of its gradient, last layer first; then the training loop calls finish().
template <class T>
class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual void begin(double learning_rate) = 0;
  virtual void need(Parameter<T>& parameter) = 0;
  /// Factors stay the caller's until finish() returns.
  virtual void give(Parameter<T>& parameter, const SparseFactors<T>& factors) = 0;
  /// Returns when the step's values are there, or (Wang et al.'s algorithm 1) on their way: need() waits for them.
  virtual void finish(const Renewal& renewal) = 0;
  /// Waits until all values are there. All ranks, after the same step.
  virtual void settle() = 0;

  /// Whether all ranks' values have the same bits after settle().
  virtual bool keeps_ranks_equal() const { return true; }
  /// Whether the gradients that finish() renews with are already multiplied by the learning rate.
  virtual bool gradients_hold_rate() const { return false; }
  /// In the last step.
  virtual Selected selected() const { return {}; }
  /// What its calls have spent so far on products of factors alone, while they had nothing to wait for.
  virtual double product_seconds() const { return 0; }
  virtual std::string describe() const = 0;
  /// What this rank must keep to go on bit by bit, between steps.
  virtual void save(std::ostream&) const {}
  virtual void load(std::istream&) {}
};

}  // namespace dsop::learn
