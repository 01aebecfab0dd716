// The training loop.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <dsop/transport.hpp>

#include "learn/optimizers/optimizer.hpp"
#include "learn/strategies/strategy.hpp"
#include "learn/tasks/task.hpp"
#include "learn/training/checkpoint_file.hpp"

namespace dsop::learn {

struct TrainingOptions {
  std::size_t epochs = 10;
  std::optional<std::size_t> steps = std::nullopt;  ///< in all, instead of epochs
  double learning_rate = 0.1;
  double decay = 1;  ///< what the learning rate is multiplied by after each epoch
  OptimizerOptions optimizer = {};
  std::string out = {};        ///< JSON lines are appended to it
  std::string save = {};       ///< checkpoint written after each epoch, and at the end; no file, or that of `resume`
  std::size_t save_every = 0;  ///< and after so many steps; 0: no
  std::string resume = {};     ///< checkpoint to go on from
};

/// Trains until all steps are done; rank 0 says how it goes. `run` is without the task and the optimiser. Throws
/// ArgumentError on every rank for a checkpoint that can't be resumed, one that can't be written, a loss, weights, or
/// figures of what is held out that are not finite (the last checkpoint then stays), or ranks whose weights differ.
void train(Transport& transport, Task& task, Strategy<float>& strategy, const TrainingOptions& options,
           const RunIdentity& run);

}  // namespace dsop::learn
