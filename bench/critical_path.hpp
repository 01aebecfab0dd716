// How long the longest chain of messages is that wait for each other.
#pragma once

#include <cstddef>
#include <map>

#include <dsop/transport.hpp>

#include "transport/slots.hpp"

namespace dsop::bench {

/// What one end of a link does, a unit after the other.
class Port {
 public:
  /// When it finishes `units` that are ready at `begin`. They go into the gaps of what it does already.
  std::size_t done_with(std::size_t units, std::size_t begin);

 private:
  std::map<std::size_t, std::size_t> busy_;  ///< from, until
};

/// What a critical path is counted in.
enum class PathUnit : unsigned char { bytes, messages };

/// Hands everything on to another transport, which must outlive it, and keeps a clock that a byte of payload moves on
/// by one and nothing else does: LogGP with G = 1 and L = o = g = 0. Or, in messages, a message of payload, however
/// long: beta = 0 and alpha = 1, so that the path is what papers write as latency. A rank sends one message at a time
/// and receives one at a time, both at once; it can't send what it has before it has it. After a collective call the
/// latest of all ranks' clocks is the call's critical path: for a chain of messages all of them, for messages side by
/// side one. All ranks must use one: each message is followed by another that tells when it was sent.
class CriticalPathTransport final : public TransportOver {
 public:
  explicit CriticalPathTransport(Transport& inner, PathUnit unit = PathUnit::bytes)
      : TransportOver(inner), unit_(unit) {}

  /// When this rank's last message was through, in the path's unit.
  std::size_t clock() const { return clock_; }

  /// Between calls, on all ranks: the clock is 0 again.
  void restart() {
    clock_ = sends_until_ = 0;
    receives_ = {};
  }
  /// Between calls, on all ranks: from now on messages are handed on and nothing else.
  void stop() { stopped_ = true; }

 private:
  struct Message {
    Request data;
    Request time;
    std::size_t begin = 0;  ///< by the sender's clock
    bool received = false;
  };

  Request start_send(std::span<const std::byte> data, int to, Tag tag, Length length) override;
  Request start_receive(std::span<std::byte> data, int from, Tag tag, Length length) override;
  bool is_done(std::size_t slot) override;
  std::size_t finish(std::size_t slot) override;
  void withdraw(std::size_t slot) noexcept override;

  std::size_t units_of(std::size_t bytes) const { return unit_ == PathUnit::bytes ? bytes : 1; }

  PathUnit unit_;
  Slots<Message> messages_;
  std::size_t clock_ = 0;
  std::size_t sends_until_ = 0;
  Port receives_;
  bool stopped_ = false;
};

}  // namespace dsop::bench
