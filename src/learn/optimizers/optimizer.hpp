// From gradients to new weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "learn/layers/parameter.hpp"

namespace dsop::learn {

/// `weight_decay` times a weight is added to its gradient first.
struct OptimizerOptions {
  std::string name = "sgd";  ///< or "adam"
  double momentum = 0.9;     ///< of sgd
  double weight_decay = 0;
  double clip_norm = 0;  ///< gradients whose norm, over all parameters, is larger are scaled down to it; 0: never
  /// Sums come in Parameter::gradient only. Else sgd, unless it clips, has them added to its momentum, or to the
  /// weights: that saves passes over memory.
  bool sums_in_gradients = false;
};

/// How many numbers of each weight are remembered from step to step.
std::size_t memories_of(const OptimizerOptions& options);

/// All numbers that an optimiser remembers stand in state(), a matrix of each parameter's shape for each, and in
/// steps(); both are to be saved, and set, with checkpoints.
template <class T>
class Optimizer {
 public:
  Optimizer(std::vector<Parameter<T>*> parameters, std::size_t memories, double weight_decay);
  virtual ~Optimizer() = default;

  /// Begins a step, before any gradient is summed: says in each parameter where its sum is to go.
  void begin(double learning_rate) {
    learning_rate_ = learning_rate;
    ++steps_;
    for (std::size_t p = 0; p < parameters_.size(); ++p) set_target(p);
  }
  /// Once a step for each parameter, in any order, when its sum is there.
  virtual void update(std::size_t parameter) = 0;

  const std::vector<Parameter<T>*>& parameters() const { return parameters_; }
  std::vector<Matrix<T>>& state() { return state_; }
  std::uint64_t& steps() { return steps_; }

 protected:
  virtual void set_target(std::size_t parameter) {
    parameters_[parameter]->target = parameters_[parameter]->gradient.view();
    parameters_[parameter]->update = {};
  }
  /// Calls body(i, w, g) for each weight w, number i of the parameter, and its gradient g with weight decay, on
  /// OpenMP's threads: a body touches what belongs to its weight alone.
  template <class Body>
  void for_each_weight(std::size_t parameter, const Body& body);
  /// One number for each weight.
  std::span<T> memory(std::size_t parameter, std::size_t which) {
    return state_[memories_ * parameter + which].elements();
  }

  double learning_rate_ = 0;
  std::uint64_t steps_ = 0;

 private:
  std::vector<Parameter<T>*> parameters_;
  std::size_t memories_;
  double weight_decay_;
  std::vector<Matrix<T>> state_;
};

/// Throws ArgumentError for another name.
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(std::vector<Parameter<T>*> parameters, const OptimizerOptions& options);

/// Scales all gradients by one number so that their common norm is at most `largest`. Returns the norm before; one that
/// is not finite scales nothing.
template <class T>
double clip_gradients(const std::vector<Parameter<T>*>& parameters, double largest);

}  // namespace dsop::learn
