// What a stall is reported with: the call that a communicator is within.
#pragma once

#include <cstddef>
#include <string>

#include <dsop/stall_watch.hpp>
#include <dsop/transport.hpp>

namespace dsop {

/// The call that a communicator is within, or the last.
struct WatchedCall {
  const char* operation = "";
  std::size_t rows = 0;
  std::size_t columns = 0;
  DataType type = DataType::f32;

  /// "outer product 5 x 6 f32"
  std::string text() const;
};

/// Calls that wait longer than DSOP_STALL_SECONDS are reported on stderr, unless the program has said what is done
/// about them. Throws ArgumentError where that is no time.
void watch_as_environment_says(Transport& transport);

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
  CallState& calls_;
  WatchedCall call_;
};

}  // namespace dsop
