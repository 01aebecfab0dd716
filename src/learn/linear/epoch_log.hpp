// What an epoch has brought and where its time went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include <dsop/transport.hpp>

#include "launch/progress_line.hpp"
#include "learn/linear/data.hpp"
#include "learn/rows_file.hpp"
#include "learn/stopwatch.hpp"

namespace dsop::learn {

/// One rank's part of an epoch. Also travels, as it lies in memory.
struct EpochPart {
  double loss = 0;  ///< sum over `samples`, each with the weights of its step
  std::uint64_t samples = 0;
  double test_loss = 0;
  double test_correct = 0;
  double total_seconds = 0;
  double arithmetic_seconds = 0;
  double communication_seconds = 0;  ///< with waiting for other ranks
  double data_seconds = 0;           ///< in the first epoch with the reading of the files
};

/// One row an epoch: of a table, and a JSON line in LinearSettings::out. For rank 0; others construct it and call
/// nothing but check().
class EpochLog {
 public:
  /// Both must outlive it. Throws Error naming the file if that can't be opened.
  EpochLog(const LinearSettings& settings, const Transport& transport, std::ostream& table);

  /// Of all ranks' parts: sums of losses, the longest times. `weights_squared`: their squares' sum, for l2.
  void row(const LinearData& data, std::size_t epoch, std::span<const EpochPart> parts, double weights_squared);
  /// Throws Error if a line could not be written, as the next row does: not at once, so that a full disk costs no
  /// checkpoint.
  void check() const { rows_.check(); }
  /// How far a rank that computes is, on a terminal; `part`: of the epoch so far.
  void show(const LinearData& data, std::size_t epoch, std::size_t step, const EpochPart& part);

 private:
  void print_head(const LinearData& data, std::size_t epoch);

  const LinearSettings& settings_;
  std::ostream& table_;
  std::string transport_;
  int ranks_;
  RowsFile rows_;
  launch::ProgressLine progress_;
  std::chrono::steady_clock::time_point shown_ = {};
  bool has_head_ = false;
};

}  // namespace dsop::learn
