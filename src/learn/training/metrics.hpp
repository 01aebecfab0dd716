// What a run says: lines for people, JSON lines for programs.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "launch/progress_line.hpp"
#include "learn/rows_file.hpp"
#include "learn/strategies/strategy.hpp"
#include "learn/tasks/task.hpp"

namespace dsop::learn {

/// What all ranks get to know of a step.
struct RankReport {
  double loss = 0;                   ///< this rank's part
  double arithmetic_seconds = 0;     ///< what it computed
  double selection_seconds = 0;      ///< what it spent on choosing elements of gradients
  double communication_seconds = 0;  ///< the rest of its calls that sum gradients
};

struct OwnReport : RankReport {
  std::size_t step = 0;
  std::size_t epoch = 0;
  Selected selected = {};
  std::string broken_layer = {};  ///< not empty: the loss is not finite
};

/// Rank 0's; those of other ranks say nothing.
class Metrics {
 public:
  /// Appends to `path` if it is not empty. Throws Error if it can't be opened; on_all_ranks() is the caller's.
  Metrics(bool speaks, const std::string& path);

  void run(const nlohmann::ordered_json& what, const std::string& plan);
  /// `own` is rank 0's of the step, `all` are those of all ranks. `last_step` is the run's, for the bar.
  void step(const OwnReport& own, std::span<const RankReport> all, double loss, std::size_t samples,
            std::size_t last_step);
  void epoch(std::size_t epoch, std::size_t step, double mean_loss, double seconds, const Scores& scores,
             const std::string& weights_hash);
  /// Throws Error if a line could not be written to the file: not at once, so that a full disk costs no checkpoint. A
  /// run that ends for another reason before is not told of it.
  void check() const { rows_.check(); }

 private:
  void write_step(const OwnReport& own, std::span<const RankReport> all, double loss, std::size_t samples,
                  double seconds);

  bool speaks_;
  RowsFile rows_;
  launch::ProgressLine progress_;
  double shown_seconds_ = 0;  // since the bar was drawn
  double shown_communication_ = 0;
  std::size_t shown_samples_ = 0;
};

}  // namespace dsop::learn
