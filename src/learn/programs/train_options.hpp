// What all commands of dsop-train that train by the training loop have in common.
#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launch/launch.hpp"
#include "launch/settings.hpp"
#include "learn/data/same_file.hpp"
#include "learn/strategies/synchronized.hpp"
#include "learn/tasks/task.hpp"
#include "learn/training/loop.hpp"

namespace dsop::learn {

struct TrainOptions {
  launch::RankOptions ranks = {};
  std::size_t batch = 32;  ///< samples a rank
  std::uint64_t seed = 1;
  TrainingOptions training = {};
  SynchronizedOptions synchronized = {};
  std::string schedule = {};  ///< instead of a synchronizer
  std::string collective = "auto";
  std::string machine = {};
  std::vector<NamedFile> data = {};  ///< what the task reads
  launch::Settings settings = {};    ///< the command line's, once it is read
  CLI::Option* momentum = nullptr;   ///< as it was given, or not

  /// What stands in the options so far are the defaults.
  void add_to(CLI::App* command);
};

/// Reads one rank's data; may throw.
using PlanTask = std::function<PlannedTask(const Share& share)>;

/// Starts the ranks and trains. Returns the program's exit status.
int run_training(const TrainOptions& options, const PlanTask& plan_task);

}  // namespace dsop::learn
