// What transports know of the call that they carry, and the watch over their waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include <dsop/stall_watch.hpp>
#include <dsop/transport.hpp>

namespace dsop {

/// The call that a communicator is within, if any.
struct WatchedCall {
  StallWatch watch;
  std::uint64_t position = 0;  ///< 2 c + 1 within call number c, 2 c before it
  const char* operation = "";
  std::size_t rows = 0;
  std::size_t columns = 0;
  DataType type = DataType::f32;

  /// "call 3, outer product 5 x 6 f32": the call that is under way, or the last.
  std::string text() const;
};

/// While it lives, the transport's next call is under way.
class WithinCall {
 public:
  WithinCall(Transport& transport, const char* operation, std::size_t rows, std::size_t columns, DataType type);
  WithinCall(const WithinCall&) = delete;
  ~WithinCall();

 private:
  Transport& transport_;
};

/// While it lives, the call that is under way does something else first, which counts as a call.
class WithinPart {
 public:
  WithinPart(Transport& transport, const char* operation);
  WithinPart(const WithinPart&) = delete;
  ~WithinPart();

 private:
  WatchedCall& call_;
  const char* operation_;  // of the call
  std::size_t rows_;
  std::size_t columns_;
};

/// One wait for a message, from its start. Costs a look at the clock.
class WatchedWait {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WatchedWait(Transport& transport);

  /// When look() is due; the end of time if it never is.
  Clock::time_point deadline() const { return std::min(stall_deadline_, interrupt_deadline_); }
  /// Asks whether the program ends the wait, and throws Interrupted then. Where the wait is too long: finds out who is
  /// missing and tells the watch, once; throws TransportError if that is what the watch wants, and whatever the
  /// callback throws.
  void look();

 private:
  void report();

  Transport& transport_;
  const WatchedCall& call_;
  Clock::time_point start_;
  Clock::time_point stall_deadline_;
  Clock::time_point interrupt_deadline_;
};

}  // namespace dsop
