// What each rank has to say about a step, on its way to all ranks while the next step goes on.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dsop/pending.hpp>
#include <dsop/transport.hpp>

#include "learn/strategies/strategy.hpp"

namespace dsop::learn {

/// What all ranks get to know.
struct RankReport {
  double loss = 0;  ///< this rank's part
  double arithmetic_seconds = 0;
  double selection_seconds = 0;
  double communication_seconds = 0;
};

struct OwnReport : RankReport {
  std::size_t step = 0;
  Selected selected = {};
  std::string broken_layer = {};  ///< not empty: the loss is not finite
};

/// A step's report is started when the step ends and collected when the next one does: between a step's last message
/// and the first layer that needs what it brings nothing is waited for.
class StepReports {
 public:
  explicit StepReports(Transport& transport) : transport_(transport) {}

  void start(const OwnReport& own);
  bool pending() const { return own_.has_value(); }

  /// Waits for what was started last. It, and every rank's report in the order of ranks, are valid until the next
  /// start(). Cost: an allgather of 32 bytes.
  const OwnReport& collect();
  std::span<const RankReport> of_all() const { return all_; }

 private:
  Transport& transport_;
  std::vector<RankReport> all_;
  std::optional<OwnReport> own_;
  OwnReport collected_;
  Pending started_;
};

}  // namespace dsop::learn
