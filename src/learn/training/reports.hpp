// What each rank has to say about a step, on its way to all ranks while the next step goes on.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <dsop/dsop.hpp>

#include "learn/layers/matrix.hpp"
#include "learn/strategies/strategy.hpp"

namespace dsop::learn {

struct OwnReport {
  std::size_t step = 0;
  double loss = 0;  ///< this rank's part
  double arithmetic_seconds = 0;
  double communication_seconds = 0;
  Selected selected = {};
  std::string broken_layer = {};  ///< not empty: the loss is not finite
};

/// A step's report is started when the step ends and collected when the next one does: between a step's last message
/// and the first layer that needs what it brings nothing is waited for.
class StepReports {
 public:
  explicit StepReports(Transport& transport);

  void start(const OwnReport& own);
  bool pending() const { return own_.has_value(); }

  /// What was started last, and every rank's numbers: loss, arithmetic and communication seconds, and 1 where the
  /// loss is not finite (and then stands there as 0), a rank a row. Valid until the next start().
  const OwnReport& collect();
  MatrixView<const double> of_all() const { return all_.view(); }

 private:
  std::vector<double> place_;  // 1 in the rank's place: times its numbers, that is its row of all_
  std::array<double, 4> numbers_{};
  Matrix<double> all_;
  std::optional<OwnReport> own_;
  OwnReport collected_;
  OuterProduct<double> gather_;
  Pending started_;
};

}  // namespace dsop::learn
