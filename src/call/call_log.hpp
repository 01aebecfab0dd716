// What calls on a communicator took on this rank, and how late each rank came to them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dsop/arrivals.hpp>
#include <dsop/plan.hpp>

#include "call/record.hpp"

namespace dsop {

/// Calls of one operation and shape, of one object or parameter, by one algorithm.
struct LoggedCalls {
  std::string parameter = {};  ///< of a synchronizer's, or several
  std::string operation = {};  ///< "outer product 5 x 6 f32"
  std::uint64_t object = 0;    ///< the number of the call that made the object; 0: a function's
  std::string algorithm = {};

  std::uint64_t calls = 0;
  double seconds = 0;            ///< of all of them
  double waited_seconds = 0;     ///< the same, in agreements
  double predicted_seconds = 0;  ///< the same, without agreements; 0: not known
  double bytes = 0;              ///< the same, that the busiest rank sends, as predicted
  std::array<float, 16> last_seconds = {};

  bool is_of(const LoggedCalls& other) const {
    return object == other.object && operation == other.operation && parameter == other.parameter &&
           algorithm == other.algorithm;
  }
  Measured measured() const;
};

/// What is predicted of a call, without the agreement; 0 seconds: its machine is not known.
struct PredictedCall {
  double seconds = 0;
  std::size_t bytes = 0;  ///< that the busiest rank sends
};

class CallLog {
 public:
  explicit CallLog(int ranks);

  /// The row of calls like this one. Once there are most_rows the last is that of all others.
  std::size_t row_of(LoggedCalls calls);
  void take(std::size_t row, double seconds, double waited_seconds, const PredictedCall& predicted);
  /// What each rank says of the call before.
  void take_waits(std::span<const Record> records);

  std::span<const LoggedCalls> rows() const { return rows_; }
  const Arrivals& arrivals() const { return arrivals_; }

 private:
  static constexpr std::size_t most_rows = 1000;

  std::vector<LoggedCalls> rows_;
  Arrivals arrivals_;
};

}  // namespace dsop
