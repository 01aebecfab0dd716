// A model with the data that it learns from: what the training loop needs to know.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dsop/transport.hpp>

#include "learn/layers/parameter.hpp"
#include "learn/strategies/strategy.hpp"
#include "patterns/of_all_ranks.hpp"

namespace dsop::learn {

/// One rank's part of a step or of all. A global batch is `per_rank` samples of each of `ranks`, next to each other in
/// one order that does not depend on the number of ranks, so that neither do the losses, but for rounding.
struct Share {
  std::size_t rank = 0;
  std::size_t ranks = 1;
  std::size_t per_rank = 1;

  std::size_t batch() const { return ranks * per_rank; }
  /// The place, among all samples, of this rank's first one in a step.
  std::size_t first(std::size_t step) const { return step * batch() + rank * per_rank; }
};

/// Of so many that all ranks share out, those of the rank that has most.
inline std::size_t share_of_largest(std::size_t count, const Share& share) {
  return (count + share.ranks - 1) / share.ranks;
}

/// Sums of all ranks' numbers, in the order of ranks. All ranks must call it.
template <std::size_t n>
std::array<double, n> sums_over_ranks(Transport& transport, const std::array<double, n>& own) {
  std::array<double, n> sums{};
  for (const std::array<double, n>& numbers : patterns::of_all_ranks(transport, own))
    for (std::size_t i = 0; i < n; ++i) sums[i] += numbers[i];
  return sums;
}

/// Throws ArgumentError if the training set has fewer samples than a step of all ranks takes.
void check_samples(std::size_t samples, const Share& share);

/// "data " and a hash of them, which may stand in several parts. Cost: reads them.
std::string data_identity(std::initializer_list<std::span<const std::byte>> data);

using Scores = std::vector<std::pair<std::string, double>>;

struct TaskIdentity {
  /// What ranks, and a checkpoint, must agree on: the model's shape and the training data, as
  /// "mlp 784-10 relu, 8000 samples, data 9ae16a3b2f90404f".
  std::string description;
  std::string held_out;  ///< what ranks must agree on beside that: data_identity() of what evaluate() is of
};

class Task;

/// A task whose data are read and checked, and whose model has no memory yet.
struct PlannedTask {
  ModelSize size = {};                               ///< of its model, at least
  std::function<std::unique_ptr<Task>()> make = {};  ///< to be called once
};

class Task {
 public:
  explicit Task(TaskIdentity identity) : identity_(std::move(identity)) {}
  virtual ~Task() = default;

  const TaskIdentity& identity() const { return identity_; }
  virtual std::vector<Parameter<float>*> parameters() = 0;
  virtual std::size_t steps_per_epoch() const = 0;
  /// What samples/s counts.
  virtual std::size_t samples_per_step() const = 0;

  /// This rank's part of the step's loss: the sum over ranks is the mean over the global batch.
  virtual double forward(std::size_t epoch, std::size_t step, Strategy<float>& strategy) = 0;
  virtual void backward(Strategy<float>& strategy) = 0;

  /// Scores on what is held out, the same on every rank. All ranks must call it.
  virtual Scores evaluate(Transport& transport, Strategy<float>& strategy) = 0;

  /// The first layer whose result in the last forward() holds something that is not finite, or empty.
  virtual std::string not_finite() = 0;

 private:
  TaskIdentity identity_;
};

}  // namespace dsop::learn
