// What a run says: lines for people, JSON lines for programs.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "launch/progress_line.hpp"
#include "learn/rows_file.hpp"
#include "learn/strategies/strategy.hpp"
#include "learn/tasks/task.hpp"

namespace dsop::learn {

/// One step. Seconds are those of each rank: what it computed, what it spent on choosing
/// elements of gradients, and the rest of its calls that sum gradients.
struct StepReport {
  std::size_t step = 0;
  std::size_t epoch = 0;
  double loss = 0;
  std::size_t samples = 0;
  std::vector<double> arithmetic_seconds = {};
  std::vector<double> selection_seconds = {};
  std::vector<double> communication_seconds = {};
  Selected selected = {};  ///< of rank 0
};

/// Rank 0's; those of other ranks say nothing.
class Metrics {
 public:
  /// Appends to `path` if it is not empty. Throws Error if it can't be opened; on_all_ranks() is the caller's.
  Metrics(bool speaks, const std::string& path);

  void run(const nlohmann::ordered_json& what, const std::string& plan);
  /// `last_step` is the run's, for the bar.
  void step(const StepReport& report, std::size_t last_step);
  void epoch(std::size_t epoch, std::size_t step, double mean_loss, double seconds, const Scores& scores,
             const std::string& weights_hash);
  /// Throws Error if a line could not be written to the file: not at once, so that a full disk costs no checkpoint. A
  /// run that ends for another reason before is not told of it.
  void check() const { rows_.check(); }

 private:
  void write_step(const StepReport& report, double seconds);

  bool speaks_;
  RowsFile rows_;
  launch::ProgressLine progress_;
  double shown_seconds_ = 0;  // since the bar was drawn
  double shown_communication_ = 0;
  std::size_t shown_samples_ = 0;
};

}  // namespace dsop::learn
