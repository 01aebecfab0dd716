// The watch over waits for messages.
#pragma once

#include <algorithm>

#include <dsop/transport.hpp>

#include "transport/carried_calls.hpp"

namespace dsop {

/// One wait for a message, from its start. Costs a look at the clock.
class WatchedWait {
 public:
  using Clock = CarriedCalls::Clock;

  explicit WatchedWait(Transport& transport);

  /// When look() is due; the end of time if it never is.
  Clock::time_point deadline() const { return std::min(stall_deadline_, interrupt_deadline_); }
  /// Asks whether the program ends the wait, and throws Interrupted then. Where the wait is too long: reports it, once,
  /// and throws what that throws.
  void look();

 private:
  Transport& transport_;
  Clock::time_point start_;
  Clock::time_point stall_deadline_;
  Clock::time_point interrupt_deadline_;
};

}  // namespace dsop
