// The state of a run of the training loop in a checkpoint's file, from which another run goes on as if it had not been
// interrupted: how far it is, the values of all parameters, the optimiser's memory, and what the strategy of each rank
// keeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dsop/transport.hpp>

#include "learn/optimizers/optimizer.hpp"
#include "learn/strategies/strategy.hpp"
#include "learn/training/checkpoint_file.hpp"

namespace dsop::learn {

struct Progress {
  std::uint64_t step = 0;  ///< steps that are done
  double epoch_loss = 0;   ///< the sum of the losses of those in the epoch that has begun
};

/// What the checkpoint is of, beside Progress.
struct Saved {
  RunIdentity identity;
  Optimizer<float>& optimizer;
  Strategy<float>& strategy;
};

/// This rank's of what rank 0 has for each, of any length; on other ranks `all` is not looked at. All ranks call it.
std::string bytes_of_first(Transport& transport, const std::vector<std::string_view>& all);

/// Rank 0 writes the file as write_checkpoint_file() does. All ranks must call it, between steps; an error is thrown on
/// every rank and leaves `path` as it was.
void write_checkpoint(Transport& transport, const std::string& path, const Progress& progress, const Saved& run);

/// Rank 0 reads the file, which no other host need have, and gives every rank its part: sets parameters, optimiser and
/// strategy, and says what options are other ones. All ranks must call it; throws ArgumentError on every rank where
/// CheckpointReader does.
Progress read_checkpoint(Transport& transport, const std::string& path, const Saved& run);

}  // namespace dsop::learn
